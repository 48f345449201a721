"""Whoever has no permission gets nothing done: every operation of every service, asked by a user without policies and by nobody."""

import asyncio
import base64
import hashlib
import os
from urllib.parse import urlencode

import botocore.session
import pytest
from botocore.serialize import create_serializer

from atoll.control_store import ControlStore
from atoll.domain.http_message import Body, Request
from atoll.gateway.metrics import Metrics
from atoll.gateway.request_log import RequestIds, RequestLog
from atoll.object_store.memory_store import MemoryStore
from atoll.processes import build_region
from atoll.processes.world_config import load
from atoll.rules.sigv4 import Credentials
from atoll.services.iam.caller_lookup import Identities
from atoll.services.iam.id_generation import create_root_account
from atoll.services.iam.operations import OPERATIONS as IAM
from atoll.services.s3.change_notifier import ChangeNotifier
from atoll.services.s3.dependencies import ReplicationRuleCache
from atoll.services.s3.operations import OPERATIONS as S3
from atoll.services.s3control.access_points import MrapLookup
from atoll.services.s3control.operations import OPERATIONS as S3CONTROL
from atoll.services.sts.operations import OPERATIONS as STS
from gateway.pipeline_setup import between, signed, text
from s3world import ACCOUNT, Ticks

LOADER = botocore.session.get_session()
HOSTS = {"iam": "iam.amazonaws.com", "sts": "sts.amazonaws.com"}
UNGUARDED = ("GetCallerIdentity", "GetSessionToken")  # STS API: no policy grants or takes them
ALIAS_ARN = f"arn:aws:s3::{ACCOUNT}:accesspoint/mabc.mrap"
POLICY = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}'
TRUST = f'{{"Version":"2012-10-17","Statement":[{{"Effect":"Allow","Action":"sts:AssumeRole","Principal":{{"AWS":"{ACCOUNT}"}}}}]}}'
SAMPLES = {
    "Bucket": "bkt", "Key": "k", "CopySource": "bkt/k", "UserName": "ada", "RoleName": "worker", "PolicyName": "p", "PolicyDocument": POLICY,
    "AssumeRolePolicyDocument": TRUST, "PolicyArn": "arn:aws:iam::aws:policy/AdministratorAccess",
    "AccountId": ACCOUNT, "Mrap": ALIAS_ARN, "RoleArn": f"arn:aws:iam::{ACCOUNT}:role/worker", "RoleSessionName": "stranger", "Policy": POLICY,
    "VersioningConfiguration": {"Status": "Suspended"}, "Tagging": {"TagSet": [{"Key": "a", "Value": "b"}]},
    "Delete": {"Objects": [{"Key": "k"}]}, "UploadId": "dXMtZWFzdC0xfHg", "Status": "Inactive", "PartNumber": 1,
    "Role": f"arn:aws:iam::{ACCOUNT}:role/worker", "Name": "point", "PermissionsBoundary": "arn:aws:iam::aws:policy/AdministratorAccess",
    "AccessKeyId": "AKIAXXXXXXXXXXXXXXXX", "RequestTokenARN": f"arn:aws:s3:us-west-2:{ACCOUNT}:async-request/mrap/create/x",
}  # fmt: skip
OPTIONAL = ("UserName", "VersioningConfiguration", "Tagging", "PublicAccessBlockConfiguration", "MultipartUpload", "Body", "Policy")


def sample(shape, name=""):
    """A value of a shape, as small as its constraints let it be."""
    if name in SAMPLES and not (shape.type_name == "structure") ^ isinstance(SAMPLES[name], dict):
        return SAMPLES[name]
    match shape.type_name:
        case "structure":
            wanted = set(shape.required_members) | (set(shape.members) & set(OPTIONAL))
            return {member: sample(inner, member) for member, inner in shape.members.items() if member in wanted}
        case "list":
            return [sample(shape.member)]
        case "map":
            return {"a": "b"}
        case "boolean":
            return True
        case "integer" | "long":
            return 1
        case "blob":
            return b"new"
        case "timestamp":
            return "2026-11-30T00:00:00Z"
    return shape.enum[0] if getattr(shape, "enum", None) else "xxx"


def asked(service, operation):
    """The request that botocore would send."""
    model = LOADER.get_service_model(service)
    shape = model.operation_model(operation)
    made = create_serializer(model.metadata["protocol"], include_validation=False).serialize_to_request(sample(shape.input_shape) if shape.input_shape else {}, shape)
    path, _, query = made["url_path"].partition("?")
    words = urlencode(made["query_string"]) if made["query_string"] else ""
    body = made["body"]
    data = urlencode(body).encode() if isinstance(body, dict) else body.encode() if isinstance(body, str) else body or b""
    headers = {name.lower(): str(value) for name, value in made["headers"].items()}
    headers |= {"host": HOSTS.get(service, "127.0.0.1"), "content-length": str(len(data))}
    if service == "s3" and data:
        headers["content-md5"] = base64.b64encode(hashlib.md5(data).digest()).decode()
    if service == "s3control":
        headers["x-amz-account-id"] = ACCOUNT
    target = path + ("?" if query or words else "") + "&".join(filter(None, (query, words)))
    return Request(made["method"], target, headers, Body.of(data))


class Ground:
    """A region with a bucket, an object, a role and a user who may do nothing."""

    def __init__(self, folder, state, root):
        clock = Ticks(1_800_000_000.0)
        self.clock, self.state, self.root = clock, state, Credentials(root.access_key, root.secret)
        self.store = MemoryStore("us-east-1", lambda: int(clock.now() * 1000))
        self.gateway = build_region.gateway(
            build_region.Shared(
                load(None), "us-east-1", state, self.store, self.store, clock, Identities(state, os.urandom), MrapLookup(state), ChangeNotifier(),
                RequestLog(folder / "log.jsonl", "us-east-1"), Metrics("us-east-1"), ReplicationRuleCache(), {}.__getitem__,
            ), RequestIds(),
        )  # fmt: skip

    async def send(self, request, by, service="s3"):
        if by is not None:
            request = signed(request, by, now=self.clock.now(), service="s3" if service == "s3control" else service)
        return await self.gateway(request)

    async def prepare(self):
        for target, body in (("/bkt", b""), ("/bkt/k", b"old")):
            request = Request("PUT", target, {"host": "127.0.0.1", "content-length": str(len(body))}, Body.of(body))
            assert (await self.send(request, self.root)).status == 200
        for operation in ("CreateUser", "CreateRole"):
            assert (await self.send(asked("iam", operation), self.root, "iam")).status == 200
        result = await text(await self.send(asked("iam", "CreateAccessKey"), self.root, "iam"))
        return Credentials(between(result, "AccessKeyId"), between(result, "SecretAccessKey"))

    async def metadata(self):
        """All that there is: the control state's version, and every version of every object."""
        entries = [(area, await self.store.scan(area, versions=True, limit=100)) for area in ("bkt", "bkt!uploads")]
        return self.state.version, [(area, one.name, one.metadata) for area, listed in entries for one in listed]


def refusal(folder, service, operation, *, signed_by_a_user):
    async def whole():
        state = ControlStore.memory()
        try:
            ground = Ground(folder, state, await create_root_account(state, account=ACCOUNT, random_bytes=os.urandom, now=1_800_000_000.0))
            user = await ground.prepare()
            before = await ground.metadata()
            response = await ground.send(asked(service, operation), user if signed_by_a_user else None, service)
            result = await text(response)
            assert await ground.metadata() == before
            return response.status, result
        finally:
            state.close()

    return asyncio.run(whole())


ALL = [(service, name) for service, names in (("s3", S3), ("iam", IAM), ("sts", STS), ("s3control", S3CONTROL)) for name in names if name not in UNGUARDED]


@pytest.mark.parametrize("by", ["user", "nobody"])
@pytest.mark.parametrize(("service", "operation"), ALL)
def test_without_permission_nothing_is_done_and_nothing_is_told(tmp_path, service, operation, by):
    status, result = refusal(tmp_path, service, operation, signed_by_a_user=by == "user")
    if operation == "DeleteObjects":
        assert (status, result.count("<Code>AccessDenied</Code>"), "<Deleted>" in result) == (200, 1, False)
    else:
        assert status == 403
        assert operation.startswith("Head") or "<Code>AccessDenied</Code>" in result or "<Code>MissingAuthenticationToken</Code>" in result
