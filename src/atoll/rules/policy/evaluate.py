"""Evaluates policies: may this caller do this?

The order of IAM's policy evaluation logic, top to bottom: an explicit deny anywhere; a public bucket policy that is
restricted; the organization's policies; then grants, judged for each resource that the call touches, all of which must
allow. Source: IAM user guide, "Policy evaluation logic"; S3 user guide, "Multi-Region Access Point permissions".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from atoll.domain.caller import Caller
from atoll.rules.policy.conditions import holds
from atoll.rules.policy.model import AccessRequest, Attached, Context, Decision, Policy, ProtectedResource, Statement
from atoll.rules.policy.principals import PrincipalMatch, forbidden, match_principal
from atoll.rules.policy.public_access import is_public

OWNER = Decision("Allowed", "the root user of the account owns the resource")
_OWNER_REGAINS = frozenset({"s3:getbucketpolicy", "s3:putbucketpolicy", "s3:deletebucketpolicy"})


@dataclass(frozen=True, slots=True)
class _Case:
    """Everything that one decision looks at. `action` is lower case."""

    access_request: AccessRequest
    action: str
    identity: Sequence[Attached]
    boundary: Policy | None
    session: Sequence[Policy]
    scps: Sequence[Sequence[Policy]]
    rcps: Sequence[Sequence[Policy]]

    @property
    def caller(self) -> Caller:
        return self.access_request.caller

    @property
    def context(self) -> Context:
        return self.access_request.context


def evaluate(
    access_request: AccessRequest,
    *,
    identity: Sequence[Attached] = (),
    boundary: Policy | None = None,
    session: Sequence[Policy] = (),
    scps: Sequence[Sequence[Policy]] = (),
    rcps: Sequence[Sequence[Policy]] = (),
) -> Decision:
    """Decide. `session` are the session policies (none: no cap); `scps` and `rcps` have one entry per level of the tree."""
    if access_request.caller.kind == "root" and not scps and not rcps and _owns_all_unguarded(access_request):
        return OWNER
    case = _Case(access_request, access_request.action.lower(), identity, boundary, session, scps, rcps)
    return _explicit_deny(case) or _restricted(case) or _organization(case) or _granted(case)


def assume(
    trust: Policy,
    *,
    caller: Caller,
    role_arn: str,
    account: str,
    context: Context,
    action: str = "sts:AssumeRole",
    identity: Sequence[Attached] = (),
    boundary: Policy | None = None,
    session: Sequence[Policy] = (),
) -> Decision:
    """May this caller (or service) take on the role? Its trust policy must say so, even to its own account."""
    if caller.kind == "root":  # sts API: AssumeRole
        return Decision("ImplicitlyDenied", "the root user of an account cannot assume roles")
    protected_resource = ProtectedResource(role_arn, account, Attached(trust, f"trust policy of {role_arn}"), must_allow=True)
    access_request = AccessRequest(caller, action, (protected_resource,), context)
    return evaluate(access_request, identity=identity, boundary=boundary, session=session)


def _owns_all_unguarded(access_request: AccessRequest) -> bool:
    account = access_request.caller.account
    for resource in access_request.resources:
        if resource.policy is not None or resource.account != account or resource.must_allow:
            return False
    return bool(access_request.resources)


def applies(statement: Statement, action: str, arn: str, context: Context) -> bool:
    """Do action (lower case), resource and conditions fit? The principal is judged apart, as only some policies have one."""
    if statement.action(action) is statement.not_action or not statement.sound:
        return False
    if not _resource_fits(statement, arn, context):
        return False
    return all(holds(condition, context) for condition in statement.conditions)


def _resource_fits(statement: Statement, arn: str, context: Context) -> bool:
    """A pattern with an unresolved variable fits nothing; under NotResource it keeps the statement from applying."""
    unresolved = False
    for test in statement.resource_tests:
        found = test(arn, context)
        if found:
            return not statement.not_resource
        unresolved = unresolved or found is None
    return statement.not_resource and not unresolved


def _first(statements: Sequence[Statement], case: _Case, arn: str) -> Statement | None:
    for statement in statements:
        if applies(statement, case.action, arn, case.context):
            return statement
    return None


def _says(source: str, statement: Statement) -> str:
    return f"{source}, statement {statement.name}"


def _explicit_deny(case: _Case) -> Decision | None:
    for resource in case.access_request.resources:
        for policy, source in _caller_policies(case):
            found = _first(policy.denies, case, resource.arn) if policy.denies else None
            if found is not None:
                return Decision("ExplicitlyDenied", f"explicit deny in {source}", _says(source, found))
        found_here = _denied_by_resource(case, resource)
        if found_here is not None:
            return found_here
    return None


def _caller_policies(case: _Case) -> Iterator[tuple[Policy, str]]:
    """Policies without principals that may deny."""
    for attached in case.identity:
        yield attached.policy, attached.source
    if case.boundary is not None:
        yield case.boundary, "permissions boundary"
    for policy in case.session:
        yield policy, "session policy"
    if _in_organization(case.caller):
        for level in case.scps:
            for policy in level:
                yield policy, "service control policy"


def _in_organization(caller: Caller) -> bool:
    """Service control policies speak of principals of member accounts only."""
    return caller.kind not in ("anonymous", "service")


def _resource_policies(case: _Case, resource: ProtectedResource) -> Iterator[tuple[Policy, str]]:
    if resource.policy is not None and not _owner_regains(case, resource):
        yield resource.policy.policy, resource.policy.source
    for level in case.rcps:
        for policy in level:
            yield policy, "resource control policy"


def _owner_regains(case: _Case, resource: ProtectedResource) -> bool:
    """A bucket policy cannot lock the owner's root user out of the policy itself. Source: s3 API: PutBucketPolicy."""
    return case.caller.kind == "root" and case.caller.account == resource.account and case.action in _OWNER_REGAINS


def _denied_by_resource(case: _Case, resource: ProtectedResource) -> Decision | None:
    bounded = case.boundary is not None
    for policy, source in _resource_policies(case, resource):
        for statement in policy.denies:
            if forbidden(statement, case.access_request, bounded=bounded) and applies(statement, case.action, resource.arn, case.context):
                return Decision("ExplicitlyDenied", f"explicit deny in {source}", _says(source, statement))
    return None


def _restricted(case: _Case) -> Decision | None:
    """RestrictPublicBuckets: a public policy admits only the owner's account and AWS services."""
    for resource in case.access_request.resources:
        if resource.policy is None or not resource.restrict_public or case.caller.kind == "service":
            continue
        if case.caller.account != resource.account and is_public(resource.policy.policy):
            return Decision("ExplicitlyDenied", "RestrictPublicBuckets", resource.policy.source)
    return None


def _organization(case: _Case) -> Decision | None:
    """Each level of the tree must allow by itself. RCPs can only deny: AWS's full access is attached to every level."""
    if _in_organization(case.caller):
        for resource in case.access_request.resources:
            if not _all_levels_allow(case, case.scps, resource.arn):
                return Decision("ImplicitlyDenied", "no service control policy allows it")
    return None


def _all_levels_allow(case: _Case, levels: Sequence[Sequence[Policy]], arn: str) -> bool:
    return all(any(_first(policy.allows, case, arn) for policy in level) for level in levels)


def _granted(case: _Case) -> Decision:
    """Every resource must be granted; what decided for the last one is reported."""
    decision = Decision("ImplicitlyDenied", "no resource was named")
    for resource in case.access_request.resources:
        decision = _grant(case, resource)
        if not decision.allowed:
            break
    return decision


def _grant(case: _Case, resource: ProtectedResource) -> Decision:
    given, statement = _resource_grant(case, resource)
    by_resource = _says(resource.policy.source, statement) if resource.policy and statement else ""
    if case.caller.kind in ("anonymous", "service"):
        return _allowed(by_resource) if statement else _missing(f"no resource policy allows {resource.arn}")
    local = case.caller.account == resource.account
    if local and given in (PrincipalMatch.DIRECT, PrincipalMatch.EVERYONE):
        return _allowed(by_resource)
    if local and given is PrincipalMatch.ROLE and _caps_allow(case, resource.arn):
        return _allowed(by_resource)
    if given is PrincipalMatch.NONE and (resource.must_allow or not local):
        return _missing(f"no resource policy allows {resource.arn}")
    return _identity_grant(case, resource.arn)


def _identity_grant(case: _Case, arn: str) -> Decision:
    """What the caller's own policies give, capped by boundary and session. The root user has everything."""
    if case.caller.kind == "root":
        return _allowed("root user")
    for attached in case.identity:
        found = _first(attached.policy.allows, case, arn)
        if found is not None:
            says = _says(attached.source, found)
            return _allowed(says) if _caps_allow(case, arn) else _missing(f"boundary or session policy does not allow {arn}")
    return _missing(f"no identity policy allows {arn}")


def _caps_allow(case: _Case, arn: str) -> bool:
    """A boundary and session policies give nothing, they only let through; one of several session policies is enough."""
    if case.boundary is not None and _first(case.boundary.allows, case, arn) is None:
        return False
    return not case.session or any(_first(policy.allows, case, arn) for policy in case.session)


def _resource_grant(case: _Case, resource: ProtectedResource) -> tuple[PrincipalMatch, Statement | None]:
    """The strongest grant of the resource's own policy."""
    best, by = PrincipalMatch.NONE, None
    if resource.policy is None:
        return best, by
    for statement in resource.policy.policy.allows:
        given = match_principal(statement, case.access_request)
        if given > best and applies(statement, case.action, resource.arn, case.context):
            best, by = given, statement
    return best, by


def _allowed(statement: str) -> Decision:
    return Decision("Allowed", "allowed", statement)


def _missing(reason: str) -> Decision:
    return Decision("ImplicitlyDenied", reason)
