"""What S3's operations in one region are given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from atoll.control_store import ControlStore
from atoll.domain.api_call import Call
from atoll.domain.clock import Clock
from atoll.domain.interfaces import Store
from atoll.domain.objects import Checksum
from atoll.domain.quotas import BUCKETS_MAX
from atoll.rules import replication_status
from atoll.rules.policy.public_access import PublicAccess
from atoll.services.s3.records import BUCKETS, BucketRecord


class Payload(Protocol):
    """What the gateway computed while a body was read: valid once the body has ended (Call.payload)."""

    @property
    def md5_hex(self) -> str: ...

    @property
    def size(self) -> int: ...

    @property
    def checksum(self) -> Checksum: ...


_SUM_OF_NOTHING = Checksum("CRC64NVME", "FULL_OBJECT", "AAAAAAAAAAA=")


@dataclass(frozen=True, slots=True)
class _EmptyPayload:
    """The payload of a request without a body."""

    md5_hex: str = "d41d8cd98f00b204e9800998ecf8427e"
    size: int = 0
    checksum: Checksum = _SUM_OF_NOTHING


def payload_of(call: Call) -> Payload:
    """What the gateway computed of the body, once that has ended; it hands nothing on for a request that has none."""
    found: Payload = _EmptyPayload() if call.payload is None else call.payload
    return found


class ReplicationRuleCache:
    """Parsed replication rules, kept until the record changes."""

    __slots__ = ("_pages",)

    def __init__(self) -> None:
        self._pages: dict[str, tuple[BucketRecord, replication_status.Rules]] = {}

    def of(self, record: BucketRecord) -> replication_status.Rules | None:
        if record.replication is None:
            return None
        page = self._pages.get(record.name)
        if page is None or page[0] is not record:
            if len(self._pages) >= BUCKETS_MAX:
                self._pages.clear()
            page = self._pages[record.name] = record, replication_status.parse(record.replication)
        return page[1]


def _any_principal(_principal: str) -> bool:
    return True


def _no_block(_account: str) -> PublicAccess:
    return PublicAccess()


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The collaborators of the operations.

    `regions` are those of this world. `has_access_point(bucket, account)`: is it a member of an access point of that account?
    `account_block(account)`: the account's own public-access block.
    `leaving` are buckets that are being deleted at this moment: nothing is written to them.
    `principal_exists(principal)`: does this account, user or role exist (PutBucketPolicy)? `random_bytes(n)` gives n random bytes. `compat` "lenient" answers an owner's second CreateBucket with 200 in every region, because rclone
    sends one before each copy, and GetBucketLocation from everywhere.
    """

    store: Store
    state: ControlStore
    clock: Clock
    region: str
    regions: Sequence[str]
    has_access_point: Callable[[str, str], bool]
    random_bytes: Callable[[int], bytes]
    compat: Literal["lenient", "strict"] = "lenient"
    principal_exists: Callable[[str], bool] = _any_principal
    account_block: Callable[[str], PublicAccess] = _no_block
    rules: ReplicationRuleCache = field(default_factory=ReplicationRuleCache)
    leaving: set[str] = field(default_factory=set)

    def bucket_record(self, bucket: str) -> BucketRecord | None:
        """The bucket wherever it is."""
        return self.state.get(BUCKETS, bucket)
