"""Authorizes one call: its identity and resource policies, put before the evaluator of rules/policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from atoll.domain.arn import account_in
from atoll.domain.caller import Authentication, Caller
from atoll.domain.errors import ApiError
from atoll.domain.http_message import Request
from atoll.gateway.request_log import PermissionDecision
from atoll.rules.access_control_lists import canonical_id
from atoll.rules.policy.context import Overlay, RequestContext, request_context
from atoll.rules.policy.evaluate import evaluate
from atoll.rules.policy.model import AccessRequest, Attached, Context, Decision, Policy, ProtectedResource, Value
from atoll.rules.policy.public_access import PublicAccess, strictest
from atoll.rules.policy.required_actions import RequiredAction, object_required_action, required
from atoll.rules.temporary_credential_restrictions import check_session

S3_OBJECT = "arn:aws:s3:::"
PASSED_TO = "s3.amazonaws.com"  # S3 user guide, "Setting up permissions for live replication": the one service that is given roles


class ResourceProtection(msgspec.Struct, frozen=True):
    """What protects one resource: its owner's account, its policy, and the public-access blocks of itself and that account.
    Of a bucket: where it lives. Of an access point: `owners` are the accounts that its buckets belonged to when they were
    named."""

    account: str
    policy: Attached | None
    blocks: PublicAccess
    region: str = ""
    owners: Mapping[str, str] = {}


class CallerPolicies(Protocol):
    """A caller's own policies."""

    @property
    def identity(self) -> Sequence[Attached]: ...
    @property
    def boundary(self) -> Policy | None: ...
    @property
    def session(self) -> Sequence[Policy]: ...


class PolicyLookup(Protocol):
    """What authorisation needs to know; filled by the node from the services' records."""

    def caller_policies(self, caller: Caller) -> CallerPolicies: ...
    def bucket(self, name: str) -> ResourceProtection | None: ...
    def access_point(self, arn: str) -> ResourceProtection | None: ...
    def asks_for_tags(self, caller: Caller, bucket: str, access_point: str) -> bool: ...
    async def tags(self, bucket: str, key: str, version: str | None) -> Mapping[str, str] | None: ...


class _LazyContext(msgspec.Struct):
    """A context that is made when a condition first asks for something: most decisions meet no condition."""

    authorization: Authorization
    action: str
    resource: str
    account: str
    made: Context | None = None

    def get(self, key: str, /) -> Value | None:
        if self.made is None:
            self.made = self.authorization.context(self.action, self.resource, self.account)
        return self.made.get(key)


class Authorization(msgspec.Struct):
    """The permission side of one call: decides, remembers the last decision for the log, words the refusal."""

    policy_lookup: PolicyLookup
    request: Request
    caller: Caller
    authentication: Authentication
    now: float
    region: str
    operation: str
    params: Mapping[str, Any]
    tagged: str = ""
    existing_tags: Mapping[str, str] | None = None
    boundary: str = ""
    decided: list[PermissionDecision] = []
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
        protections = self._protections(resource)
        self.owner = protections[-1].account
        caller_policies = self.policy_lookup.caller_policies(self.caller)
        decision = evaluate(
            AccessRequest(self.caller, action, protections, _LazyContext(self, action, resource, protections[-1].account), self._canonical_user_id()),
            identity=caller_policies.identity,
            boundary=caller_policies.boundary,
            session=caller_policies.session,
        )
        self.decided.append(PermissionDecision(action, resource, decision.outcome, decision.reason, decision.statement))
        return decision

    def _canonical_user_id(self) -> str:
        return canonical_id(self.caller.account) if self.caller.account else ""

    def context(self, action: str, resource: str, account: str) -> Context:
        """The request's context as it is for one question. Tags that were read are the named object's alone; whether a
        missing object may be called missing is asked as a listing of its key would be (policy.md, section 7)."""
        key = self.params.get("Key")
        if action == "s3:ListBucket" and key:
            return Overlay(self._context(account, self.existing_tags), {"s3:prefix": str(key)})
        if action.startswith("iam:"):
            return Overlay(self._context(account, None), self._identity_keys(action))
        return self._context(account, self.existing_tags if resource == self.tagged else None)

    def _identity_keys(self, action: str) -> Mapping[str, Value | None]:
        """IAM's own keys: the boundary that a call gives, or that the user or role it names has; whom a role is handed to."""
        given = self.params.get("PermissionsBoundary") or self.boundary or None
        return {"iam:permissionsboundary": given, "iam:passedtoservice": PASSED_TO if action == "iam:PassRole" else None}

    def _context(self, account: str, existing_tags: Mapping[str, str] | None) -> RequestContext:
        forwarded = self.request.forwarded
        return request_context(
            request=self.request,
            caller=self.caller,
            authentication=self.authentication,
            now=self.now,
            region=self.region,
            resource_account=account,
            params=self.params,
            operation=self.operation,
            access_point=forwarded.access_point if forwarded else "",
            access_point_account=forwarded.access_point_account if forwarded else "",
            existing_tags=existing_tags,
        )

    def _protections(self, resource: str) -> tuple[ProtectedResource, ...]:
        """The policies that protect a resource: of the bucket, and of the access point it is reached through. Each is
        judged with its own ARN (mrap.md, section 8). A name for a new bucket is nobody's yet, whoever has one of that name."""
        if not resource.startswith(S3_OBJECT):
            return (ProtectedResource(resource, account_in(resource) or self.account),)
        if self.operation == "CreateBucket":
            return (ProtectedResource(resource, self.account),)
        bucket, _, key = resource.removeprefix(S3_OBJECT).partition("/")
        protection = self.policy_lookup.bucket(bucket)
        if protection is None:
            return (ProtectedResource(resource, self.account),)
        forwarded = self.request.forwarded
        if forwarded is None or not forwarded.access_point or forwarded.bucket != bucket:
            return (_protected_resource(resource, protection, protection.blocks),)
        mrap = self.policy_lookup.access_point(forwarded.access_point)
        if mrap is None:
            raise ApiError("NoSuchMultiRegionAccessPoint", "The access point was deleted meanwhile.")
        if mrap.owners.get(bucket, protection.account) != protection.account:
            raise ApiError("NoSuchBucket", "The bucket was deleted, and its name belongs to another account now.", BucketName=bucket)
        blocks = strictest(protection.blocks, mrap.blocks)
        arn = f"{forwarded.access_point}/object/{key}" if key else forwarded.access_point
        return (_protected_resource(arn, mrap, blocks), _protected_resource(resource, protection, blocks))

    def _refusal(self, action: str, resource: str, decision: Decision) -> ApiError:
        if not self.caller.account or self.caller.account != self.owner:
            return ApiError("AccessDenied", "Access Denied")
        how = "an explicit deny" if decision.outcome == "ExplicitlyDenied" else "no policy that allows it"
        return ApiError(
            "AccessDenied",
            f"User: {self.caller.arn} is not authorized to perform: {action} on resource: {resource}: {how} "
            f"({decision.statement or decision.reason}).",
        )


def _protected_resource(arn: str, protection: ResourceProtection, blocks: PublicAccess) -> ProtectedResource:
    return ProtectedResource(arn, protection.account, protection.policy, restrict_public=blocks.restrict_public_buckets)


def authorize(
    authorization: Authorization, service: str, *, bucket: str, key: str, headers: Mapping[str, str], source: tuple[str, str, str] | None,
    access_point: str = "", identity: str = "",
) -> None:
    """Check every action that the operation needs. Raises AccessDenied."""
    check_session(authorization.caller, service, authorization.operation)
    version = bool(authorization.params.get("VersionId"))
    plain = object_required_action(authorization.operation, bucket, key, version=version) if service == "s3" else None
    if plain is not None:
        authorization.allow(plain.action, plain.resource)
        return
    required_actions: Sequence[RequiredAction] = required(
        service,
        authorization.operation,
        authorization.params,
        bucket=bucket,
        key=key,
        version=version,
        account=authorization.account,
        headers=headers,
        source=source,
        access_point=access_point,
        caller_arn=authorization.caller.arn,
        identity=identity,
    )
    for required_action in required_actions:
        authorization.allow(required_action.action, required_action.resource)

