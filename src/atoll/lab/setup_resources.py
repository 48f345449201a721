"""Creates what an experiment needs as a user would: buckets, versions, a role, rules and an access point."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from atoll.lab.client_workers import CallerProcess, LabFailed, Message, wait_for
from atoll.lab.dataset import File

CONTROL_REGION = "us-west-2"  # S3 user guide: control-plane requests of access points go to US West (Oregon)
MRAP_NAME = "lab"
ROLE = "replicate"
READY_TIMEOUT_S = 600.0  # profile aws takes as long over it as AWS does: minutes
COPIED_TIMEOUT_S = 120.0
PUT_BATCH = 50  # files per command; each answer is a sign of life

_TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "s3.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}
_SOURCE_ACTIONS = [
    "s3:GetReplicationConfiguration", "s3:ListBucket", "s3:GetObjectVersionForReplication", "s3:GetObjectVersionAcl",
    "s3:GetObjectVersionTagging",
]  # fmt: skip
_COPY_ACTIONS = ["s3:ReplicateObject", "s3:ReplicateDelete", "s3:ReplicateTags"]


@dataclass(frozen=True, slots=True)
class Setup:
    """What was made. `members` has a bucket per region, the first is where files are written."""

    account: str
    home: str
    members: dict[str, str]
    arn: str

    @property
    def copies(self) -> list[str]:
        """Regions that hold copies."""
        return [region for region in self.members if region != self.home]


def prepare(caller: CallerProcess, regions: Sequence[str]) -> Setup:
    """Everything, by calls of one user who stands in the first region."""
    home = regions[0]
    account = caller.call("sts", home, "GetCallerIdentity")["Account"]
    members = {region: f"lab-{region}" for region in regions}
    for region, bucket in members.items():
        _bucket(caller, region, bucket)
    _replication(caller, account, members, home)
    return Setup(account, home, members, _access_point(caller, account, members))


def _bucket(caller: CallerProcess, region: str, bucket: str) -> None:
    where = {} if region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": region}}
    caller.call("s3", region, "CreateBucket", Bucket=bucket, **where)
    caller.call("s3", region, "PutBucketVersioning", Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})


def _replication(caller: CallerProcess, account: str, members: dict[str, str], home: str) -> None:
    source, copies = members[home], [bucket for region, bucket in members.items() if region != home]
    caller.call("iam", home, "CreateRole", RoleName=ROLE, AssumeRolePolicyDocument=json.dumps(_TRUST))
    policy = {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Action": _SOURCE_ACTIONS, "Resource": [f"arn:aws:s3:::{source}", f"arn:aws:s3:::{source}/*"]},
            {"Effect": "Allow", "Action": _COPY_ACTIONS, "Resource": [f"arn:aws:s3:::{bucket}/*" for bucket in copies]},
        ],
    }
    caller.call("iam", home, "PutRolePolicy", RoleName=ROLE, PolicyName="copy", PolicyDocument=json.dumps(policy))
    rules = [
        {
            "ID": bucket,
            "Status": "Enabled",
            "Priority": number,
            "Filter": {"Prefix": ""},
            "DeleteMarkerReplication": {"Status": "Enabled"},
            "Destination": {"Bucket": f"arn:aws:s3:::{bucket}"},
        }
        for number, bucket in enumerate(copies, 1)
    ]
    wish = {"Role": f"arn:aws:iam::{account}:role/{ROLE}", "Rules": rules}
    caller.call("s3", home, "PutBucketReplication", Bucket=source, ReplicationConfiguration=wish)


def _access_point(caller: CallerProcess, account: str, members: dict[str, str]) -> str:
    """Its ARN, when it is READY."""
    block = dict.fromkeys(("BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets"), True)
    details = {"Name": MRAP_NAME, "PublicAccessBlock": block, "Regions": [{"Bucket": bucket} for bucket in members.values()]}
    caller.call(
        "s3control", CONTROL_REGION, "CreateMultiRegionAccessPoint", AccountId=account, ClientToken="lab-1", Details=details
    )

    def alias() -> str:
        result = caller.call("s3control", CONTROL_REGION, "GetMultiRegionAccessPoint", AccountId=account, Name=MRAP_NAME)
        mrap = result["AccessPoint"]
        if "FAILED" in mrap["Status"]:
            raise LabFailed(f"the access point is {mrap['Status']}")
        return str(mrap["Alias"]) if mrap["Status"] == "READY" else ""

    wait_for("the access point becomes READY", lambda: bool(alias()), timeout_s=READY_TIMEOUT_S)
    return f"arn:aws:s3::{account}:accesspoint/{alias()}"


def upload(caller: CallerProcess, files: Sequence[File], path: str = "single") -> float:
    """Write the files where they belong; when the last one was acknowledged (monotonic seconds)."""
    answered = 0.0
    for first in range(0, len(files), PUT_BATCH):
        batch = [(file.key, base64.b64encode(file.content).decode()) for file in files[first : first + PUT_BATCH]]
        answered = caller.ask("put", path=path, files=batch)["answered"]
    return answered


def _pages(caller: CallerProcess, setup: Setup, region: str) -> Iterator[Message]:
    """ListObjectsV2 of the region's bucket, page by page."""
    more: dict[str, str] = {}
    while True:
        page = caller.call("s3", region, "ListObjectsV2", Bucket=setup.members[region], **more)
        yield page
        if not page["IsTruncated"]:
            return
        more = {"ContinuationToken": page["NextContinuationToken"]}


def wait_copied(caller: CallerProcess, setup: Setup, count: int) -> None:
    """Until every bucket that is copied to lists all files."""

    def complete(region: str) -> bool:
        return count <= sum(int(page["KeyCount"]) for page in _pages(caller, setup, region))

    for region in setup.copies:
        wait_for(f"the copies in {region}", partial(complete, region), timeout_s=COPIED_TIMEOUT_S)


def kept_bytes(caller: CallerProcess, setup: Setup) -> dict[str, int]:
    """Bytes of current objects in each bucket that is copied to."""
    return {
        region: sum(row["Size"] for page in _pages(caller, setup, region) for row in page.get("Contents", ()))
        for region in setup.copies
    }
