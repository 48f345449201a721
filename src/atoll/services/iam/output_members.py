"""IAM's records as output members."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TypeVar
from urllib.parse import quote

from atoll.services.iam import input_checks
from atoll.services.iam.lookup import arn_of
from atoll.services.iam.records import AccessKeyRecord, IdentityRecord, PolicyRecord, RoleRecord, UserRecord

T = TypeVar("T")
Members = dict[str, object]

PAGE_DEFAULT, PAGE_MAX = 100, 1000  # IAM API: MaxItems
VERSION = "v1"


def page(member: str, items: Iterable[tuple[str, T]], marker: str | None, most: int | None) -> Members:
    """One page of the list `member`: what comes after the key `marker`, in order of keys."""
    limit = PAGE_DEFAULT if most is None else input_checks.between("maxItems", most, 1, PAGE_MAX)
    rest = [item for item in items if marker is None or item[0] > marker]
    shown = rest[:limit]
    members: Members = {member: [value for _, value in shown], "IsTruncated": len(rest) > limit}
    if len(rest) > limit:
        members["Marker"] = shown[-1][0]
    return members


def encoded(document: str) -> str:
    """IAM API, GetRolePolicy and its like: documents come back URL-encoded as RFC 3986 has it."""
    return quote(document, safe="")


def user(record: UserRecord, account: str) -> Members:
    """As ListUsers shows it."""
    return {
        "Path": record.path,
        "UserName": record.name,
        "UserId": record.id,
        "Arn": arn_of(account, record),
        "CreateDate": moment(record.created_ms),
    }


def role(record: RoleRecord, account: str) -> Members:
    """As ListRoles shows it."""
    members: Members = {
        "Path": record.path,
        "RoleName": record.name,
        "RoleId": record.id,
        "Arn": arn_of(account, record),
        "CreateDate": moment(record.created_ms),
        "AssumeRolePolicyDocument": encoded(record.trust),
        "MaxSessionDuration": record.max_session_s,
    }
    return {**members, "Description": record.description} if record.description else members


def extras(record: IdentityRecord) -> Members:
    """What Get and Create show besides, and List does not."""
    members: Members = {}
    if record.boundary:
        members["PermissionsBoundary"] = {
            "PermissionsBoundaryType": "Policy",  # what IAM sends; its model says PermissionsBoundaryPolicy
            "PermissionsBoundaryArn": record.boundary,
        }
    if record.tags:
        members["Tags"] = tag_list(record.tags)
    return members


def access_key(record: AccessKeyRecord) -> Members:
    """As ListAccessKeys shows it: without the secret."""
    return {
        "UserName": record.user,
        "AccessKeyId": record.id,
        "Status": "Active" if record.active else "Inactive",
        "CreateDate": moment(record.created_ms),
    }


def policy(record: PolicyRecord, holders: Sequence[IdentityRecord]) -> Members:
    """As ListPolicies shows it; attachments are counted among `holders`."""
    return {
        "PolicyName": record.name,
        "PolicyId": record.id,
        "Arn": record.arn,
        "Path": record.path,
        "DefaultVersionId": VERSION,
        "AttachmentCount": sum(record.arn in holder.attached for holder in holders),
        "PermissionsBoundaryUsageCount": sum(record.arn == holder.boundary for holder in holders),
        "IsAttachable": True,
        "CreateDate": moment(record.created_ms),
        "UpdateDate": moment(record.created_ms),
    }


def tag_list(tags: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def moment(ms: int) -> datetime:
    return datetime.fromtimestamp(ms // 1000, UTC)
