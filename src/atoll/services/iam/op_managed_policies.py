"""IAM's operations on managed policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from atoll.control_store import Transaction
from atoll.domain.api_call import Call, OperationOutput
from atoll.domain.errors import ApiError
from atoll.services.iam import id_generation, input_checks, output_members
from atoll.services.iam.aws_managed_policies import MANAGED
from atoll.services.iam.dependencies import Dependencies
from atoll.services.iam.lookup import holders, key_of, no_such, of_account, require_policy
from atoll.services.iam.output_members import VERSION
from atoll.services.iam.quotas import MANAGED_MAX_CHARS, POLICIES_MAX
from atoll.services.iam.records import POLICIES, PolicyRecord


async def CreatePolicy(
    deps: Dependencies,
    call: Call,
    *,
    PolicyName: str,
    PolicyDocument: str,
    Path: str = "/",
    Description: str = "",
    Tags: Sequence[Mapping[str, str]] = (),
) -> OperationOutput:
    record = PolicyRecord(
        name=input_checks.name("policyName", PolicyName),
        id=id_generation.unique_id(id_generation.POLICY, deps.random_bytes),
        arn=f"arn:aws:iam::{call.account}:policy{input_checks.path(Path)}{PolicyName}",
        path=Path,
        document=input_checks.document("policyDocument", PolicyDocument, deps.check_identity_policy, MANAGED_MAX_CHARS),
        created_ms=call.now_ms,
        description=input_checks.description(Description),
        tags=input_checks.tags(Tags),
    )

    def add(transaction: Transaction) -> None:
        if transaction.get(POLICIES, key_of(transaction, call.account, PolicyName)):
            raise ApiError("EntityAlreadyExists", f"A policy called {PolicyName} already exists. Duplicate names are not allowed.")
        input_checks.check_quota(len(of_account(transaction, POLICIES, call.account)) + 1, POLICIES_MAX, "customer managed policies")
        transaction.put(POLICIES, key_of(transaction, call.account, PolicyName), record)

    await deps.state.transact(add)
    return OperationOutput({"Policy": output_members.policy(record, ()) | _extras(record)})


async def GetPolicy(deps: Dependencies, call: Call, *, PolicyArn: str) -> OperationOutput:
    record = require_policy(deps.state, call.account, PolicyArn)
    return OperationOutput({"Policy": output_members.policy(record, holders(deps.state, call.account)) | _extras(record)})


async def GetPolicyVersion(deps: Dependencies, call: Call, *, PolicyArn: str, VersionId: str) -> OperationOutput:
    record = require_policy(deps.state, call.account, PolicyArn)
    if VersionId != VERSION:
        raise no_such(f"version {VersionId} of the policy {PolicyArn}")
    version = {
        "Document": output_members.encoded(record.document),
        "VersionId": VERSION,
        "IsDefaultVersion": True,
        "CreateDate": output_members.moment(record.created_ms),
    }
    return OperationOutput({"PolicyVersion": version})


async def ListPolicies(
    deps: Dependencies,
    call: Call,
    *,
    Scope: str = "All",
    OnlyAttached: bool = False,
    PathPrefix: str = "/",
    Marker: str | None = None,
    MaxItems: int | None = None,
) -> OperationOutput:
    everyone = holders(deps.state, call.account)
    found = [
        (record.arn, output_members.policy(record, everyone))
        for record in _in_scope(deps, call, Scope)
        if record.path.startswith(PathPrefix)
        and (not OnlyAttached or any(record.arn in holder.attached for holder in everyone))
    ]
    return OperationOutput(output_members.page("Policies", sorted(found, key=lambda item: item[0]), Marker, MaxItems))


async def DeletePolicy(deps: Dependencies, call: Call, *, PolicyArn: str) -> OperationOutput:
    def remove(transaction: Transaction) -> None:
        record = require_policy(transaction, call.account, PolicyArn)
        if record.arn in MANAGED:
            raise ApiError("AccessDenied", f"Policies of AWS cannot be deleted: {PolicyArn}")
        if any(record.arn in (*holder.attached, holder.boundary) for holder in holders(transaction, call.account)):
            raise ApiError("DeleteConflict", "Cannot delete a policy attached to entities.")
        transaction.delete(POLICIES, key_of(transaction, call.account, record.name))

    await deps.state.transact(remove)
    return OperationOutput()


def _in_scope(deps: Dependencies, call: Call, scope: str) -> list[PolicyRecord]:
    if scope not in {"All", "AWS", "Local"}:
        raise input_checks.invalid("scope", scope, "be one of All, AWS, Local")
    local = [record for _, record in of_account(deps.state, POLICIES, call.account)] if scope != "AWS" else []
    return local + (list(MANAGED.values()) if scope != "Local" else [])


def _extras(record: PolicyRecord) -> output_members.Members:
    """What Get and Create show besides, and List does not."""
    members: output_members.Members = {"Description": record.description} if record.description else {}
    return {**members, "Tags": output_members.tag_list(record.tags)} if record.tags else members
