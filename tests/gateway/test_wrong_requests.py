"""Requests that AWS refuses, with AWS's answer, through a whole region: cases S53 to S56, and the bypass of governance."""

import asyncio
import hashlib
import json
import re
from base64 import b64encode
from urllib.parse import urlencode

import pytest

from atoll.rules.sigv4 import Credentials
from atoll.testing import memory_region


def told_of(body: bytes) -> dict[str, str]:
    return dict(re.findall(r"<(Code|Message|Detail|ArgumentName|ArgumentValue)>([^<]*)</", body.decode()))


async def output(region, method, target, body=b"", headers=None, **more):
    summed = {"content-md5": b64encode(hashlib.md5(body, usedforsecurity=False).digest()).decode()} if body else {}
    response = await region.ask(method, target, body, {**summed, **(headers or {})}, **more)
    return response.status, await response.body.read_small(100_000)


async def refused(region, method, target, body=b"", headers=None):
    status, text = await output(region, method, target, body, headers)
    assert status == 400
    return told_of(text)


def at(compat):
    """An async test on a region with the bucket bkt."""

    def tell(scenario):
        async def whole():
            async with memory_region(compat=compat) as region:
                assert (await output(region, "PUT", "/bkt"))[0] == 200
                await scenario(region)

        def test():
            asyncio.run(whole())

        test.__name__ = scenario.__name__
        return test

    return tell


@pytest.mark.parametrize(
    ("query", "argument", "value"),
    [
        ("versions&key-marker=k&version-id-marker=invalid", "version-id-marker", "invalid"),
        ("uploads&key-marker=k&upload-id-marker=whatever", "upload-id-marker", "whatever"),
    ],
)
def test_a_marker_that_is_no_id_is_named(query, argument, value):  # cases/s3.md, S53
    @at("strict")
    async def scenario(region):
        found = await refused(region, "GET", f"/bkt?{query}")
        assert (found["Code"], found["ArgumentName"], found["ArgumentValue"]) == ("InvalidArgument", argument, value)

    scenario()


STATEMENT = {"Effect": "Deny", "Principal": "*", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::bkt/*"}
INVALID, MISMATCH = "Policy has invalid resource", "Conditions do not apply to combination of actions and resources in statement"


@pytest.mark.parametrize(
    ("changed", "message", "detail"),
    [
        ({"Resource": "*"}, INVALID, "*"),  # cases/s3.md, S54
        ({"Resource": "arn:aws:s3:::*"}, INVALID, "arn:aws:s3:::*"),
        ({"Condition": {"StringEquals": {"s3:prefix": "a"}}}, MISMATCH, "s3:prefix"),  # cases/s3.md, S55
        ({"Action": "s3:PutObject", "Condition": {"NumericEquals": {"s3:max-keys": 5}}}, MISMATCH, "s3:max-keys"),
        (
            {"Action": "s3:ListBucket", "Resource": "arn:aws:s3:::bkt", "Condition": {"StringEquals": {"s3:x-amz-acl": "private"}}},
            MISMATCH,
            "s3:x-amz-acl",
        ),
    ],
)
def test_a_bucket_policy_that_cannot_mean_what_it_says_is_malformed(changed, message, detail):
    @at("lenient")
    async def scenario(region):
        body = json.dumps({"Version": "2012-10-17", "Statement": [{**STATEMENT, **changed}]}).encode()
        found = await refused(region, "PUT", "/bkt?policy", body)
        assert (found["Code"], found["Message"], found["Detail"]) == ("MalformedPolicy", message, detail)

    scenario()


BYPASS = {"x-amz-bypass-governance-retention": "true"}
KEYS = b"<Delete><Object><Key>k</Key></Object></Delete>"


@at("strict")
async def test_a_bypass_of_governance_is_refused_without_object_lock(region):
    await output(region, "PUT", "/bkt/k", b"x")
    for method, target, body in (("DELETE", "/bkt/k", b""), ("POST", "/bkt?delete", KEYS)):
        found = await refused(region, method, target, body, BYPASS)
        assert found["Code"] == "InvalidArgument"
        assert found["Message"] == "x-amz-bypass-governance-retention is only applicable to Object Lock enabled buckets."
    assert (await output(region, "GET", "/bkt/k"))[0] == 200


@at("lenient")
async def test_a_bypass_of_governance_does_nothing_where_compat_is_lenient(region):
    await output(region, "PUT", "/bkt/k", b"x")
    assert (await output(region, "POST", "/bkt?delete", KEYS, BYPASS))[0] == 200
    assert (await output(region, "GET", "/bkt/k"))[0] == 404
    assert (await output(region, "DELETE", "/bkt/k", b"", BYPASS))[0] == 204


async def iam(region, **form):
    kind = {"content-type": "application/x-www-form-urlencoded"}
    status, body = await output(region, "POST", "/", urlencode({"Version": "2010-05-08", **form}).encode(), kind, service="iam")
    assert status == 200, body
    return dict(re.findall(r"<(AccessKeyId|SecretAccessKey)>([^<]*)</", body.decode()))


async def user(region, name):
    """A user who may do everything in S3, as far as its own account is concerned."""
    await iam(region, Action="CreateUser", UserName=name)
    everything = json.dumps({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}})
    await iam(region, Action="PutUserPolicy", UserName=name, PolicyName="p", PolicyDocument=everything)
    key = await iam(region, Action="CreateAccessKey", UserName=name)
    return Credentials(key["AccessKeyId"], key["SecretAccessKey"])


@at("lenient")
async def test_a_deny_for_all_but_bob_and_the_root_denies_every_other_user(region):  # cases/s3.md, S56
    bob, star = await user(region, "bob"), await user(region, "star")
    spared = [f"arn:aws:iam::{region.account}:user/bob", f"arn:aws:iam::{region.account}:root"]
    statement = {"Effect": "Deny", "NotPrincipal": {"AWS": spared}, "Action": "s3:GetObject", "Resource": "arn:aws:s3:::bkt/*"}
    body = json.dumps({"Version": "2012-10-17", "Statement": [statement]}).encode()
    await output(region, "PUT", "/bkt/k", b"x")
    before = (await output(region, "GET", "/bkt/k", who=star))[0]
    put = await output(region, "PUT", "/bkt?policy", body)
    after = [(await output(region, "GET", "/bkt/k", who=who))[0] for who in (None, bob, star)]
    assert (before, put[0], after) == (200, 204, [200, 200, 403])
