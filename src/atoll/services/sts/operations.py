"""The operations of STS.

These operations authorize themselves: no policy grants or takes GetCallerIdentity and GetSessionToken, and AssumeRole is
decided by the role's trust policy first.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from atoll.domain.api_call import Call, OperationOutput
from atoll.domain.arn import account_in
from atoll.domain.errors import ApiError
from atoll.rules.policy.model import Context, Value
from atoll.rules.session_token import SECRET_BYTES, TEMPORARY, UNIQUE_ID_BYTES, Session, secret_key, unique_id
from atoll.services.sts import input_checks
from atoll.services.sts.dependencies import AssumableRole, Dependencies

ASSUME_MIN_S, ASSUME_MAX_S, ASSUME_DEFAULT_S = 900, 43_200, 3600  # STS API: AssumeRole, DurationSeconds
CHAINED_MAX_S = 3600  # the same, "role chaining"
SESSION_MIN_S, SESSION_MAX_S, SESSION_DEFAULT_S = 900, 129_600, 43_200  # STS API: GetSessionToken, DurationSeconds
ROOT_SESSION_MAX_S = 3600  # the same, for the root user


async def GetCallerIdentity(deps: Dependencies, call: Call) -> OperationOutput:
    """STS API, GetCallerIdentity: needs no permission, and works under an explicit deny."""
    _must_be_signed(call)
    caller = call.caller
    return OperationOutput({"UserId": caller.user_id, "Account": caller.account, "Arn": caller.arn})


async def AssumeRole(
    deps: Dependencies,
    call: Call,
    *,
    RoleArn: str,
    RoleSessionName: str,
    DurationSeconds: int = ASSUME_DEFAULT_S,
    Policy: str = "",
    Tags: Sequence[Mapping[str, str]] = (),
    ExternalId: str = "",
) -> OperationOutput:
    _must_be_signed(call)
    name, tags = input_checks.session_name(RoleSessionName), input_checks.tags(Tags)
    seconds = input_checks.duration(DurationSeconds, ASSUME_MIN_S, ASSUME_MAX_S)
    if Policy:
        deps.check_session_policy(input_checks.policy(Policy))
    packed = input_checks.packed_percent(Policy, tags)
    role = _allowed_role(deps, call, RoleArn, _asked_keys(name, ExternalId, tags))
    _within_limits(call, seconds, role)
    access_key, secret = _new_key_pair(deps)
    session = Session(
        access_key=access_key,
        secret=secret,
        kind="role",
        user_id=role.id,
        issued=int(call.now),
        expires=int(call.now) + seconds,
        name=role.name,
        session=name,
        session_policy=Policy,
        tags=tags,
        account=role.account,
    )
    user = {"AssumedRoleId": f"{role.id}:{name}", "Arn": f"arn:aws:sts::{role.account}:assumed-role/{role.name}/{name}"}
    return OperationOutput({"Credentials": _credentials(deps, session), "AssumedRoleUser": user, "PackedPolicySize": packed})


async def GetSessionToken(deps: Dependencies, call: Call, *, DurationSeconds: int | None = None) -> OperationOutput:
    """Temporary credentials for the caller itself. STS API, GetSessionToken: no permission needed, lasting keys only."""
    _must_be_signed(call)
    caller = call.caller
    if caller.kind == "role" or caller.access_key.startswith(TEMPORARY):
        raise ApiError("AccessDenied", "Cannot call GetSessionToken with session credentials")
    most = ROOT_SESSION_MAX_S if caller.kind == "root" else SESSION_MAX_S
    wanted = min(most, SESSION_DEFAULT_S) if DurationSeconds is None else DurationSeconds
    seconds = input_checks.duration(wanted, SESSION_MIN_S, SESSION_MAX_S)
    access_key, secret = _new_key_pair(deps)
    session = Session(
        access_key=access_key,
        secret=secret,
        kind=caller.kind,
        user_id=caller.user_id,
        issued=int(call.now),
        expires=int(call.now) + min(seconds, most),  # for the root user a longer wish "defaults to one hour"
        name=caller.name,
        account=caller.account,
    )
    return OperationOutput({"Credentials": _credentials(deps, session)})


OPERATIONS: Mapping[str, Callable[..., Awaitable[OperationOutput]]] = {
    "AssumeRole": AssumeRole,
    "GetCallerIdentity": GetCallerIdentity,
    "GetSessionToken": GetSessionToken,
}


@dataclass(frozen=True, slots=True)
class _Context:
    """The keys of the request, and those that only AssumeRole has. IAM user guide, "IAM and STS condition context keys"."""

    request: Context
    asked: Mapping[str, Value]

    def get(self, key: str, /) -> Value | None:
        return self.asked[key] if key in self.asked else self.request.get(key)


def _must_be_signed(call: Call) -> None:
    if call.caller.kind not in ("root", "user", "role"):
        raise ApiError("MissingAuthenticationToken", "Request is missing Authentication Token")


def _asked_keys(name: str, external_id: str, tags: Mapping[str, str]) -> dict[str, Value]:
    keys: dict[str, Value] = {"sts:rolesessionname": name}
    if external_id:
        keys["sts:externalid"] = input_checks.external_id(external_id)
    if tags:
        keys["aws:tagkeys"] = tuple(tags)
    return keys | {f"aws:requesttag/{key.lower()}": value for key, value in tags.items()}


def _allowed_role(deps: Dependencies, call: Call, arn: str, asked: Mapping[str, Value]) -> AssumableRole:
    """Raises AccessDenied, for roles that do not exist as well: nobody learns which there are."""
    owner = call.log["owner"] = account_in(arn)
    context = _Context(deps.context(call), {**asked, "aws:resourceaccount": owner})
    _must_allow(deps, call, arn, context, "sts:AssumeRole")
    if "aws:tagkeys" in asked:  # IAM user guide, "Passing session tags": a permission of its own
        _must_allow(deps, call, arn, context, "sts:TagSession")
    role = deps.role(arn)
    assert role is not None, "a role that does not exist was allowed"
    return role


def _must_allow(deps: Dependencies, call: Call, arn: str, context: Context, action: str) -> None:
    decision = deps.may_assume(call.caller, arn, context, action)
    call.log["decision"] = decision.reason
    if not decision.allowed:
        raise ApiError("AccessDenied", f"User: {call.caller.arn} is not authorized to perform: {action} on resource: {arn}")


def _within_limits(call: Call, seconds: int, role: AssumableRole) -> None:
    if call.caller.kind == "role" and seconds > CHAINED_MAX_S:
        raise ApiError("ValidationError", "The requested DurationSeconds exceeds the 1 hour limit of chained roles.")
    if seconds > role.max_session_s:
        raise ApiError("ValidationError", "The requested DurationSeconds exceeds the MaxSessionDuration set for this role.")


def _new_key_pair(deps: Dependencies) -> tuple[str, str]:
    return unique_id(TEMPORARY, deps.random_bytes(UNIQUE_ID_BYTES)), secret_key(deps.random_bytes(SECRET_BYTES))


def _credentials(deps: Dependencies, session: Session) -> dict[str, object]:
    return {
        "AccessKeyId": session.access_key,
        "SecretAccessKey": session.secret,
        "SessionToken": deps.encrypt_session(session),
        "Expiration": datetime.fromtimestamp(session.expires, UTC),
    }
