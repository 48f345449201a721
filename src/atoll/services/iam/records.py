"""The records of IAM in the control store."""

from __future__ import annotations

import msgspec

from atoll.control_store import Table

FIRST_NAME = "main"  # what the account is called that every world begins with


class IdentityRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What users and roles have in common. `id`: AIDA... or AROA..., never given twice. `policies`: inline, name to text.
    `attached`: ARNs of managed policies in order of attachment. `boundary`: an ARN or ""."""

    name: str
    id: str
    path: str
    created_ms: int
    policies: dict[str, str] = {}
    attached: tuple[str, ...] = ()
    boundary: str = ""
    tags: dict[str, str] = {}


class UserRecord(IdentityRecord, frozen=True, kw_only=True):
    pass


class RoleRecord(IdentityRecord, frozen=True, kw_only=True):
    trust: str
    description: str = ""
    max_session_s: int = 3600


class AccessKeyRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A user's key pair, under its access key id. `account` "": the world's first one."""

    id: str
    user: str
    secret: str
    created_ms: int
    active: bool = True
    account: str = ""


class PolicyRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A managed policy: its one version, v1."""

    name: str
    id: str
    arn: str
    path: str
    document: str
    created_ms: int
    description: str = ""
    tags: dict[str, str] = {}


class RootRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An account of this world, and the key pair of its root user. `name` is unique in the world."""

    account: str
    access_key: str
    secret: str
    created_ms: int = 0
    name: str = FIRST_NAME


class SessionKeyRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What seals session tokens."""

    key: bytes


# Keys of the first three are names in lower case: IAM does not let two names differ by case alone. Those of the first
# account stand by themselves, as they did when it was the only one; those of the others are ACCOUNT/NAME (finding.key_of).
USERS = Table("iam-user", UserRecord)
ROLES = Table("iam-role", RoleRecord)
POLICIES = Table("iam-policy", PolicyRecord)
ACCESS_KEYS = Table("iam-access-key", AccessKeyRecord)
WORLD = Table("iam-root", RootRecord)
SESSION_KEYS = Table("iam-session-key", SessionKeyRecord)
ONLY = "one"  # the key of the only session key, and of the first account; other accounts are kept under their ids
