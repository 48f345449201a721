"""One region's gateway in a process of its own: real slices over the memory engine, requests signed by hand."""

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import quote

from atoll.domain.http_message import EMPTY, Body, Request
from atoll.domain.objects import Key
from atoll.gateway.authenticate import Authenticate
from atoll.gateway.authorize import ResourceProtection
from atoll.gateway.bound_service import bind
from atoll.gateway.metrics import Metrics
from atoll.gateway.request_log import RequestIds, RequestLog
from atoll.gateway.request_pipeline import Gateway
from atoll.gateway.service_time_emulation import ServiceTimeDelay
from atoll.rules import sigv4, sigv4a
from atoll.rules.policy import validate
from atoll.rules.policy.model import Attached
from atoll.rules.policy.parse import parse
from atoll.rules.policy.public_access import PublicAccess
from atoll.rules.signature_verification import KeyCache
from atoll.rules.sigv4 import Credentials
from atoll.services.iam.caller_lookup import Identities
from atoll.services.iam.dependencies import Dependencies as IamDependencies
from atoll.services.iam.id_generation import create_root_account
from atoll.services.iam.operations import OPERATIONS as IAM
from atoll.services.s3.operations import OPERATIONS as S3
from atoll.services.s3.replica_receiver import ReplicaDependencies, receive
from atoll.services.sts.dependencies import Dependencies as StsDependencies
from atoll.services.sts.operations import OPERATIONS as STS
from s3world import ACCOUNT, World

REGION = "us-east-1"
PLAIN = "127.0.0.1"  # a plain endpoint: path and scope decide


def protection(policy: Mapping | None = None, *, account=ACCOUNT, blocks=PublicAccess(), source="bucket policy of b"):
    attached = Attached(parse(json.dumps(policy), kind="resource"), source) if policy else None
    return ResourceProtection(account, attached, blocks)


def statement(effect, action, resource, **more):
    return {"Version": "2012-10-17", "Statement": [{"Sid": f"{effect}It", "Effect": effect, "Principal": "*", "Action": action, "Resource": resource, **more}]}


@dataclass
class FakePolicyLookup:
    """An Authority whose bucket and access point policies are given by the test."""

    identities: Identities
    store: object
    buckets: dict[str, ResourceProtection] = field(default_factory=dict)
    mraps: dict[str, ResourceProtection] = field(default_factory=dict)
    tag_reads: int = 0

    def caller_policies(self, caller):
        return self.identities.caller_policies(caller)

    def bucket(self, name):
        return self.buckets.get(name)

    def access_point(self, arn):
        return self.mraps.get(arn)

    def asks_for_tags(self, caller, bucket, access_point):
        held = self.buckets.get(bucket)
        attached = [*self.caller_policies(caller).identity, *([held.policy] if held and held.policy else [])]
        return any(one.policy.asks("s3:existingobjecttag/") for one in attached)

    async def tags(self, bucket, key, version):
        self.tag_reads += 1
        metadata = await self.store.head(Key(bucket, key), version)
        return None if metadata is None else metadata.tags


def signed(request, credentials, how="v4", *, now, region=REGION, service="s3", payload=None):
    """The same request with an Authorization header."""
    body = request.body.small if request.body.small is not None else b""
    payload = payload or hashlib.sha256(body).hexdigest()
    if how == "v4a":
        added = sigv4a.sign(request, credentials, now=now, payload=payload, service=service)
    else:
        added = sigv4.sign(request, credentials, region=region, now=now, payload=payload, service=service)
    return Request(request.method, request.target, {**request.headers, **added}, request.body, request.peer, request.secure, request.arrived, request.forwarded)


class RegionGateway:
    """`ask` sends one request; `events` are the lines of the log."""

    def __init__(self, world, root, folder, compat):
        self.world, self.clock = world, world.clock
        self.root = Credentials(root.access_key, root.secret)
        self.identities = Identities(world.state, os.urandom)
        self.policies = FakePolicyLookup(self.identities, world.store)
        self.log = folder / f"{REGION}.jsonl"
        self.request_log = RequestLog(self.log, REGION)
        self.metrics = Metrics(REGION)
        self.service_time = ServiceTimeDelay(self.clock)
        self.gateway = Gateway(
            region=REGION,
            services=self._services(),
            authenticate=Authenticate(self.identities, KeyCache(), compat),
            policy_lookup=self.policies,
            receive=self._receive,
            named_mrap=lambda params: "",
            named_identity=self.identities.named,
            clock=self.clock,
            ids=RequestIds(),
            request_log=self.request_log,
            metrics=self.metrics,
            service_time=self.service_time,
            compat=compat,
        )

    def _services(self):
        sts = StsDependencies(
            role=self.identities.role, may_assume=self.identities.may_assume, context=lambda _call: {}, encrypt_session=self.identities.encrypt_session, random_bytes=os.urandom,
            check_session_policy=validate.check_identity_policy,
        )  # fmt: skip
        iam = IamDependencies(self.world.state, os.urandom, validate.check_identity_policy, validate.check_trust_policy)
        return {"s3": bind("s3", S3, self.world.deps), "iam": bind("iam", IAM, iam), "sts": bind("sts", STS, sts)}

    async def _receive(self, call, bucket, key):
        return await receive(ReplicaDependencies(self.world.store, lambda _bucket: "Enabled"), call, bucket, key)

    async def ask(self, method, target, body=b"", *, host=PLAIN, by="root", how="v4", region=REGION, service="s3", headers=None, forwarded=None, payload=None, arrived=0.0):
        stream = body if isinstance(body, Body) else Body.of(body) if body else EMPTY
        length = {"content-length": str(stream.length)} if stream.length is not None and method in ("PUT", "POST") else {}
        request = Request(method, target, {"host": host, **length, **(headers or {})}, stream, arrived=arrived, forwarded=forwarded)
        if how:
            credentials = self.root if by == "root" else by
            request = signed(request, credentials, how, now=self.clock.now(), region=region, service=service, payload=payload)
        return await self.gateway(request)

    async def query(self, form, service="iam", **more):
        """A call in the query protocol."""
        return await self.ask("POST", "/", form.encode(), service=service, headers={"content-type": "application/x-www-form-urlencoded"}, **more)

    async def user(self, name, *statements):
        """A user with an inline policy; her key pair."""
        await self.query(f"Action=CreateUser&Version=2010-05-08&UserName={name}")
        result = await text(await self.query(f"Action=CreateAccessKey&Version=2010-05-08&UserName={name}"))
        if statements:
            document = quote(json.dumps({"Version": "2012-10-17", "Statement": list(statements)}))
            await self.query(f"Action=PutUserPolicy&Version=2010-05-08&UserName={name}&PolicyName=p&PolicyDocument={document}")
        return Credentials(between(result, "AccessKeyId"), between(result, "SecretAccessKey"))

    def events(self):
        self.request_log.flush()
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []


def between(document, name):
    return document.partition(f"<{name}>")[2].partition(f"</{name}>")[0]


async def text(response):
    return b"".join([piece async for piece in response.body]).decode()


async def code(response):
    """Status and error code of a refusal."""
    return response.status, between(await text(response), "Code")


@asynccontextmanager
async def region(folder, compat="lenient"):
    world = World(REGION, compat=compat)
    try:
        root = await create_root_account(world.state, account=ACCOUNT, random_bytes=os.urandom, now=world.clock.now())
        yield RegionGateway(world, root, folder, compat)
    finally:
        world.state.close()
