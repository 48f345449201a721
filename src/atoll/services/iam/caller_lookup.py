"""Callers by access key, and their policies: asked at every request, answered from the snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from atoll.control_store import ControlStore
from atoll.domain.arn import account_in
from atoll.domain.caller import Caller, CallerKind
from atoll.domain.errors import ApiError
from atoll.rules.access_control_lists import canonical_id
from atoll.rules.policy.evaluate import assume
from atoll.rules.policy.model import Attached, Context, Decision, Kind, Policy
from atoll.rules.policy.parse import parse
from atoll.rules.session_token import NONCE_BYTES, TEMPORARY, Session, decrypt_session, encrypt_session
from atoll.services.iam.id_generation import RandomBytes
from atoll.services.iam.lookup import arn_of, id_exists, key_in, managed_policy
from atoll.services.iam.records import (
    ACCESS_KEYS,
    ONLY,
    ROLES,
    SESSION_KEYS,
    USERS,
    WORLD,
    IdentityRecord,
    RoleRecord,
    RootRecord,
    UserRecord,
)

T = TypeVar("T")
K = TypeVar("K")

CACHED_MAX = 4096  # entries of each of the caches below


@dataclass(frozen=True, slots=True)
class Key:
    """A key pair that is known. `token` "" and `expires` 0.0 for lasting ones. The secret is never logged."""

    secret: str
    token: str
    caller: Caller
    active: bool = True
    expires: float = 0.0

    def __repr__(self) -> str:
        return f"Key({self.caller.access_key})"


@dataclass(frozen=True, slots=True)
class Role:
    """What assuming a role takes to know of it."""

    account: str
    arn: str
    id: str
    name: str
    trust: str
    max_session_s: int
    tags: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CallerPolicies:
    """A caller's side of a decision: identity policies, boundary and session policies, as `evaluate` wants them."""

    identity: tuple[Attached, ...] = ()
    boundary: Policy | None = None
    session: tuple[Policy, ...] = ()


class Identities:
    """Keys, callers and their policies, over the state of one world (see create_world).

    What is derived is kept until the state changes; a policy is parsed once for as long as its text is in use, so that what
    others derive from the parsed form can be kept by its identity.
    """

    def __init__(self, state: ControlStore, random_bytes: RandomBytes) -> None:
        self._state = state
        self._random_bytes = random_bytes
        self._version = -1
        self._first = ""
        self._roots: dict[str, RootRecord] = {}  # by access key id
        self._accounts: frozenset[str] = frozenset()
        self._keys: dict[tuple[str, str], Key] = {}
        self._sides: dict[tuple[str, str], CallerPolicies] = {}
        self._parsed: dict[tuple[Kind, str], Policy] = {}

    def key(self, access_key: str, token: str, now: float) -> Key | None:
        """The key pair behind an access key id; None when nobody has it, or its owner is gone.

        `active` is for whoever asks to judge. Raises InvalidToken for a session token that is not one of this world's or
        belongs to another key, ExpiredToken for one whose time is over at `now` (seconds).
        """
        self._refresh_caches()
        known = self._keys.get((access_key, token))
        if known is None:
            known = self._find(access_key, token)
            if known is None:
                return None  # and not kept: strangers must not push keys of ours out
            _cache_put(self._keys, (access_key, token), known)
        if known.expires and now >= known.expires:
            raise ApiError("ExpiredToken", "The provided token has expired.")
        return known

    def caller_policies(self, caller: Caller) -> CallerPolicies:
        """All of the caller's own policies. Nothing for the root user, services and strangers."""
        self._refresh_caches()
        known = self._sides.get((caller.user_id, caller.session_policy))
        return _cache_put(self._sides, (caller.user_id, caller.session_policy), self._caller_policies(caller)) if known is None else known

    def policies(self, caller: Caller) -> tuple[Attached, ...]:
        """Identity policies, inline and attached."""
        return self.caller_policies(caller).identity

    def boundary(self, caller: Caller) -> Policy | None:
        return self.caller_policies(caller).boundary

    def tags(self, caller: Caller) -> Mapping[str, str]:
        """Principal tags as of now: those of the user or role, and the session's own, which win."""
        record = self._holder(caller)
        return {**(record.tags if record is not None else {}), **caller.tags}

    def exists(self, principal: str) -> bool:
        """Whether a principal of a policy is somebody: an ARN, an account id, a canonical user id or a unique id.

        Accounts that are not of this world are not ours to judge.
        """
        self._refresh_caches()
        parts = principal.split(":", 5)
        if len(parts) < 6:
            return principal.isdecimal() or principal in map(canonical_id, self._accounts) or id_exists(self._state, principal)
        account = parts[4]
        if account not in self._accounts or principal == f"arn:aws:iam::{account}:root":
            return True
        kind, _, name = parts[5].partition("/")
        if kind == "assumed-role":
            return self._named("role", account, name.partition("/")[0]) is not None
        return self._by_arn(principal) is not None

    def named(self, account: str, params: Mapping[str, Any]) -> tuple[str, str]:
        """ARN and permissions boundary of the account's user or role that an IAM call names; two times "" when there is none."""
        self._refresh_caches()
        kinds: tuple[tuple[CallerKind, str], ...] = (("user", "UserName"), ("role", "RoleName"))
        for kind, member in kinds:
            name = str(params.get(member) or "")
            record = self._named(kind, account, name) if name else None
            if record is not None and record.name == name:
                return arn_of(account, record), record.boundary
        return "", ""

    def role(self, arn: str) -> Role | None:
        self._refresh_caches()
        record = self._by_arn(arn)
        return _role(account_in(arn), record) if isinstance(record, RoleRecord) else None

    def may_assume(self, caller: Caller, role_arn: str, context: Context, action: str = "sts:AssumeRole") -> Decision:
        """Whether the role's trust policy, and where that leaves it to them the caller's own policies, let the caller in.

        The context is that of the call, with the keys of the operation (sts:ExternalId and its like) added.
        """
        role = self.role(role_arn)
        if role is None:
            return Decision("ImplicitlyDenied", f"there is no role {role_arn}")
        caller_policies = self.caller_policies(caller)
        return assume(
            self._policy("trust", role.trust),
            caller=caller,
            role_arn=role_arn,
            account=role.account,
            context=context,
            action=action,
            identity=caller_policies.identity,
            boundary=caller_policies.boundary,
            session=caller_policies.session,
        )

    def assume(self, role_arn: str, *, principal: Caller) -> Caller | None:
        """A session of the role for a service of this world, if the role trusts it. Needs no credentials: it stays inside.

        The session is called like `principal.name`, or else like the service.
        """
        role = self.role(role_arn)
        if role is None:
            return None
        context = {"aws:sourcearn": principal.source_arn, "aws:sourceaccount": role.account} if principal.source_arn else {}
        if not self.may_assume(principal, role_arn, context).allowed:
            return None
        return _in_role(role, principal.name or principal.service)

    def encrypt_session(self, session: Session) -> str:
        """The session token for temporary credentials."""
        return encrypt_session(session, key=self._session_key, nonce=self._random_bytes(NONCE_BYTES))

    @property
    def _session_key(self) -> bytes:
        record = self._state.get(SESSION_KEYS, ONLY)
        assert record is not None, "the world was not created"
        return record.key

    def _refresh_caches(self) -> None:
        """Forget what was derived from an older state. Parsed policies depend on their text alone, and stay."""
        if self._version == self._state.version:
            return
        accounts = self._state.items(WORLD)
        assert accounts, "the world was not created"
        self._first = next(root.account for key, root in accounts if key == ONLY)
        self._roots = {root.access_key: root for _, root in accounts}
        self._accounts = frozenset(root.account for _, root in accounts)
        self._version = self._state.version
        self._keys.clear()
        self._sides.clear()

    def _find(self, access_key: str, token: str) -> Key | None:
        if access_key.startswith(TEMPORARY):
            return self._temporary(access_key, token) if token else None
        if token:
            raise _invalid_token()
        root = self._roots.get(access_key)
        if root is not None:
            return Key(root.secret, "", _root(root.account, access_key))
        return self._long_term_key(access_key)

    def _long_term_key(self, access_key: str) -> Key | None:
        record = self._state.get(ACCESS_KEYS, access_key)
        user = self._state.get(USERS, key_in(record.account, record.user)) if record is not None else None
        if record is None or user is None:
            return None
        return Key(record.secret, "", _user(record.account or self._first, user, access_key), record.active)

    def _temporary(self, access_key: str, token: str) -> Key | None:
        session = decrypt_session(token, key=self._session_key)
        if session.access_key != access_key:
            raise _invalid_token()
        caller = self._in_session(session)
        return None if caller is None else Key(session.secret, token, caller, expires=float(session.expires))

    def _in_session(self, session: Session) -> Caller | None:
        """Who holds a session now. None when the user or role is gone; a namesake made later is somebody else."""
        if session.kind == "root":
            return _root(session.user_id, session.access_key) if session.user_id in self._accounts else None
        account = session.account or self._first
        record = self._named(session.kind, account, session.name)
        if record is None or record.id != session.user_id:
            return None
        if isinstance(record, RoleRecord):
            return _in_role(_role(account, record), session.session, session)
        return _user(account, record, session.access_key)

    def _holder(self, caller: Caller) -> IdentityRecord | None:
        record = self._named(caller.kind, caller.account, caller.name)
        return record if record is not None and record.id == caller.user_id.partition(":")[0] else None

    def _named(self, kind: CallerKind, account: str, name: str) -> UserRecord | RoleRecord | None:
        key = key_in("" if account == self._first else account, name)
        if kind == "user":
            return self._state.get(USERS, key)
        return self._state.get(ROLES, key) if kind == "role" else None

    def _caller_policies(self, caller: Caller) -> CallerPolicies:
        record = self._holder(caller)
        text = caller.session_policy
        session = (self._policy("identity", text),) if text else ()
        if record is None:
            return CallerPolicies(session=session)
        inline = (Attached(self._policy("identity", text), f"inline policy {name}") for name, text in record.policies.items())
        boundary = self._managed(record.boundary).policy if record.boundary else None
        return CallerPolicies((*inline, *map(self._managed, record.attached)), boundary, session)

    def _managed(self, arn: str) -> Attached:
        found = managed_policy(self._state, arn)
        assert found is not None, f"{arn} is in use and gone: DeletePolicy must not let that happen"
        return Attached(self._policy("identity", found.document), f"policy {arn}")

    def _policy(self, kind: Kind, text: str) -> Policy:
        known = self._parsed.get((kind, text))
        return _cache_put(self._parsed, (kind, text), parse(text, kind=kind)) if known is None else known

    def _by_arn(self, arn: str) -> UserRecord | RoleRecord | None:
        account, name = account_in(arn), arn.rpartition("/")[2]
        for record in (self._named("user", account, name), self._named("role", account, name)):
            if record is not None and arn_of(account, record) == arn:
                return record
        return None


def _root(account: str, access_key: str) -> Caller:
    return Caller("root", account, f"arn:aws:iam::{account}:root", account, access_key=access_key)


def _user(account: str, user: IdentityRecord, access_key: str) -> Caller:
    return Caller("user", account, arn_of(account, user), user.id, user.name, access_key=access_key, tags=user.tags)


def _in_role(role: Role, name: str, session: Session | None = None) -> Caller:
    return Caller(
        "role",
        role.account,
        f"arn:aws:sts::{role.account}:assumed-role/{role.name}/{name}",
        f"{role.id}:{name}",
        role.name,
        role_arn=role.arn,
        access_key=session.access_key if session else "",
        session_policy=session.session_policy if session else "",
        tags={**role.tags, **(session.tags if session else {})},
    )


def _role(account: str, record: RoleRecord) -> Role:
    arn = arn_of(account, record)
    return Role(account, arn, record.id, record.name, record.trust, record.max_session_s, record.tags)


def _invalid_token() -> ApiError:
    return ApiError("InvalidToken", "The provided token is malformed or otherwise invalid.")


def _cache_put(cache: dict[K, T], key: K, made: T) -> T:
    """Put in, and give back; the oldest entry goes when the cache is full."""
    if len(cache) >= CACHED_MAX:
        del cache[next(iter(cache))]
    cache[key] = made
    return made
