"""The records of buckets in the control store."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from atoll.control_store import Table

Versioning = Literal["", "Enabled", "Suspended"]


class PublicAccessBlock(msgspec.Struct, frozen=True):
    """The four switches of PublicAccessBlockConfiguration."""

    block_public_acls: bool = False
    ignore_public_acls: bool = False
    block_public_policy: bool = False
    restrict_public_buckets: bool = False


BLOCK_ALL = PublicAccessBlock(True, True, True, True)  # S3: new buckets since April 2023


class BucketRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One bucket; its name is unique in the world and is the record's key.

    `versioning` "" was never set. `ownership` "" and `public_access_block` None were deleted. `policy` is the text as
    received, "" for none. `replication` holds the members of ReplicationConfiguration, every rule with an ID;
    `replication_version` rises with each change of it.
    """

    name: str
    region: str
    account: str
    created_ms: int
    versioning: Versioning = ""
    ownership: str = "BucketOwnerEnforced"
    public_access_block: PublicAccessBlock | None = BLOCK_ALL
    policy: str = ""
    tags: dict[str, str] = {}
    replication: dict[str, Any] | None = None
    replication_version: int = 0


BUCKETS = Table("bucket", BucketRecord)
