"""What is an account's own: names, identities, buckets, roles it lends and hands on, and what the logs say of it."""

import asyncio
import hashlib
import json
from urllib.parse import quote

import botocore.session
import pytest

from accounts import between, md5, text, two_accounts
from atoll.domain.caller import ForwardedContext
from atoll.domain.http_message import Body, Request
from atoll.domain.objects import Key, ObjectMetadata, Stamp
from atoll.rules import replica_request as form
from atoll.rules.access_control_lists import canonical_id
from atoll.services.s3.operations import OPERATIONS as S3
from atoll.services.s3control.operations import OPERATIONS as S3CONTROL
from promises.test_unprivileged import asked

MODEL = botocore.session.get_session().get_service_model("s3")
POLICY = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:*","Resource":"*"}]}'


def result(scenario):
    """What a story of two accounts comes to."""

    async def whole():
        async with two_accounts() as world:
            return await scenario(world)

    return asyncio.run(whole())


def test_each_account_has_an_id_a_canonical_user_and_buckets_of_its_own():
    async def scenario(world):
        shown = {}
        for account in (world.a, world.b):
            listed = await text(await world.must("GET", "/", who=account.root))
            identity = await world.query(account, "GetCallerIdentity", service="sts")
            shown[account.id] = (between(listed, "ID"), between(listed, "Name"), between(identity, "Account"), between(identity, "Arn"))
        return shown, world.a.id, world.b.id

    shown, a, b = result(scenario)
    assert a != b
    assert shown == {
        a: (canonical_id(a), "own", a, f"arn:aws:iam::{a}:root"),
        b: (canonical_id(b), "theirs", b, f"arn:aws:iam::{b}:root"),
    }


def test_two_accounts_have_users_roles_policies_and_keys_of_the_same_names_and_do_not_see_each_others():
    async def scenario(world):
        for account in (world.a, world.b):
            await world.query(account, "CreatePolicy", PolicyName="p", PolicyDocument=POLICY)
            await world.query(account, "AttachUserPolicy", UserName="u", PolicyArn=f"arn:aws:iam::{account.id}:policy/p")
        await world.query(world.b, "DeleteAccessKey", UserName="u", AccessKeyId=world.b.keys["u"].access_key)
        arns = [between(await world.query(account, f"Get{kind}", **{f"{kind}Name": name}), "Arn") for account in (world.a, world.b) for kind, name in (("User", "u"), ("Role", "r"))]
        counts = [(await world.query(account, action)).count("<member>") for account in (world.a, world.b) for action in ("ListUsers", "ListRoles")]
        policies = [(await world.query(account, "ListPolicies", Scope="Local")).count("<member>") for account in (world.a, world.b)]
        keys = [(await world.query(account, "ListAccessKeys", UserName="u")).count("<member>") for account in (world.a, world.b)]
        reads = [await world.outcome(world.a.keys["u"], "GET", "/own/k"), await world.outcome(world.b.keys["u"], "GET", "/theirs/k")]
        return arns, counts, policies, keys, reads, world.a.id, world.b.id

    arns, counts, policies, keys, reads, a, b = result(scenario)
    assert arns == [f"arn:aws:iam::{account}:{rest}" for account in (a, b) for rest in ("user/u", "role/r")]
    assert (counts, policies, keys) == ([1, 1, 1, 1], [1, 1], [1, 0])
    assert reads == [(200, ""), (403, "InvalidAccessKeyId")]


def test_a_policy_of_another_account_can_be_neither_read_nor_attached():
    async def scenario(world):
        await world.query(world.a, "CreatePolicy", PolicyName="p", PolicyDocument=POLICY)
        arn = f"arn:aws:iam::{world.a.id}:policy/p"
        calls = (("GetPolicy", {}), ("DeletePolicy", {}), ("AttachUserPolicy", {"UserName": "u"}), ("PutUserPermissionsBoundary", {"UserName": "u"}))
        outcomes = []
        for action, more in calls:
            member = "PermissionsBoundary" if "Boundary" in action else "PolicyArn"
            status, text = await world.ask_form(action, who=world.b.root, **{member: arn}, **more)
            outcomes.append((status, between(text, "Code")))
        return outcomes

    assert result(scenario) == [(403, "AccessDenied"), (403, "AccessDenied"), (404, "NoSuchEntity"), (404, "NoSuchEntity")]


def test_a_bucket_policy_names_only_those_who_are_there_in_whichever_account():
    async def scenario(world):
        outcomes = []
        for principal in ("<B>", "arn:aws:iam::<B>:user/u", "arn:aws:iam::<B>:role/r", "arn:aws:iam::<B>:user/ghost", "arn:aws:iam::<A>:role/ghost"):
            body = world.document([{"Effect": "Allow", "Principal": {"AWS": principal}, "Action": "s3:GetObject", "Resource": "arn:aws:s3:::own/*"}]).encode()
            answer = await world.region.ask("PUT", "/own?policy", body, {"content-md5": md5(body)})
            outcomes.append((answer.status, between(await text(answer), "Code")))
        return outcomes

    assert result(scenario) == [(204, "")] * 3 + [(400, "MalformedPolicy")] * 2


# -- roles that are lent: IAM user guide, "Cross-account access using roles", "How to grant access to a third party"

ROOT, USER, ROLE = "arn:aws:iam::<B>:root", "arn:aws:iam::<B>:user/u", "arn:aws:iam::<B>:role/r"
MAY = {"Effect": "Allow", "Action": "sts:AssumeRole", "Resource": "arn:aws:iam::<A>:role/lent"}
ELSEWHERE = MAY | {"Resource": "arn:aws:iam::<A>:role/other"}
EXTERNAL = {"Condition": {"StringEquals": {"sts:ExternalId": "open-sesame"}}}
TRUST = [
    # whom the role of A trusts, what u (and r) of B may, who asks, with which external id, does she get it
    (ROOT, (), {}, "B u", "", False),
    (ROOT, (MAY,), {}, "B u", "", True),
    ("<B>", (MAY,), {}, "B u", "", True),
    (USER, (), {}, "B u", "", False),  # in one account the trust would do
    (USER, (MAY,), {}, "B u", "", True),
    (USER, (ELSEWHERE,), {}, "B u", "", False),
    (ROLE, (MAY,), {}, "B u", "", False),
    (ROLE, (MAY,), {}, "B role", "", True),
    (ROLE, (), {}, "B role", "", False),
    ("arn:aws:iam::<A>:root", (MAY,), {}, "B u", "", False),
    (USER, (MAY, MAY | {"Effect": "Deny"}), {}, "B u", "", False),
    (ROOT, (MAY,), {}, "B root", "", False),  # the root user of an account assumes no role
    (ROOT, (MAY,), EXTERNAL, "B u", "", False),
    (ROOT, (MAY,), EXTERNAL, "B u", "open-sesame", True),
    (ROOT, (MAY,), {"Condition": {"StringEquals": {"aws:PrincipalAccount": "<B>"}}}, "B u", "", True),
    (ROOT, (MAY | {"Condition": {"StringEquals": {"aws:ResourceAccount": "<A>"}}},), {}, "B u", "", True),
    (ROOT, (MAY | {"Condition": {"StringEquals": {"aws:ResourceAccount": "<B>"}}},), {}, "B u", "", False),
]  # fmt: skip


@pytest.mark.parametrize(("principal", "identity", "condition", "who", "external", "gets"), TRUST)
def test_a_role_is_lent_to_another_account_when_both_sides_say_so(principal, identity, condition, who, external, gets):
    async def scenario(world):
        trust = {"Effect": "Allow", "Principal": {"AWS": principal}, "Action": "sts:AssumeRole", **condition}
        await world.query(world.a, "CreateRole", RoleName="lent", AssumeRolePolicyDocument=world.document([trust]))
        for name in ("u", "r") if identity else ():
            await world.grant(world.b, name, identity)
        caller = await world.caller(who)
        more = {"ExternalId": external} if external else {}
        status, text = await world.ask_form("AssumeRole", who=caller, service="sts", RoleArn=f"arn:aws:iam::{world.a.id}:role/lent", RoleSessionName="guest", **more)
        return status == 200, between(text, "Arn"), world.a.id

    allowed, arn, lender = result(scenario)
    assert (allowed, arn) == ((True, f"arn:aws:sts::{lender}:assumed-role/lent/guest") if gets else (False, ""))


def test_whoever_has_a_role_of_another_account_acts_as_that_account():
    async def scenario(world):
        trust = {"Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::<B>:user/u"}, "Action": "sts:AssumeRole"}
        await world.query(world.a, "CreateRole", RoleName="r2", AssumeRolePolicyDocument=world.document([trust]))
        await world.query(world.a, "PutRolePolicy", RoleName="r2", PolicyName="p", PolicyDocument=POLICY)
        await world.grant(world.b, "u", [MAY | {"Resource": "*"}])
        found = await world.query(world.b, "AssumeRole", who=world.b.keys["u"], service="sts", RoleArn=f"arn:aws:iam::{world.a.id}:role/r2", RoleSessionName="guest")
        guest = type(world.b.root)(between(found, "AccessKeyId"), between(found, "SecretAccessKey"), between(found, "SessionToken"))
        made = await world.must("PUT", "/made-by-guest", who=guest)
        owners = [between(await text(await world.must("GET", f"/{bucket}?acl", who=world.a.root)), "ID") for bucket in ("own", "made-by-guest")]
        return made.status, owners, await world.outcome(guest, "GET", "/own/k"), await world.outcome(guest, "GET", "/theirs/k"), canonical_id(world.a.id)

    status, owners, mine, theirs, lender = result(scenario)
    assert (status, owners, mine, theirs) == (200, [lender, lender], (200, ""), (403, "AccessDenied"))


# -- roles that are handed on: IAM user guide, "Grant a user permissions to pass a role to an AWS service"

PASS = {"Effect": "Allow", "Action": "iam:PassRole", "Resource": "arn:aws:iam::<A>:role/r"}
CONFIGURE = {"Effect": "Allow", "Action": "s3:PutReplicationConfiguration", "Resource": "*"}
TO_S3 = {"Condition": {"StringEquals": {"iam:PassedToService": "s3.amazonaws.com"}}}
TO_LAMBDA = {"Condition": {"StringEquals": {"iam:PassedToService": "lambda.amazonaws.com"}}}
HANDING = [
    # what u of A may, who asks, which role, what comes of it
    ((CONFIGURE,), "A u", "<A>:role/r", (403, "AccessDenied")),
    ((CONFIGURE, PASS), "A u", "<A>:role/r", (200, "")),
    ((CONFIGURE, PASS | TO_S3), "A u", "<A>:role/r", (200, "")),
    ((CONFIGURE, PASS | TO_LAMBDA), "A u", "<A>:role/r", (403, "AccessDenied")),
    ((CONFIGURE, PASS | {"Resource": "arn:aws:iam::<A>:role/x*"}), "A u", "<A>:role/r", (403, "AccessDenied")),
    ((CONFIGURE, PASS | {"Resource": "*"}), "A u", "<B>:role/r", (403, "AccessDenied")),
    ((), "A root", "<A>:role/r", (200, "")),
    ((), "A root", "<B>:role/r", (403, "AccessDenied")),
    ((), "B root", "<B>:role/r", (403, "AccessDenied")),  # hers to hand on, but the bucket is A's
    ((), "B root", "<A>:role/r", (403, "AccessDenied")),
]  # fmt: skip


@pytest.mark.parametrize(("identity", "who", "role", "expected"), HANDING)
def test_a_role_is_handed_to_s3_by_who_may_pass_it_and_only_one_of_the_buckets_account(identity, who, role, expected):
    async def scenario(world):
        for bucket, account in (("own", world.a), ("theirs", world.b)):
            body = b"<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>"
            await world.must("PUT", f"/{bucket}?versioning", body, headers={"content-md5": md5(body)}, who=account.root)
        if identity:
            await world.grant(world.a, "u", identity)
        await world.protect(world.a, "own", [CONFIGURE | {"Resource": "arn:aws:s3:::own", "Principal": {"AWS": "<B>"}}])
        body = world.words(REPLICATION.format(role=role)).encode()
        return await world.outcome(await world.caller(who), "PUT", "/own?replication", body, {"content-md5": md5(body)})

    assert result(scenario) == expected


REPLICATION = """<ReplicationConfiguration><Role>arn:aws:iam::{role}</Role><Rule><Status>Enabled</Status><Prefix></Prefix>
<Destination><Bucket>arn:aws:s3:::theirs</Bucket><Account><B></Account></Destination></Rule></ReplicationConfiguration>"""


# -- copies that come from another account: S3 user guide, "Changing the replica owner"

COPY = {"Effect": "Allow", "Action": ["s3:ReplicateObject"], "Resource": "arn:aws:s3:::theirs/*"}
OVERRIDING = COPY | {"Action": ["s3:ReplicateObject", "s3:ObjectOwnerOverrideToBucketOwner"]}
FROM_A = {"Principal": {"AWS": "arn:aws:iam::<A>:role/r"}}
ARRIVALS = [
    # what the role of A may, what B's bucket policy lets it, is the owner overridden, are lists off, outcome, whose it is
    ((COPY,), (), False, True, 403, ""),
    ((), (COPY | FROM_A,), False, True, 403, ""),
    ((COPY,), (COPY | FROM_A,), False, True, 200, "B"),  # where lists are off, everything is the bucket owner's
    ((COPY,), (COPY | FROM_A,), False, False, 200, "A"),
    ((COPY,), (COPY | FROM_A,), True, False, 403, ""),
    ((OVERRIDING,), (COPY | FROM_A,), True, False, 403, ""),
    ((COPY,), (OVERRIDING | FROM_A,), True, False, 403, ""),
    ((OVERRIDING,), (OVERRIDING | FROM_A,), True, False, 200, "B"),
]  # fmt: skip


@pytest.mark.parametrize(("identity", "bucket", "override", "enforced", "status", "owner"), ARRIVALS)
def test_a_copy_into_another_accounts_bucket_needs_both_sides_and_belongs_to_its_source_unless_overridden(identity, bucket, override, enforced, status, owner):
    async def scenario(world):
        body = b"<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>"
        await world.must("PUT", "/theirs?versioning", body, headers={"content-md5": md5(body)}, who=world.b.root)
        if not enforced:
            await world.must("DELETE", "/theirs?ownershipControls", who=world.b.root)
        if identity:
            await world.grant(world.a, "r", identity)
        if bucket:
            await world.protect(world.b, "theirs", bucket)
        answer = await world.region.handler(arriving(world, override=override))
        stored = await world.region.store.head(Key("theirs", "copy"), VERSION)
        acl = between(await text(await world.region.ask("GET", "/theirs/copy?acl", who=world.b.root)), "ID") if owner == "B" else ""
        read = await world.outcome(world.b.root, "GET", "/theirs/copy")
        return answer.status, stored.owner if stored else "", acl, read, {"A": world.a.id, "B": world.b.id, "": ""}

    got, stored, acl, read, ids = result(scenario)
    assert (got, stored) == (status, ids[owner])
    assert not acl or acl == canonical_id(ids["B"])
    assert read == {"A": (403, "AccessDenied"), "B": (200, ""), "": (404, "NoSuchKey")}[owner]


VERSION = "v" * 32


def arriving(world, *, override):
    metadata = ObjectMetadata(version=VERSION, size=5, etag=hashlib.md5(b"hello").hexdigest(), modified_ms=1000, stamp=Stamp(1000, "eu-central-1", VERSION), owner=world.a.id)
    headers, body = form.encode_replica(metadata, Body.of(b"hello"))
    role = world.known_role(world.a)
    forwarded = ForwardedContext("127.0.0.1", secure=True, caller=role, replica=True)
    return Request("PUT", form.target("theirs", "copy"), headers | ({form.OWNER: "destination"} if override else {}), body, forwarded=forwarded)


# -- what a stranger finds shut


@pytest.mark.parametrize("operation", sorted(name for name in S3 if "ExpectedBucketOwner" in MODEL.operation_model(name).input_shape.members))
def test_every_operation_that_is_told_whose_bucket_it_expects_refuses_another_ones(operation):
    async def scenario(world):
        request = asked("s3", operation)
        target = request.target.replace("/bkt", "/own")
        headers = {name: value for name, value in request.headers.items() if name not in ("host", "content-length")}
        if "x-amz-copy-source" in headers:
            headers["x-amz-copy-source"] = quote("own/k")
        return await world.outcome(world.a.root, request.method, target, request.body.small or b"", headers | {"x-amz-expected-bucket-owner": world.b.id})

    status, code = result(scenario)
    assert (status, operation.startswith("Head") or code == "AccessDenied") == (403, True)


STRANGERS = [("s3", name) for name in sorted(S3) if name not in ("ListBuckets", "CreateBucket", "DeleteObjects")] + [("s3control", name) for name in sorted(S3CONTROL)]


@pytest.mark.parametrize(("service", "operation"), STRANGERS)
def test_the_root_user_of_another_account_may_nothing_with_what_is_not_hers(service, operation):
    async def scenario(world):
        request = asked(service, operation)
        target = request.target.replace("/bkt", "/own")
        headers = {name: value for name, value in request.headers.items() if name not in ("host", "content-length")}
        if "x-amz-copy-source" in headers:
            headers["x-amz-copy-source"] = quote("own/k")
        if service == "s3control":
            headers["x-amz-account-id"] = world.a.id
        before = world.region.state.version
        answer = await world.region.ask(request.method, target, request.body.small or b"", headers, who=world.b.root)
        return answer.status, between(await text(answer), "Code"), world.region.state.version == before

    status, code, untouched = result(scenario)
    assert (status, operation.startswith("Head") or code == "AccessDenied", untouched) == (403, True, True)


# -- the public-access block of an account


def test_an_accounts_public_access_block_is_put_shown_and_deleted_by_its_own():
    async def scenario(world):
        block = b"<PublicAccessBlockConfiguration><BlockPublicPolicy>true</BlockPublicPolicy></PublicAccessBlockConfiguration>"
        path, mine = "/v20180820/configuration/publicAccessBlock", {"x-amz-account-id": world.a.id}
        outcomes = []
        for method, body, who in (("GET", b"", "a"), ("PUT", block, "b"), ("PUT", block, "a"), ("GET", b"", "a")):
            answer = await world.region.ask(method, path, body, mine, who=getattr(world, who).root)
            said = await text(answer)
            outcomes.append((answer.status, between(said, "Code") or between(said, "BlockPublicPolicy")))
        public = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::own/*"}]}).encode()
        outcomes.append(await world.outcome(world.a.root, "PUT", "/own?policy", public, {"content-md5": md5(public)}))
        outcomes.append(((await world.region.ask("DELETE", path, b"", mine)).status, ""))
        outcomes.append(await world.outcome(world.a.root, "PUT", "/own?policy", public, {"content-md5": md5(public)}))
        return outcomes

    assert result(scenario) == [
        (404, "NoSuchPublicAccessBlockConfiguration"), (403, "AccessDenied"), (200, ""), (200, "true"),
        (403, "AccessDenied"), (200, ""), (204, ""),
    ]  # fmt: skip
