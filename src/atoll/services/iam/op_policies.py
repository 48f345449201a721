"""What do IAM's operations on managed policies do?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from atoll.domain.call import Answer, Call
from atoll.domain.errors import ApiError
from atoll.services.iam import answers, checks, making
from atoll.services.iam.answers import VERSION
from atoll.services.iam.finding import holders, key_of, must_policy, no_such, of_account
from atoll.services.iam.here import Here
from atoll.services.iam.managed import MANAGED
from atoll.services.iam.quotas import MANAGED_MAX_CHARS, POLICIES_MAX
from atoll.services.iam.records import POLICIES, PolicyRecord
from atoll.state import Change


async def CreatePolicy(
    here: Here,
    call: Call,
    *,
    PolicyName: str,
    PolicyDocument: str,
    Path: str = "/",
    Description: str = "",
    Tags: Sequence[Mapping[str, str]] = (),
) -> Answer:
    record = PolicyRecord(
        name=checks.name("policyName", PolicyName),
        id=making.unique_id(making.POLICY, here.dice),
        arn=f"arn:aws:iam::{call.account}:policy{checks.path(Path)}{PolicyName}",
        path=Path,
        document=checks.document("policyDocument", PolicyDocument, here.check_identity_policy, MANAGED_MAX_CHARS),
        created_ms=call.now_ms,
        description=checks.description(Description),
        tags=checks.tags(Tags),
    )

    def add(change: Change) -> None:
        if change.get(POLICIES, key_of(change, call.account, PolicyName)):
            raise ApiError("EntityAlreadyExists", f"A policy called {PolicyName} already exists. Duplicate names are not allowed.")
        checks.within(len(of_account(change, POLICIES, call.account)) + 1, POLICIES_MAX, "customer managed policies")
        change.put(POLICIES, key_of(change, call.account, PolicyName), record)

    await here.state.change(add)
    return Answer({"Policy": answers.policy(record, ()) | _extras(record)})


async def GetPolicy(here: Here, call: Call, *, PolicyArn: str) -> Answer:
    record = must_policy(here.state, call.account, PolicyArn)
    return Answer({"Policy": answers.policy(record, holders(here.state, call.account)) | _extras(record)})


async def GetPolicyVersion(here: Here, call: Call, *, PolicyArn: str, VersionId: str) -> Answer:
    record = must_policy(here.state, call.account, PolicyArn)
    if VersionId != VERSION:
        raise no_such(f"version {VersionId} of the policy {PolicyArn}")
    version = {
        "Document": answers.encoded(record.document),
        "VersionId": VERSION,
        "IsDefaultVersion": True,
        "CreateDate": answers.moment(record.created_ms),
    }
    return Answer({"PolicyVersion": version})


async def ListPolicies(
    here: Here,
    call: Call,
    *,
    Scope: str = "All",
    OnlyAttached: bool = False,
    PathPrefix: str = "/",
    Marker: str | None = None,
    MaxItems: int | None = None,
) -> Answer:
    everyone = holders(here.state, call.account)
    found = [
        (record.arn, answers.policy(record, everyone))
        for record in _in_scope(here, call, Scope)
        if record.path.startswith(PathPrefix)
        and (not OnlyAttached or any(record.arn in holder.attached for holder in everyone))
    ]
    return Answer(answers.page("Policies", sorted(found, key=lambda item: item[0]), Marker, MaxItems))


async def DeletePolicy(here: Here, call: Call, *, PolicyArn: str) -> Answer:
    def remove(change: Change) -> None:
        record = must_policy(change, call.account, PolicyArn)
        if record.arn in MANAGED:
            raise ApiError("AccessDenied", f"Policies of AWS cannot be deleted: {PolicyArn}")
        if any(record.arn in (*holder.attached, holder.boundary) for holder in holders(change, call.account)):
            raise ApiError("DeleteConflict", "Cannot delete a policy attached to entities.")
        change.delete(POLICIES, key_of(change, call.account, record.name))

    await here.state.change(remove)
    return Answer()


def _in_scope(here: Here, call: Call, scope: str) -> list[PolicyRecord]:
    if scope not in {"All", "AWS", "Local"}:
        raise checks.invalid("scope", scope, "be one of All, AWS, Local")
    local = [record for _, record in of_account(here.state, POLICIES, call.account)] if scope != "AWS" else []
    return local + (list(MANAGED.values()) if scope != "Local" else [])


def _extras(record: PolicyRecord) -> answers.Members:
    """What Get and Create show besides, and List does not."""
    members: answers.Members = {"Description": record.description} if record.description else {}
    return {**members, "Tags": answers.tag_list(record.tags)} if record.tags else members
