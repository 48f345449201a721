"""One region in memory and two accounts in it: what policies of both of them let through, asked with signed requests."""

import base64
import hashlib
import json
import os
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode

from atoll.domain.caller import Caller, ForwardedContext
from atoll.domain.http_message import Body, Request
from atoll.rules.access_control_lists import canonical_id
from atoll.rules.policy.public_access import PublicAccess
from atoll.rules.sigv4 import Credentials
from atoll.services.iam.accounts import create_account
from atoll.services.iam.caller_lookup import Identities
from atoll.services.s3control.records import ALIASES, MRAPS, AliasRecord, MrapRecord, PolicyText, mrap_key
from atoll.testing import memory_region

ALIAS = "mabcdefghijkl.mrap"


@dataclass
class Account:
    """An account's id and root key pair, and the key pairs of its identities by name."""

    id: str
    root: Credentials
    keys: dict = field(default_factory=dict)


class TwoAccounts:
    """`a` owns the bucket `own`, `b` the bucket `theirs`; each has an object `k`, a user `u` and a role `r` that `u` may
    assume."""

    def __init__(self, region, a, b):
        self.region, self.a, self.b = region, a, b

    def words(self, text):
        """Ids in the place of <A>, <B>, <canonical A> and <canonical B>."""
        for letter, account in (("A", self.a), ("B", self.b)):
            text = text.replace(f"<{letter}>", account.id).replace(f"<canonical {letter}>", canonical_id(account.id))
        return text

    async def prepare(self):
        for account, bucket in ((self.a, "own"), (self.b, "theirs")):
            await self.must("PUT", f"/{bucket}", who=account.root)
            await self.must("PUT", f"/{bucket}/k", b"content", who=account.root)
            await self.must("DELETE", f"/{bucket}?publicAccessBlock", who=account.root)
            await self.query(account, "CreateUser", UserName="u")
            account.keys["u"] = await self._key(account)
            trust = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"AWS": f"arn:aws:iam::{account.id}:user/u"}, "Action": "sts:AssumeRole"}]}
            await self.query(account, "CreateRole", RoleName="r", AssumeRolePolicyDocument=json.dumps(trust))

    async def _key(self, account):
        result = await self.query(account, "CreateAccessKey", UserName="u")
        return Credentials(between(result, "AccessKeyId"), between(result, "SecretAccessKey"))

    async def query(self, account, action, *, who=None, service="iam", **members):
        status, result = await self.ask_form(action, who=who or account.root, service=service, **members)
        assert status == 200, result
        return result

    async def ask_form(self, action, *, who, service="iam", headers=None, **members):
        version = "2011-06-15" if service == "sts" else "2010-05-08"
        form = urlencode({"Action": action, "Version": version, **members}).encode()
        answer = await self.region.ask("POST", "/", form, {"content-type": "application/x-www-form-urlencoded", **(headers or {})}, service=service, who=who)
        return answer.status, await text(answer)

    async def grant(self, account, name, statements):
        """An inline policy of a user (u) or role (r)."""
        kind = "User" if name == "u" else "Role"
        await self.query(account, f"Put{kind}Policy", **{f"{kind}Name": name, "PolicyName": "p", "PolicyDocument": self.document(statements)})

    async def bound(self, account, statements):
        result = await self.query(account, "CreatePolicy", PolicyName="boundary", PolicyDocument=self.document(statements))
        await self.query(account, "PutUserPermissionsBoundary", UserName="u", PermissionsBoundary=between(result, "Arn"))

    async def protect(self, account, bucket, statements):
        body = self.document(statements).encode()
        answer = await self.region.ask("PUT", f"/{bucket}?policy", body, {"content-md5": md5(body)}, who=account.root)
        assert answer.status == 204, await text(answer)

    def document(self, statements):
        return self.words(json.dumps({"Version": "2012-10-17", "Statement": list(statements)}))

    async def session(self, account, policy=None):
        """u in the role r."""
        more = {"Policy": self.document(policy)} if policy else {}
        result = await self.query(account, "AssumeRole", who=account.keys["u"], service="sts", RoleArn=f"arn:aws:iam::{account.id}:role/r", RoleSessionName="session", **more)
        return Credentials(between(result, "AccessKeyId"), between(result, "SecretAccessKey"), between(result, "SessionToken"))

    async def must(self, method, target, body=b"", **more):
        answer = await self.region.ask(method, target, body, **more)
        assert answer.status in (200, 204), await text(answer)
        return answer

    async def caller(self, who, policy=None):
        """Of "B u", "B root", "B role", "A u" and so on: the key pair; None for "nobody"."""
        if who == "nobody":
            return None
        letter, name = who.split()
        account = self.a if letter == "A" else self.b
        if name == "root":
            return account.root
        return account.keys["u"] if name == "u" else await self.session(account, policy)

    async def outcome(self, who, method, target, body=b"", headers=None):
        """Status, and the code of a refusal."""
        headers = {name: self.words(value) for name, value in (headers or {}).items()}
        if who is None:
            request = Request(method, target, {"host": "127.0.0.1", "content-length": str(len(body)), **headers}, Body.of(body))
            answer = await self.region.handler(request)
        else:
            answer = await self.region.ask(method, target, body, headers, who=who)
        result = await text(answer)
        return answer.status, between(result, "Code")

    async def point(self, owner, *, policy=None):
        """An access point over `own`, as the entry hands it on once it has been made."""
        members = {self.region.name: "own"}
        record = MrapRecord(
            account=owner.id, name="p", alias=ALIAS, created_ms=1, status="READY", block=PublicAccess(), members=members, owners={self.region.name: self.a.id}, traffic_dials={self.region.name: 100},
            established=PolicyText(self.document(policy), 1) if policy else None,
        )  # fmt: skip

        def put(change):
            change.put(MRAPS, mrap_key(owner.id, "p"), record)
            change.put(ALIASES, ALIAS, AliasRecord(mrap_key(owner.id, "p")))

        await self.region.state.transact(put)

    async def through(self, owner, who, method="GET", target="/k"):
        """A request that came through the access point, as the entry vouches for it."""
        arn = f"arn:aws:s3::{owner.id}:accesspoint/{ALIAS}"
        forwarded = ForwardedContext("127.0.0.1", True, caller=who, access_point=arn, access_point_account=owner.id, bucket="own")
        answer = await self.region.handler(Request(method, target, {"host": f"{ALIAS}.accesspoint.s3-global.amazonaws.com"}, Body.of(b""), forwarded=forwarded))
        return answer.status, between(await text(answer), "Code")

    def known(self, credentials):
        """The caller behind a key pair, as an entry finds it."""
        identities = Identities(self.region.state, os.urandom)
        return identities.key(credentials.access_key, credentials.token, self.region.clock.now()).caller

    def known_role(self, account):
        """The role r as S3 takes it on for replication."""
        role = Identities(self.region.state, os.urandom).role(f"arn:aws:iam::{account.id}:role/r")
        arn = f"arn:aws:sts::{account.id}:assumed-role/r/s3-replication"
        return Caller("role", account.id, arn, f"{role.id}:s3-replication", "r", role_arn=role.arn)


@asynccontextmanager
async def two_accounts():
    async with memory_region() as region:
        second = await create_account(region.state, "second", random_bytes=os.urandom, now=region.clock.now())
        world = TwoAccounts(region, Account(region.account, region.root), Account(second.account, Credentials(second.access_key, second.secret)))
        await world.prepare()
        yield world


def between(document, name):
    return document.partition(f"<{name}>")[2].partition(f"</{name}>")[0]


async def text(response):
    return b"".join([piece async for piece in response.body]).decode()


def md5(body):
    return base64.b64encode(hashlib.md5(body).digest()).decode()


def copy_of(bucket, key="k"):
    return {"x-amz-copy-source": quote(f"{bucket}/{key}")}
