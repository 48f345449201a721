"""What do two accounts let each other do? Each row cites AWS's rule; all of it goes through signature, routing and `authorize`.

`own` and `own/k` are account A's, `theirs` and `theirs/k` account B's; each account has a user u and a role r.
"""

import asyncio
from dataclasses import dataclass, field

import pytest

from accounts import two_accounts
from atoll.rules.policy.public_access import PublicAccess
from atoll.services.s3control.records import ACCOUNT_BLOCKS, AccountBlockRecord

# Where each rule stands. IAM user guide:
LOGIC = "IAM: Cross-account policy evaluation logic"
SAME = "IAM: Policy evaluation for requests within a single account"
DENY = "IAM: The difference between explicit and implicit denies"
PRINCIPAL = "IAM: AWS JSON policy elements: Principal"
NOT_PRINCIPAL = "IAM: AWS JSON policy elements: NotPrincipal"
BOUNDARY = "IAM: Permissions boundaries for IAM entities"
SESSION = "IAM: Session policies"
KEYS = "IAM: AWS global condition context keys"
# S3 user guide and API:
WALK = "S3: Example 2: Bucket owner granting cross-account bucket permissions"
COPY = "S3 API: CopyObject, Permissions"
OPERATIONS = "S3: Required permissions for Amazon S3 API operations"
POLICY = "S3 API: PutBucketPolicy: the caller belongs to the bucket owner's account"
OWNER = "S3: Verifying bucket ownership with bucket owner condition"
PUBLIC = "S3: Blocking public access to your Amazon S3 storage"
NAMES = "S3: General purpose bucket naming rules: unique across all accounts of a partition"
MRAP = "S3: Multi-Region Access Points: Permissions"

GET = ("GET", "/own/k")
OK, DENIED = (200, ""), (403, "AccessDenied")


def allow(action, resource, principal=None, **condition):
    return _statement("Allow", action, resource, principal, condition)


def deny(action, resource, principal=None, **condition):
    return _statement("Deny", action, resource, principal, condition)


def _statement(effect, action, resource, principal, condition):
    found = {"Effect": effect, "Action": action, "Resource": resource}
    if principal is not None:
        found["Principal"] = principal if principal == "*" else {"AWS": principal} if isinstance(principal, str) else principal
    return found | ({"Condition": condition} if condition else {})


ROOT, USER, ROLE = "arn:aws:iam::<B>:root", "arn:aws:iam::<B>:user/u", "arn:aws:iam::<B>:role/r"
IN_ROLE = "arn:aws:sts::<B>:assumed-role/r/session"
OBJECTS, BUCKET, THEIRS = "arn:aws:s3:::own/*", "arn:aws:s3:::own", "arn:aws:s3:::theirs/*"
READ = allow("s3:GetObject", OBJECTS)


@dataclass(frozen=True)
class Row:
    rule: str
    who: str
    ask: tuple
    expected: tuple
    bucket: tuple = ()  # statements of own's policy
    identity: tuple = ()  # statements of u's and of r's policy in B
    boundary: tuple = ()
    session: tuple = ()
    headers: dict = field(default_factory=dict)
    body: bytes = b""


def reading(principal):
    return (allow("s3:GetObject", OBJECTS, principal),)


ROWS = [
    # the root user of another account: her own side allows everything, so the owner's side decides
    Row(LOGIC, "B root", GET, DENIED),
    Row(WALK, "B root", GET, OK, reading(ROOT)),
    Row(PRINCIPAL, "B root", GET, OK, reading("<B>")),
    Row(PRINCIPAL, "B root", GET, OK, reading({"CanonicalUser": "<canonical B>"})),
    Row(PRINCIPAL, "B root", GET, OK, reading("*")),
    Row(PRINCIPAL, "B root", GET, DENIED, reading(USER)),
    Row(PRINCIPAL, "B root", GET, DENIED, reading("arn:aws:iam::<A>:root")),
    Row(WALK, "B root", ("PUT", "/own/new"), DENIED, reading(ROOT), body=b"x"),
    Row(DENY, "B root", GET, DENIED, (*reading(ROOT), deny("s3:GetObject", OBJECTS, ROOT))),
    Row(DENY, "B root", GET, DENIED, (*reading(ROOT), deny("s3:*", OBJECTS, "*", StringNotEquals={"aws:PrincipalAccount": "<A>"}))),
    # a user of another account: both sides
    Row(LOGIC, "B u", GET, DENIED),
    Row(LOGIC, "B u", GET, DENIED, identity=(READ,)),
    Row(LOGIC, "B u", GET, DENIED, reading(USER)),
    Row(LOGIC, "B u", GET, OK, reading(USER), (READ,)),
    Row(WALK, "B u", GET, DENIED, reading(ROOT)),
    Row(WALK, "B u", GET, OK, reading(ROOT), (READ,)),
    Row(PRINCIPAL, "B u", GET, DENIED, reading("*")),
    Row(PRINCIPAL, "B u", GET, OK, reading("*"), (READ,)),
    Row(PRINCIPAL, "B u", GET, OK, reading({"CanonicalUser": "<canonical B>"}), (READ,)),
    Row(PRINCIPAL, "B u", GET, DENIED, reading(ROLE), (READ,)),
    Row(PRINCIPAL, "B u", GET, DENIED, reading("arn:aws:iam::<A>:user/u"), (READ,)),
    Row(DENY, "B u", GET, DENIED, reading(USER), (READ, deny("s3:GetObject", "*"))),
    Row(DENY, "B u", GET, DENIED, (*reading(ROOT), deny("s3:GetObject", OBJECTS, USER)), (READ,)),
    Row(LOGIC, "B u", GET, DENIED, reading(USER), (allow("s3:GetObject", "arn:aws:s3:::own/other"),)),
    Row(LOGIC, "B u", GET, DENIED, (allow("s3:GetObject", "arn:aws:s3:::own/other", USER),), (READ,)),
    Row(LOGIC, "B u", GET, DENIED, (allow("s3:PutObject", OBJECTS, USER),), (allow("s3:*", "*"),)),
    # in the owner's account one side is enough, whatever the other account was given
    Row(SAME, "A root", GET, OK, reading(ROOT)),
    Row(SAME, "A u", GET, DENIED, reading(ROOT)),
    Row(SAME, "A u", GET, OK, reading("arn:aws:iam::<A>:user/u")),
    Row(SAME, "A u", GET, DENIED, reading("arn:aws:iam::<A>:root")),
    # roles and sessions
    Row(LOGIC, "B role", GET, DENIED, reading(ROLE)),
    Row(LOGIC, "B role", GET, DENIED, identity=(READ,)),
    Row(LOGIC, "B role", GET, OK, reading(ROLE), (READ,)),
    Row(PRINCIPAL, "B role", GET, OK, reading(IN_ROLE), (READ,)),
    Row(LOGIC, "B role", GET, DENIED, reading(IN_ROLE)),
    Row(WALK, "B role", GET, OK, reading(ROOT), (READ,)),
    Row(PRINCIPAL, "B role", GET, DENIED, reading(USER), (READ,)),
    Row(SESSION, "B role", GET, DENIED, reading(ROLE), (READ,), session=(allow("s3:PutObject", "*"),)),
    Row(SESSION, "B role", GET, OK, reading(ROLE), (allow("s3:*", "*"),), session=(READ,)),
    Row(SESSION, "B role", GET, DENIED, reading(ROLE), session=(READ,)),
    # boundaries cap the caller's side
    Row(BOUNDARY, "B u", GET, DENIED, reading(USER), (READ,), boundary=(allow("s3:PutObject", "*"),)),
    Row(BOUNDARY, "B u", GET, OK, reading(USER), (READ,), boundary=(allow("s3:Get*", "*"),)),
    Row(BOUNDARY, "B u", GET, DENIED, reading(USER), boundary=(allow("s3:*", "*"),)),
    # NotPrincipal
    Row(NOT_PRINCIPAL, "B u", GET, OK, (*reading(ROOT), {**deny("s3:GetObject", OBJECTS), "NotPrincipal": {"AWS": [USER, ROOT, "arn:aws:iam::<A>:root"]}}), (READ,)),
    Row(NOT_PRINCIPAL, "B role", GET, DENIED, (*reading(ROOT), {**deny("s3:GetObject", OBJECTS), "NotPrincipal": {"AWS": [USER, "arn:aws:iam::<A>:root"]}}), (READ,)),
    # what conditions see of the two accounts
    Row(KEYS, "B root", GET, OK, (allow("s3:GetObject", OBJECTS, "*", StringEquals={"aws:PrincipalAccount": "<B>"}),)),
    Row(KEYS, "B root", GET, DENIED, (allow("s3:GetObject", OBJECTS, "*", StringEquals={"aws:PrincipalAccount": "<A>"}),)),
    Row(KEYS, "B u", GET, OK, (allow("s3:GetObject", OBJECTS, "*", ArnLike={"aws:PrincipalArn": "arn:aws:iam::<B>:user/*"}),), (READ,)),
    Row(KEYS, "B role", GET, OK, (allow("s3:GetObject", OBJECTS, "*", ArnEquals={"aws:PrincipalArn": ROLE}),), (READ,)),
    Row(KEYS, "B u", GET, OK, reading(USER), (allow("s3:*", "*", StringEquals={"aws:ResourceAccount": "<A>"}),)),
    Row(KEYS, "B u", GET, DENIED, reading(USER), (allow("s3:*", "*", StringEquals={"aws:ResourceAccount": "<B>"}),)),
    Row(KEYS, "B u", GET, DENIED, reading(USER), (READ, deny("s3:*", "*", StringNotEquals={"s3:ResourceAccount": "<B>"}))),
    Row(KEYS, "B u", GET, OK, (allow("s3:GetObject", OBJECTS, USER, StringEquals={"aws:username": "u"}),), (READ,)),
    # nobody at all
    Row(PRINCIPAL, "nobody", GET, DENIED, reading(ROOT)),
    Row(PRINCIPAL, "nobody", GET, OK, reading("*")),
    Row(PRINCIPAL, "nobody", GET, DENIED, reading({"CanonicalUser": "<canonical B>"})),
    # other actions
    Row(OPERATIONS, "B u", ("PUT", "/own/new"), OK, (allow("s3:PutObject", OBJECTS, USER),), (allow("s3:PutObject", OBJECTS),), body=b"x"),
    Row(OPERATIONS, "B u", ("PUT", "/own/new"), DENIED, (allow("s3:PutObject", OBJECTS, USER),), (READ,), body=b"x"),
    Row(OPERATIONS, "B u", ("DELETE", "/own/k"), (204, ""), (allow("s3:DeleteObject", OBJECTS, USER),), (allow("s3:DeleteObject", OBJECTS),)),
    Row(OPERATIONS, "B u", ("DELETE", "/own/k"), DENIED, (allow("s3:GetObject", OBJECTS, USER),), (allow("s3:*", "*"),)),
    Row(OPERATIONS, "B u", ("GET", "/own?list-type=2"), DENIED, (allow("s3:ListBucket", OBJECTS, USER) | {"Action": ["s3:GetObject"]},), (allow("s3:*", "*"),)),
    Row(OPERATIONS, "B u", ("GET", "/own?list-type=2"), OK, (allow("s3:ListBucket", BUCKET, USER),), (allow("s3:ListBucket", BUCKET),)),
    Row(OPERATIONS, "B u", ("GET", "/own/missing"), (404, "NoSuchKey"), (*reading(USER), allow("s3:ListBucket", BUCKET, USER)), (allow("s3:*", "*"),)),
    Row(OPERATIONS, "B u", ("GET", "/own/missing"), DENIED, reading(USER), (allow("s3:*", "*"),)),
    Row(OPERATIONS, "B root", ("GET", "/own?versioning"), DENIED, reading(ROOT)),
    Row(OPERATIONS, "B root", ("GET", "/own?versioning"), OK, (allow("s3:GetBucketVersioning", BUCKET, ROOT),)),
    Row(OPERATIONS, "B root", ("DELETE", "/own"), DENIED, (allow("s3:*", OBJECTS, ROOT),)),
    # a bucket's policy is its owner's account's alone
    Row(POLICY, "B root", ("GET", "/own?policy"), DENIED, reading(ROOT)),
    Row(POLICY, "B root", ("GET", "/own?policy"), (405, "MethodNotAllowed"), (allow("s3:*", [BUCKET, OBJECTS], ROOT),)),
    Row(POLICY, "B u", ("DELETE", "/own?policy"), (405, "MethodNotAllowed"), (allow("s3:*", [BUCKET, OBJECTS], USER),), (allow("s3:*", "*"),)),
    Row(POLICY, "A root", ("GET", "/own?policy"), OK, (deny("s3:*", [BUCKET, OBJECTS], "*"),)),
    # copies read on one side and write on the other
    Row(COPY, "B root", ("PUT", "/theirs/copy"), DENIED, headers={"x-amz-copy-source": "own/k"}),
    Row(COPY, "B root", ("PUT", "/theirs/copy"), OK, reading(ROOT), headers={"x-amz-copy-source": "own/k"}),
    Row(COPY, "B u", ("PUT", "/theirs/copy"), DENIED, reading(USER), (allow("s3:PutObject", THEIRS),), headers={"x-amz-copy-source": "own/k"}),
    Row(COPY, "B u", ("PUT", "/theirs/copy"), OK, reading(USER), (allow("s3:PutObject", THEIRS), READ), headers={"x-amz-copy-source": "own/k"}),
    Row(COPY, "B root", ("PUT", "/own/copy"), DENIED, reading(ROOT), headers={"x-amz-copy-source": "theirs/k"}),
    Row(COPY, "B root", ("PUT", "/own/copy"), OK, (allow("s3:PutObject", OBJECTS, ROOT),), headers={"x-amz-copy-source": "theirs/k"}),
    # whose bucket did you mean?
    Row(OWNER, "B root", GET, OK, reading(ROOT), headers={"x-amz-expected-bucket-owner": "<A>"}),
    Row(OWNER, "B root", GET, DENIED, reading(ROOT), headers={"x-amz-expected-bucket-owner": "<B>"}),
    Row(OWNER, "A root", GET, DENIED, headers={"x-amz-expected-bucket-owner": "<B>"}),
    Row(OWNER, "A root", GET, (400, "InvalidBucketOwnerAWSAccountID"), headers={"x-amz-expected-bucket-owner": "me"}),
    Row(OWNER, "B root", ("PUT", "/theirs/copy"), OK, reading(ROOT), headers={"x-amz-copy-source": "own/k", "x-amz-source-expected-bucket-owner": "<A>", "x-amz-expected-bucket-owner": "<B>"}),
    Row(OWNER, "B root", ("PUT", "/theirs/copy"), DENIED, reading(ROOT), headers={"x-amz-copy-source": "own/k", "x-amz-source-expected-bucket-owner": "<B>"}),
    Row(OWNER, "B root", ("PUT", "/theirs/copy"), DENIED, reading(ROOT), headers={"x-amz-copy-source": "own/k", "x-amz-expected-bucket-owner": "<A>"}),
    # names
    Row(NAMES, "B root", ("PUT", "/own"), (409, "BucketAlreadyExists")),
    Row(NAMES, "B root", ("PUT", "/own"), (409, "BucketAlreadyExists"), (allow("s3:*", [BUCKET, OBJECTS], ROOT),)),
    Row(NAMES, "B u", ("PUT", "/own"), DENIED, (allow("s3:*", [BUCKET, OBJECTS], USER),)),
    Row(NAMES, "B u", ("PUT", "/own"), (409, "BucketAlreadyExists"), identity=(allow("s3:CreateBucket", "*"),)),
    Row(NAMES, "B root", ("PUT", "/theirs"), OK),
    Row(NAMES, "B root", ("GET", "/no-such-bucket"), (404, "NoSuchBucket")),
]  # fmt: skip


async def outcome(row):
    async with two_accounts() as world:
        if row.bucket:
            await world.protect(world.a, "own", row.bucket)
        if row.identity:
            await world.grant(world.b, "u", row.identity)
            await world.grant(world.b, "r", row.identity)
        if row.boundary:
            await world.bound(world.b, row.boundary)
        who = await world.caller(row.who, row.session)
        return await world.outcome(who, *row.ask, row.body, row.headers)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.who}, {row.ask[0]} {row.ask[1]}: {row.expected[1] or 'allowed'}")
def test_what_one_account_lets_another_do_is_what_aws_lets_it_do(row):
    assert asyncio.run(outcome(row)) == row.expected, row.rule


def test_there_are_rows_enough_and_each_cites_its_rule():
    assert len(ROWS) >= 60
    assert all(row.rule.startswith(("IAM", "S3")) for row in ROWS)


# -- public access blocks count together


BLOCKS = [
    # rule, block of the account, who asks, what comes of it
    (PUBLIC, None, "nobody", OK),
    (PUBLIC, PublicAccess(restrict_public_buckets=True), "nobody", DENIED),
    (PUBLIC, PublicAccess(restrict_public_buckets=True), "B root", DENIED),
    (PUBLIC, PublicAccess(restrict_public_buckets=True), "A root", OK),
    (PUBLIC, PublicAccess(block_public_policy=True), "nobody", OK),  # it stops policies from being put, not from counting
]


@pytest.mark.parametrize(("rule", "block", "who", "expected"), BLOCKS)
def test_the_block_of_the_account_counts_beside_the_one_of_the_bucket(rule, block, who, expected):
    async def scenario():
        async with two_accounts() as world:
            await world.protect(world.a, "own", reading("*"))
            if block is not None:
                await world.region.state.transact(lambda change: change.put(ACCOUNT_BLOCKS, world.a.id, AccountBlockRecord(block)))
            return await world.outcome(await world.caller(who), *GET)

    assert asyncio.run(scenario()) == expected, rule


def test_the_block_of_one_account_is_no_other_accounts():
    async def scenario():
        async with two_accounts() as world:
            await world.protect(world.a, "own", reading("*"))
            block = AccountBlockRecord(PublicAccess(restrict_public_buckets=True))
            await world.region.state.transact(lambda change: change.put(ACCOUNT_BLOCKS, world.b.id, block))
            return await world.outcome(None, *GET)

    assert asyncio.run(scenario()) == OK


# -- access points: the point's owner, the bucket's owner and the caller


POINT = "arn:aws:s3::<{}>:accesspoint/mabcdefghijkl.mrap"


def through(owner, principal):
    return (allow("s3:GetObject", f"{POINT.format(owner)}/object/*", principal),)


POINTS = [
    # rule, the point's owner, its policy, own's policy, u's policy, who asks, what comes of it
    (MRAP, "A", (), (), (), "A root", OK),
    (MRAP, "A", (), (), (), "B root", DENIED),
    (MRAP, "A", through("A", ROOT), (), (), "B root", DENIED),
    (MRAP, "A", (), reading(ROOT), (), "B root", DENIED),
    (MRAP, "A", through("A", ROOT), reading(ROOT), (), "B root", OK),
    (MRAP, "A", through("A", USER), reading(USER), (READ,), "B u", DENIED),
    (MRAP, "A", through("A", USER), reading(USER), (allow("s3:GetObject", [OBJECTS, f"{POINT.format('A')}/object/*"]),), "B u", OK),
    (MRAP, "B", (), (), (), "B root", DENIED),  # the bucket belongs to another: its policy must allow
    (MRAP, "B", (), reading(ROOT), (), "B root", OK),
    (MRAP, "B", (), (allow("s3:GetObject", OBJECTS, "*", StringEquals={"s3:DataAccessPointAccount": "<B>"}),), (), "B root", OK),
    (MRAP, "B", (), (allow("s3:GetObject", OBJECTS, "*", StringEquals={"s3:DataAccessPointAccount": "<A>"}),), (), "B root", DENIED),
    (MRAP, "B", (), (), (), "A root", DENIED),  # the point belongs to another: its policy must allow
    (MRAP, "B", through("B", "arn:aws:iam::<A>:root"), (), (), "A root", OK),
    (MRAP, "B", (deny("s3:GetObject", f"{POINT.format('B')}/object/*", "*"),), reading(ROOT), (), "B root", DENIED),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "owner", "policy", "bucket", "identity", "who", "expected"), POINTS)
def test_an_access_point_its_bucket_and_the_caller_may_belong_to_different_accounts(rule, owner, policy, bucket, identity, who, expected):
    async def scenario():
        async with two_accounts() as world:
            holder = world.a if owner == "A" else world.b
            await world.point(holder, policy=policy)
            if bucket:
                await world.protect(world.a, "own", bucket)
            if identity:
                await world.grant(world.b, "u", identity)
            return await world.through(holder, world.known(await world.caller(who)))

    assert asyncio.run(scenario()) == expected, rule


def test_an_access_point_does_not_lead_into_a_bucket_that_another_account_made_under_the_same_name():
    async def scenario():
        async with two_accounts() as world:
            await world.point(world.b)
            await world.must("DELETE", "/own/k", who=world.a.root)
            await world.must("DELETE", "/own", who=world.a.root)
            await world.must("PUT", "/own", who=world.b.root)
            await world.must("PUT", "/own/k", b"bait", who=world.b.root)
            return await world.through(world.b, world.known(world.b.root))

    assert asyncio.run(scenario()) == (404, "NoSuchBucket")
