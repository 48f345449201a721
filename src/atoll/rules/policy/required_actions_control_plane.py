"""The actions that calls to IAM, STS and S3 Control require.

Source: Service Authorization Reference for AWS IAM, AWS STS and Amazon S3; S3 user guide, "Multi-Region Access Points".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from atoll.rules.policy.required_action import ActionResolver, CallDetails, RequiredAction, everywhere, nothing, own_name

# Which member names the resource of an IAM call, most telling first: AddUserToGroup acts on the group.
_IAM_RESOURCES = (
    ("InstanceProfileName", "instance-profile"),
    ("GroupName", "group"),
    ("UserName", "user"),
    ("RoleName", "role"),
)
# Calls that mean the caller itself when they name no user. Source: IAM API reference, parameter UserName.
_OWN_USER = frozenset(
    {
        "ChangePassword",
        "CreateAccessKey",
        "DeleteAccessKey",
        "GetUser",
        "ListAccessKeys",
        "ListMFADevices",
        "ListSigningCertificates",
        "UpdateAccessKey",
    }
)

_MAKES = frozenset({"CreateUser", "CreateRole"})  # named by what the call says, not by a namesake that is there already


def iam_required_actions(call: CallDetails) -> Iterator[RequiredAction]:
    yield RequiredAction(f"iam:{call.operation}", _iam_resource(call))


def _iam_resource(call: CallDetails) -> str:
    if call.identity and call.operation not in _MAKES:
        return call.identity
    for member, kind in _IAM_RESOURCES:
        if name := call.text(member):
            return _iam_arn(call, kind, name)
    if found := call.text("PolicyArn"):
        return found
    if call.operation == "CreatePolicy":
        return _iam_arn(call, "policy", call.text("PolicyName"))
    return call.caller_arn if call.operation in _OWN_USER and call.caller_arn else "*"


def _iam_arn(call: CallDetails, kind: str, name: str) -> str:
    """With the path of a Create call; of what does not exist, only the name is known."""
    path = call.text("Path") if call.operation.startswith("Create") else ""
    return f"arn:aws:iam::{call.account}:{kind}{path or '/'}{name}"


def sts_required_actions(call: CallDetails) -> Iterator[RequiredAction]:
    return _STS.get(call.operation, own_name("sts"))(call)


def _federation_token(call: CallDetails) -> Iterator[RequiredAction]:
    yield RequiredAction("sts:GetFederationToken", f"arn:aws:sts::{call.account}:federated-user/{call.text('Name')}")


_STS: Mapping[str, ActionResolver] = {
    "AssumeRole": nothing,  # the role's trust policy decides too, so the operation asks (evaluate.assume)
    "AssumeRoleWithSAML": nothing,
    "AssumeRoleWithWebIdentity": nothing,
    "GetCallerIdentity": nothing,  # not even a deny stands in its way
    "GetSessionToken": nothing,
    "GetFederationToken": _federation_token,
}


def s3control_required_actions(call: CallDetails) -> Iterator[RequiredAction]:
    return _S3CONTROL.get(call.operation, own_name("s3"))(call)


def _on_access_point(call: CallDetails) -> Iterator[RequiredAction]:
    """The access point as its ARN says it, or, before its alias is known, by its name."""
    details = call.params.get("Details")
    named = details.get("Name") if isinstance(details, Mapping) else call.text("Name")
    by_name = f"arn:aws:s3::{call.account}:accesspoint/{named}"
    yield RequiredAction(f"s3:{call.operation}", call.access_point or call.text("Mrap") or by_name)


def _on_request(call: CallDetails) -> Iterator[RequiredAction]:
    yield RequiredAction(f"s3:{call.operation}", call.text("RequestTokenARN") or "*")


_S3CONTROL: Mapping[str, ActionResolver] = {
    **dict.fromkeys(
        (
            "CreateMultiRegionAccessPoint",
            "DeleteMultiRegionAccessPoint",
            "GetMultiRegionAccessPoint",
            "GetMultiRegionAccessPointPolicy",
            "GetMultiRegionAccessPointPolicyStatus",
            "GetMultiRegionAccessPointRoutes",
            "PutMultiRegionAccessPointPolicy",
            "SubmitMultiRegionAccessPointRoutes",
        ),
        _on_access_point,
    ),
    "DescribeMultiRegionAccessPointOperation": _on_request,
    "ListMultiRegionAccessPoints": everywhere("s3:ListMultiRegionAccessPoints"),
    "GetPublicAccessBlock": everywhere("s3:GetAccountPublicAccessBlock"),
    "PutPublicAccessBlock": everywhere("s3:PutAccountPublicAccessBlock"),
    "DeletePublicAccessBlock": everywhere("s3:PutAccountPublicAccessBlock"),
}
