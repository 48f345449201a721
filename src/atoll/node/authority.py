"""Where does authorisation find its policies? In the slices' records, parsed once for as long as a record lives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from atoll.domain.caller import Caller
from atoll.domain.limits import BUCKETS_MAX
from atoll.domain.objects import Key
from atoll.domain.shapes import Store
from atoll.gateway.authorize import Guard, Side
from atoll.rules.policy.model import Attached, Policy
from atoll.rules.policy.parse import parse
from atoll.rules.policy.public import PublicAccess, strictest
from atoll.services.iam.plane import Identities
from atoll.services.s3.records import BUCKETS, BucketRecord
from atoll.services.s3control.plane import AccessPoints, account_block
from atoll.state import State

EXISTING_TAG = "s3:existingobjecttag/"
ASKS_REMEMBERED = 4096  # callers and buckets whose policies were looked through
NO_BLOCK = PublicAccess()


@dataclass(slots=True)
class RecordAuthority:
    """The Authority of a region: identities, bucket policies, access points, and tags from the region's store."""

    state: State
    identities: Identities
    points: AccessPoints
    store: Store
    _guards: dict[str, tuple[BucketRecord, PublicAccess, Guard]] = field(default_factory=dict)
    _asks: dict[tuple[str, str, str, str], bool] = field(default_factory=dict)
    _asks_of: int = -1  # the state version that _asks was derived from

    def side(self, caller: Caller) -> Side:
        return self.identities.side(caller)

    def bucket(self, name: str) -> Guard | None:
        record = self.state.get(BUCKETS, name)
        if record is None:
            return None
        block = account_block(self.state, record.account)
        kept = self._guards.get(name)
        if kept is not None and kept[0] is record and kept[1] is block:
            return kept[2]
        if len(self._guards) >= BUCKETS_MAX:
            self._guards.clear()
        guard = _guard(record, block)
        self._guards[name] = (record, block, guard)
        return guard

    def access_point(self, arn: str) -> Guard | None:
        found = self.points.guard(arn)
        if found is None:
            return None
        point, policy = found
        blocks = strictest(point.block, account_block(self.state, point.account))
        return Guard(point.account, policy, blocks, owners={bucket: point.owners[at] for at, bucket in point.members.items()})

    def asks_for_tags(self, caller: Caller, bucket: str, access_point: str) -> bool:
        """Could any policy that counts here ask for s3:ExistingObjectTag? Only then are tags read (policy.md, section 6)."""
        if self._asks_of != self.state.version or len(self._asks) >= ASKS_REMEMBERED:
            self._asks.clear()
            self._asks_of = self.state.version
        key = (caller.user_id, caller.session_policy, bucket, access_point)
        known = self._asks.get(key)
        if known is None:
            policies = self._policies(caller, bucket, access_point)
            known = self._asks[key] = any(policy.asks(EXISTING_TAG) for policy in policies)
        return known

    def _policies(self, caller: Caller, bucket: str, access_point: str) -> Iterator[Policy]:
        side = self.identities.side(caller)
        for attached in side.identity:
            yield attached.policy
        yield from side.session
        if side.boundary is not None:
            yield side.boundary
        for guard in (self.bucket(bucket), self.access_point(access_point) if access_point else None):
            if guard is not None and guard.policy is not None:
                yield guard.policy.policy

    async def tags(self, bucket: str, key: str, version: str | None) -> Mapping[str, str] | None:
        facts = await self.store.head(Key(bucket, key), version)
        return None if facts is None else facts.tags


def _guard(record: BucketRecord, of_account: PublicAccess) -> Guard:
    policy = Attached(parse(record.policy, kind="resource"), f"bucket policy of {record.name}") if record.policy else None
    block = record.public_access_block
    blocks = NO_BLOCK
    if block is not None:
        blocks = PublicAccess(
            block.block_public_acls, block.ignore_public_acls, block.block_public_policy, block.restrict_public_buckets
        )
    return Guard(record.account, policy, strictest(blocks, of_account), record.region)
