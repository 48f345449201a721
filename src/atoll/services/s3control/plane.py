"""Which access point is meant, and what guards it? What the data plane reads, from memory."""

from __future__ import annotations

from atoll.domain.limits import MRAPS_MAX
from atoll.rules.accesspoint import alias_in
from atoll.rules.policy.model import Attached
from atoll.rules.policy.parse import parse
from atoll.rules.policy.public import PublicAccess
from atoll.services.s3control.records import ACCOUNT_BLOCKS, ALIASES, POINTS, PointRecord, point_key
from atoll.state import State

Guarding = tuple[PointRecord, Attached | None]  # the access point and its established policy
NO_BLOCK = PublicAccess()


def account_block(state: State, account: str) -> PublicAccess:
    """The account's own public-access block, which counts beside those of its buckets and access points."""
    record = state.get(ACCOUNT_BLOCKS, account)
    return NO_BLOCK if record is None else record.block


class AccessPoints:
    """The access points of a world, over its state."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._guards: dict[str, Guarding] = {}

    def by_alias(self, alias: str) -> PointRecord | None:
        """None also when the alias is burnt. Whether it serves, the record says."""
        row = self._state.get(ALIASES, alias)
        point = self._state.get(POINTS, row.point) if row is not None else None
        return point if point is not None and point.alias == alias else None

    def by_arn(self, arn: str) -> PointRecord | None:
        """The ARN holds the alias, never the name."""
        alias = alias_in(arn)
        point = self.by_alias(alias) if alias is not None else None
        return point if point is not None and point.arn == arn else None

    def attached(self, bucket: str, account: str) -> bool:
        """Is it a member of any access point of this account, in whatever state that is?"""
        return any(bucket in point.members.values() for _, point in self._state.items(POINTS, point_key(account, "")))

    def guard(self, arn: str) -> Guarding | None:
        """The access point and its established policy; None unless it serves.

        Parsed once for as long as the record lives.
        """
        kept = self._guards.get(arn)
        if kept is not None and self._state.get(POINTS, kept[0].key) is kept[0]:
            return kept
        point = self.by_arn(arn)
        if point is None or not point.serving:
            return None
        if len(self._guards) >= MRAPS_MAX:
            self._guards.clear()
        guarding = _guarding(point)
        self._guards[arn] = guarding
        return guarding


def _guarding(point: PointRecord) -> Guarding:
    found = point.established
    policy = Attached(parse(found.text, kind="resource"), f"access point policy of {point.name}") if found is not None else None
    return (point, policy)
