"""May she? Identity and resource policies of one call, put before the evaluator of rules/policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from atoll.domain.arn import account_in
from atoll.domain.caller import Caller, Proof
from atoll.domain.errors import ApiError
from atoll.domain.message import Request
from atoll.gateway.record import Verdict
from atoll.rules.owners import canonical_id
from atoll.rules.policy.actions import Need, object_need, required
from atoll.rules.policy.context import Overlay, RequestContext, request_context
from atoll.rules.policy.evaluate import evaluate
from atoll.rules.policy.model import Asked, Attached, Context, Decision, Guarded, Policy, Value
from atoll.rules.policy.public import PublicAccess, strictest
from atoll.rules.sessions import check_session

S3_OBJECT = "arn:aws:s3:::"
PASSED_TO = "s3.amazonaws.com"  # S3 user guide, "Setting up permissions for live replication": the one service that is given roles


class Guard(msgspec.Struct, frozen=True):
    """What protects one resource: its owner's account, its policy, and the public-access blocks of itself and that account.
    Of a bucket: where it lives. Of an access point: `owners` are the accounts that its buckets belonged to when they were
    named."""

    account: str
    policy: Attached | None
    blocks: PublicAccess
    region: str = ""
    owners: Mapping[str, str] = {}


class Side(Protocol):
    """A caller's own policies."""

    @property
    def identity(self) -> Sequence[Attached]: ...
    @property
    def boundary(self) -> Policy | None: ...
    @property
    def session(self) -> Sequence[Policy]: ...


class Authority(Protocol):
    """What authorisation needs to know; filled by the node from the slices' records."""

    def side(self, caller: Caller) -> Side: ...
    def bucket(self, name: str) -> Guard | None: ...
    def access_point(self, arn: str) -> Guard | None: ...
    def asks_for_tags(self, caller: Caller, bucket: str, access_point: str) -> bool: ...
    async def tags(self, bucket: str, key: str, version: str | None) -> Mapping[str, str] | None: ...


class _OnDemand(msgspec.Struct):
    """A context that is made when a condition first asks for something: most decisions meet no condition."""

    permit: Permit
    action: str
    resource: str
    account: str
    made: Context | None = None

    def get(self, key: str, /) -> Value | None:
        if self.made is None:
            self.made = self.permit.context(self.action, self.resource, self.account)
        return self.made.get(key)


class Permit(msgspec.Struct):
    """The permission side of one call: decides, remembers the last decision for the log, words the refusal."""

    authority: Authority
    request: Request
    caller: Caller
    proof: Proof
    now: float
    region: str
    operation: str
    params: Mapping[str, Any]
    tagged: str = ""
    existing_tags: Mapping[str, str] | None = None
    boundary: str = ""
    decided: list[Verdict] = []
    owner: str = ""  # the account of the resource that was last decided about

    @property
    def account(self) -> str:
        """Where the call is made: the caller's account."""
        return self.caller.account

    def allow(self, action: str, resource: str) -> None:
        """Raises AccessDenied."""
        decision = self.decide(action, resource)
        if not decision.allowed:
            raise self._refusal(action, resource, decision)

    def may(self, action: str, resource: str) -> bool:
        return self.decide(action, resource).allowed

    def decide(self, action: str, resource: str) -> Decision:
        guards = self._guards(resource)
        self.owner = guards[-1].account
        side = self.authority.side(self.caller)
        decision = evaluate(
            Asked(self.caller, action, guards, _OnDemand(self, action, resource, guards[-1].account), self._canonical()),
            identity=side.identity,
            boundary=side.boundary,
            session=side.session,
        )
        self.decided.append(Verdict(action, resource, decision.outcome, decision.reason, decision.statement))
        return decision

    def _canonical(self) -> str:
        return canonical_id(self.caller.account) if self.caller.account else ""

    def context(self, action: str, resource: str, account: str) -> Context:
        """The request's context as it is for one question. Tags that were read are the named object's alone; whether a
        missing object may be called missing is asked as a listing of its key would be (policy.md, section 7)."""
        key = self.params.get("Key")
        if action == "s3:ListBucket" and key:
            return Overlay(self._context(account, self.existing_tags), {"s3:prefix": str(key)})
        if action.startswith("iam:"):
            return Overlay(self._context(account, None), self._of_identities(action))
        return self._context(account, self.existing_tags if resource == self.tagged else None)

    def _of_identities(self, action: str) -> Mapping[str, Value | None]:
        """IAM's own keys: the boundary that a call gives, or that the user or role it names has; whom a role is handed to."""
        given = self.params.get("PermissionsBoundary") or self.boundary or None
        return {"iam:permissionsboundary": given, "iam:passedtoservice": PASSED_TO if action == "iam:PassRole" else None}

    def _context(self, account: str, existing_tags: Mapping[str, str] | None) -> RequestContext:
        onward = self.request.onward
        return request_context(
            request=self.request,
            caller=self.caller,
            proof=self.proof,
            now=self.now,
            region=self.region,
            resource_account=account,
            params=self.params,
            operation=self.operation,
            access_point=onward.access_point if onward else "",
            access_point_account=onward.access_point_account if onward else "",
            existing_tags=existing_tags,
        )

    def _guards(self, resource: str) -> tuple[Guarded, ...]:
        """The policies that protect a resource: of the bucket, and of the access point it is reached through. Each is
        judged with its own ARN (mrap.md, section 8). A name for a new bucket is nobody's yet, whoever has one of that name."""
        if not resource.startswith(S3_OBJECT):
            return (Guarded(resource, account_in(resource) or self.account),)
        if self.operation == "CreateBucket":
            return (Guarded(resource, self.account),)
        bucket, _, key = resource.removeprefix(S3_OBJECT).partition("/")
        guard = self.authority.bucket(bucket)
        if guard is None:
            return (Guarded(resource, self.account),)
        onward = self.request.onward
        if onward is None or not onward.access_point or onward.bucket != bucket:
            return (_guarded(resource, guard, guard.blocks),)
        point = self.authority.access_point(onward.access_point)
        if point is None:
            raise ApiError("NoSuchMultiRegionAccessPoint", "The access point was deleted meanwhile.")
        if point.owners.get(bucket, guard.account) != guard.account:
            raise ApiError("NoSuchBucket", "The bucket was deleted, and its name belongs to another account now.", BucketName=bucket)
        blocks = strictest(guard.blocks, point.blocks)
        arn = f"{onward.access_point}/object/{key}" if key else onward.access_point
        return (_guarded(arn, point, blocks), _guarded(resource, guard, blocks))

    def _refusal(self, action: str, resource: str, decision: Decision) -> ApiError:
        if not self.caller.account or self.caller.account != self.owner:
            return ApiError("AccessDenied", "Access Denied")
        how = "an explicit deny" if decision.outcome == "ExplicitlyDenied" else "no policy that allows it"
        return ApiError(
            "AccessDenied",
            f"User: {self.caller.arn} is not authorized to perform: {action} on resource: {resource}: {how} "
            f"({decision.statement or decision.reason}).",
        )


def _guarded(arn: str, guard: Guard, blocks: PublicAccess) -> Guarded:
    return Guarded(arn, guard.account, guard.policy, restrict_public=blocks.restrict_public_buckets)


def authorize(
    permit: Permit, service: str, *, bucket: str, key: str, headers: Mapping[str, str], source: tuple[str, str, str] | None,
    access_point: str = "", identity: str = "",
) -> None:
    """Check every action that the operation needs. Raises AccessDenied."""
    check_session(permit.caller, service, permit.operation)
    version = bool(permit.params.get("VersionId"))
    plain = object_need(permit.operation, bucket, key, version=version) if service == "s3" else None
    if plain is not None:
        permit.allow(plain.action, plain.resource)
        return
    needs: Sequence[Need] = required(
        service,
        permit.operation,
        permit.params,
        bucket=bucket,
        key=key,
        version=version,
        account=permit.account,
        headers=headers,
        source=source,
        access_point=access_point,
        caller_arn=permit.caller.arn,
        identity=identity,
    )
    for need in needs:
        permit.allow(need.action, need.resource)

