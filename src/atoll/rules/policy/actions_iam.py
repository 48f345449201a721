"""Which actions do calls to IAM, STS and S3 Control need, and on what?

Source: Service Authorization Reference for AWS IAM, AWS STS and Amazon S3; S3 user guide, "Multi-Region Access Points".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from atoll.rules.policy.needs import Ask, Need, Needs, everywhere, nothing, own_name

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


def iam_needs(ask: Ask) -> Iterator[Need]:
    yield Need(f"iam:{ask.operation}", _iam_resource(ask))


def _iam_resource(ask: Ask) -> str:
    if ask.identity and ask.operation not in _MAKES:
        return ask.identity
    for member, kind in _IAM_RESOURCES:
        if name := ask.text(member):
            return _iam_arn(ask, kind, name)
    if found := ask.text("PolicyArn"):
        return found
    if ask.operation == "CreatePolicy":
        return _iam_arn(ask, "policy", ask.text("PolicyName"))
    return ask.caller_arn if ask.operation in _OWN_USER and ask.caller_arn else "*"


def _iam_arn(ask: Ask, kind: str, name: str) -> str:
    """With the path of a Create call; of what does not exist, only the name is known."""
    path = ask.text("Path") if ask.operation.startswith("Create") else ""
    return f"arn:aws:iam::{ask.account}:{kind}{path or '/'}{name}"


def sts_needs(ask: Ask) -> Iterator[Need]:
    return _STS.get(ask.operation, own_name("sts"))(ask)


def _federation_token(ask: Ask) -> Iterator[Need]:
    yield Need("sts:GetFederationToken", f"arn:aws:sts::{ask.account}:federated-user/{ask.text('Name')}")


_STS: Mapping[str, Needs] = {
    "AssumeRole": nothing,  # the role's trust policy decides too, so the operation asks (evaluate.assume)
    "AssumeRoleWithSAML": nothing,
    "AssumeRoleWithWebIdentity": nothing,
    "GetCallerIdentity": nothing,  # not even a deny stands in its way
    "GetSessionToken": nothing,
    "GetFederationToken": _federation_token,
}


def s3control_needs(ask: Ask) -> Iterator[Need]:
    return _S3CONTROL.get(ask.operation, own_name("s3"))(ask)


def _on_point(ask: Ask) -> Iterator[Need]:
    """The access point as its ARN says it, or, before its alias is known, by its name."""
    details = ask.params.get("Details")
    named = details.get("Name") if isinstance(details, Mapping) else ask.text("Name")
    by_name = f"arn:aws:s3::{ask.account}:accesspoint/{named}"
    yield Need(f"s3:{ask.operation}", ask.access_point or ask.text("Mrap") or by_name)


def _on_request(ask: Ask) -> Iterator[Need]:
    yield Need(f"s3:{ask.operation}", ask.text("RequestTokenARN") or "*")


_S3CONTROL: Mapping[str, Needs] = {
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
        _on_point,
    ),
    "DescribeMultiRegionAccessPointOperation": _on_request,
    "ListMultiRegionAccessPoints": everywhere("s3:ListMultiRegionAccessPoints"),
    "GetPublicAccessBlock": everywhere("s3:GetAccountPublicAccessBlock"),
    "PutPublicAccessBlock": everywhere("s3:PutAccountPublicAccessBlock"),
    "DeletePublicAccessBlock": everywhere("s3:PutAccountPublicAccessBlock"),
}
