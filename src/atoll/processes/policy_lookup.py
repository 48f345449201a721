"""Finds the policies for authorization in the services' records, parsed once for as long as a record lives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from atoll.control_store import ControlStore
from atoll.domain.caller import Caller
from atoll.domain.interfaces import Store
from atoll.domain.objects import Key
from atoll.domain.quotas import BUCKETS_MAX
from atoll.gateway.authorize import CallerPolicies, ResourceProtection
from atoll.rules.policy.model import Attached, Policy
from atoll.rules.policy.parse import parse
from atoll.rules.policy.public_access import PublicAccess, strictest
from atoll.services.iam.caller_lookup import Identities
from atoll.services.s3.records import BUCKETS, BucketRecord
from atoll.services.s3control.access_points import MrapLookup, account_block

EXISTING_TAG = "s3:existingobjecttag/"
ASKS_REMEMBERED = 4096  # callers and buckets whose policies were looked through
NO_BLOCK = PublicAccess()


@dataclass(slots=True)
class RecordPolicyLookup:
    """The Authority of a region: identities, bucket policies, access points, and tags from the region's store."""

    state: ControlStore
    identities: Identities
    mraps: MrapLookup
    store: Store
    _protections: dict[str, tuple[BucketRecord, PublicAccess, ResourceProtection]] = field(default_factory=dict)
    _asks: dict[tuple[str, str, str, str], bool] = field(default_factory=dict)
    _asks_of: int = -1  # the state version that _asks was derived from

    def caller_policies(self, caller: Caller) -> CallerPolicies:
        return self.identities.caller_policies(caller)

    def bucket(self, name: str) -> ResourceProtection | None:
        record = self.state.get(BUCKETS, name)
        if record is None:
            return None
        block = account_block(self.state, record.account)
        kept = self._protections.get(name)
        if kept is not None and kept[0] is record and kept[1] is block:
            return kept[2]
        if len(self._protections) >= BUCKETS_MAX:
            self._protections.clear()
        protection = _protection(record, block)
        self._protections[name] = (record, block, protection)
        return protection

    def access_point(self, arn: str) -> ResourceProtection | None:
        found = self.mraps.protection(arn)
        if found is None:
            return None
        mrap, policy = found
        blocks = strictest(mrap.block, account_block(self.state, mrap.account))
        return ResourceProtection(mrap.account, policy, blocks, owners={bucket: mrap.owners[at] for at, bucket in mrap.members.items()})

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
        caller_policies = self.identities.caller_policies(caller)
        for attached in caller_policies.identity:
            yield attached.policy
        yield from caller_policies.session
        if caller_policies.boundary is not None:
            yield caller_policies.boundary
        for protection in (self.bucket(bucket), self.access_point(access_point) if access_point else None):
            if protection is not None and protection.policy is not None:
                yield protection.policy.policy

    async def tags(self, bucket: str, key: str, version: str | None) -> Mapping[str, str] | None:
        metadata = await self.store.head(Key(bucket, key), version)
        return None if metadata is None else metadata.tags


def _protection(record: BucketRecord, of_account: PublicAccess) -> ResourceProtection:
    policy = Attached(parse(record.policy, kind="resource"), f"bucket policy of {record.name}") if record.policy else None
    block = record.public_access_block
    blocks = NO_BLOCK
    if block is not None:
        blocks = PublicAccess(
            block.block_public_acls, block.ignore_public_acls, block.block_public_policy, block.restrict_public_buckets
        )
    return ResourceProtection(record.account, policy, strictest(blocks, of_account), record.region)
