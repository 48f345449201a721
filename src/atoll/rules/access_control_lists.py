"""Who owns what, as S3's older answers show it: canonical user ids and access control lists."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from atoll.domain.errors import ApiError, not_implemented

ACCOUNTS_REMEMBERED = 1024  # canonical ids kept; one is asked for at every decision
CANNED = frozenset(
    {
        "private", "public-read", "public-read-write", "authenticated-read", "aws-exec-read", "bucket-owner-read",
        "bucket-owner-full-control", "log-delivery-write",
    }
)  # fmt: skip
OWNER_ONLY = frozenset({"private", "bucket-owner-full-control"})  # S3: accepted although lists are off
ENFORCED = "BucketOwnerEnforced"


@lru_cache(maxsize=ACCOUNTS_REMEMBERED)
def canonical_id(account: str) -> str:
    """64 hex digits, always the same for an account."""
    return hashlib.sha256(f"canonical user of account {account}".encode()).hexdigest()


def owner(account: str) -> dict[str, str]:
    return {"ID": canonical_id(account)}


def of_object(owner: str, bucket_owner: str, ownership: str) -> str:
    """The account that an object belongs to: where lists are off, everything is the bucket owner's.

    Source: S3 user guide, "Controlling ownership of objects and disabling ACLs for your bucket".
    """
    return bucket_owner if ownership == ENFORCED or not owner else owner


def full_control(account: str) -> list[dict[str, Any]]:
    """The one grant of a resource whose lists are off."""
    return [{"Grantee": {"ID": canonical_id(account), "Type": "CanonicalUser"}, "Permission": "FULL_CONTROL"}]


def check_canned(acl: str | None, ownership: str) -> None:
    """Raises InvalidArgument for no canned list, AccessControlListNotSupported (or NotImplemented, when the bucket's
    ownership controls were deleted and S3 would take it) for one that grants something to others."""
    if acl is None or acl in OWNER_ONLY:
        return
    if acl not in CANNED:
        raise ApiError("InvalidArgument", ArgumentName="x-amz-acl", ArgumentValue=acl)
    raise unsupported(ownership)


def unsupported(ownership: str) -> ApiError:
    if ownership == ENFORCED:
        return ApiError("AccessControlListNotSupported", "The bucket does not allow ACLs")
    return not_implemented("access control lists that grant something to others than the owner")


def check_list(policy: Mapping[str, Any], account: str, ownership: str) -> None:
    """An AccessControlPolicy may say what is so: the owner has full control, nobody else anything."""
    grants = [(g.get("Grantee", {}).get("ID"), g.get("Permission")) for g in policy.get("Grants", ())]
    named = policy.get("Owner", {}).get("ID", canonical_id(account))
    if named != canonical_id(account) or grants != [(canonical_id(account), "FULL_CONTROL")]:
        raise unsupported(ownership)
