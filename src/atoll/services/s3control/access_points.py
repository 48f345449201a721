"""Access points and their policies as the data plane reads them, from memory."""

from __future__ import annotations

from atoll.control_store import ControlStore
from atoll.domain.quotas import MRAPS_MAX
from atoll.rules.multi_region_access_point import alias_of_arn
from atoll.rules.policy.model import Attached
from atoll.rules.policy.parse import parse
from atoll.rules.policy.public_access import PublicAccess
from atoll.services.s3control.records import ACCOUNT_BLOCKS, ALIASES, MRAPS, MrapRecord, mrap_key

MrapProtection = tuple[MrapRecord, Attached | None]  # the access point and its established policy
NO_BLOCK = PublicAccess()


def account_block(state: ControlStore, account: str) -> PublicAccess:
    """The account's own public-access block, which counts beside those of its buckets and access points."""
    record = state.get(ACCOUNT_BLOCKS, account)
    return NO_BLOCK if record is None else record.block


class MrapLookup:
    """The access points of a world, over its state."""

    def __init__(self, state: ControlStore) -> None:
        self._state = state
        self._protections: dict[str, MrapProtection] = {}

    def by_alias(self, alias: str) -> MrapRecord | None:
        """None also when the alias is burnt. Whether it serves, the record says."""
        row = self._state.get(ALIASES, alias)
        mrap = self._state.get(MRAPS, row.mrap) if row is not None else None
        return mrap if mrap is not None and mrap.alias == alias else None

    def by_arn(self, arn: str) -> MrapRecord | None:
        """The ARN holds the alias, never the name."""
        alias = alias_of_arn(arn)
        mrap = self.by_alias(alias) if alias is not None else None
        return mrap if mrap is not None and mrap.arn == arn else None

    def attached(self, bucket: str, account: str) -> bool:
        """Is it a member of any access point of this account, in whatever state that is?"""
        return any(bucket in mrap.members.values() for _, mrap in self._state.items(MRAPS, mrap_key(account, "")))

    def protection(self, arn: str) -> MrapProtection | None:
        """The access point and its established policy; None unless it serves.

        Parsed once for as long as the record lives.
        """
        kept = self._protections.get(arn)
        if kept is not None and self._state.get(MRAPS, kept[0].key) is kept[0]:
            return kept
        mrap = self.by_arn(arn)
        if mrap is None or not mrap.serving:
            return None
        if len(self._protections) >= MRAPS_MAX:
            self._protections.clear()
        found_protection = _mrap_protection(mrap)
        self._protections[arn] = found_protection
        return found_protection


def _mrap_protection(mrap: MrapRecord) -> MrapProtection:
    found = mrap.established
    policy = Attached(parse(found.text, kind="resource"), f"access point policy of {mrap.name}") if found is not None else None
    return (mrap, policy)
