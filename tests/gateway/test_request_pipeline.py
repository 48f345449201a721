import base64
import hashlib
import json
import os
import re
from dataclasses import replace
from datetime import UTC, datetime
from urllib.parse import quote

import pytest

from atoll.aws_protocols.codec import codec
from atoll.domain.caller import Authentication, Caller, ForwardedContext
from atoll.domain.errors import Incomplete
from atoll.domain.http_message import Body, Request
from atoll.domain.objects import Key, ObjectMetadata, Stamp
from atoll.gateway.authorize import Authorization
from atoll.gateway.service_time_emulation import PathServiceTime, ServiceTimeSettings
from atoll.rules import canonical_request, presigned_url, replica_request, sigv4
from atoll.rules.sigv4 import Credentials
from atoll.services.iam.accounts import create_account
from atoll.services.iam.operations import OPERATIONS as IAM
from atoll.services.iam.records import USERS
from atoll.services.s3.records import BUCKETS, BucketRecord
from gateway.pipeline_setup import PLAIN, between, code, protection, signed, statement, text
from s3world import slowly

ACCOUNT = "111122223333"
POINT = f"arn:aws:s3::{ACCOUNT}:accesspoint/mabc.mrap"
ROOT = Caller("root", ACCOUNT, f"arn:aws:iam::{ACCOUNT}:root")
FORM_SAMPLES = {
    "UserName": "ada", "RoleName": "r", "PolicyName": "p", "PolicyArn": "arn:aws:iam::aws:policy/AdministratorAccess", "PolicyDocument": "%7B%7D",
    "AssumeRolePolicyDocument": "%7B%7D", "AccessKeyId": "AKIAXXXXXXXXXXXXXXXX", "Status": "Inactive", "VersionId": "v1",
    "PermissionsBoundary": "arn:aws:iam::aws:policy/AdministratorAccess",
}  # fmt: skip
FORM = {"content-type": "application/x-www-form-urlencoded"}


async def with_object(region, body=b"hello"):
    await region.ask("PUT", "/bkt")
    assert (await region.ask("PUT", "/bkt/k", body)).status == 200


# -- names and signatures


def test_path_style_and_virtual_host_reach_the_same_object(scenario):
    async def steps(region):
        await with_object(region)
        for host, target in ((PLAIN, "/bkt/k"), ("bkt.s3.us-east-1.amazonaws.com", "/k"), ("s3.us-east-1.amazonaws.com", "/bkt/k"), ("bkt.localhost:4566", "/k")):
            response = await region.ask("GET", target, host=host)
            assert (response.status, await text(response)) == (200, "hello")

    scenario(steps)


def test_s3_iam_and_sts_answer_in_their_own_form(scenario):
    async def steps(region):
        s3 = await region.ask("GET", "/no-such-bucket")
        iam = await region.query("Action=GetUser&Version=2010-05-08&UserName=nobody")
        sts = await region.query("Action=AssumeRole&Version=2011-06-15&RoleArn=x", "sts")
        assert (await text(s3)).startswith('<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>NoSuchBucket</Code>')
        assert '<ErrorResponse xmlns="https://iam.amazonaws.com/doc/2010-05-08/">' in await text(iam)
        assert '<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">' in await text(sts)

    scenario(steps)


def test_a_service_that_is_not_built_is_refused_by_its_name(scenario):
    async def steps(region):
        response = await region.ask("POST", "/", host="lambda.us-east-1.amazonaws.com", service="lambda")
        assert response.status == 501
        assert "lambda" in await text(response)

    scenario(steps)


def test_an_operation_that_is_not_built_is_refused_by_its_name(scenario):
    async def steps(region):
        await with_object(region)
        response = await region.ask("PUT", "/bkt?logging", b"<BucketLoggingStatus/>")
        assert await code(response) == (501, "NotImplemented")
        assert "PutBucketLogging" in region.events()[-1]["message"]

    scenario(steps)


def test_an_operation_of_the_query_protocol_that_is_not_built_is_refused_by_its_name(scenario):
    async def steps(region):
        response = await region.query("Action=CreateGroup&Version=2010-05-08&GroupName=g")
        assert response.status == 501
        assert "CreateGroup" in await text(response)

    scenario(steps)


def test_a_parameter_that_the_operation_does_not_take_is_refused_by_its_name(scenario):
    async def steps(region):
        await with_object(region)
        response = await region.ask("GET", "/bkt/k", headers={"x-amz-server-side-encryption-customer-algorithm": "AES256"})
        assert response.status == 501
        assert "SSECustomerAlgorithm of GetObject" in await text(response)

    scenario(steps)


def test_a_parameter_of_the_query_protocol_that_is_not_taken_is_refused_by_its_name(scenario):
    async def steps(region):
        response = await region.query("Action=GetSessionToken&Version=2011-06-15&SerialNumber=m", "sts")
        assert response.status == 501
        assert "SerialNumber of GetSessionToken" in await text(response)

    scenario(steps)


def test_a_scope_of_another_region_is_malformed_and_the_right_one_is_told(scenario):
    async def steps(region):
        await with_object(region)
        response = await region.ask("GET", "/bkt/k", region="eu-west-1")
        steps = await text(response)
        assert (response.status, between(steps, "Code"), between(steps, "Region")) == (400, "AuthorizationHeaderMalformed", "us-east-1")

    scenario(steps)


def test_a_bucket_that_lives_elsewhere_is_a_redirect_that_says_where(scenario):
    async def steps(region):
        await region.world.state.transact(lambda transaction: transaction.put(BUCKETS, "far", BucketRecord(name="far", region="eu-west-1", account=ACCOUNT, created_ms=1)))
        response = await region.ask("GET", "/far/k")
        steps = await text(response)
        assert (response.status, response.headers["x-amz-bucket-region"]) == (301, "eu-west-1")
        assert (between(steps, "Code"), between(steps, "Endpoint")) == ("PermanentRedirect", "far.s3.eu-west-1.amazonaws.com")

    scenario(steps)


def test_a_presigned_url_reads_until_it_expires(scenario):
    async def steps(region):
        await with_object(region)
        target = presigned_url.presign(Request("GET", "/bkt/k", {"host": PLAIN}), region.root, region="us-east-1", now=region.clock.now(), expires_s=60)
        assert await text(await region.ask("GET", target, how="")) == "hello"
        assert await code(await region.ask("GET", target.replace("/k", "/other"), how="")) == (403, "SignatureDoesNotMatch")
        region.clock.seconds += 61
        assert await code(await region.ask("GET", target, how="")) == (403, "AccessDenied")

    scenario(steps)


def test_nobody_may_not_even_look_unless_a_policy_lets_all_in(scenario):
    async def steps(region):
        await with_object(region)
        region.policies.buckets["bkt"] = protection()
        assert await code(await region.ask("GET", "/bkt/k", how="")) == (403, "AccessDenied")
        region.policies.buckets["bkt"] = protection(statement("Allow", "s3:GetObject", "arn:aws:s3:::bkt/*"))
        assert (await region.ask("GET", "/bkt/k", how="")).status == 200

    scenario(steps)


# -- bodies


def test_what_the_body_says_is_checked_after_the_right_to_send_it(scenario):
    async def steps(region):
        await with_object(region)
        region.policies.buckets["bkt"] = protection()
        ada = await region.user("ada")
        wrong = {"content-md5": base64.b64encode(b"0" * 16).decode()}
        assert await code(await region.ask("PUT", "/bkt/k", b"other", headers=wrong, by=ada)) == (403, "AccessDenied")
        assert await code(await region.ask("PUT", "/bkt/k", b"other", headers=wrong)) == (400, "BadDigest")
        assert await text(await region.ask("GET", "/bkt/k")) == "hello"

    scenario(steps)


def test_a_stream_whose_sum_is_wrong_leaves_no_trace(scenario):
    async def steps(region):
        await with_object(region)
        wrong = {"content-md5": base64.b64encode(b"0" * 16).decode(), "content-length": "5"}
        response = await region.ask("PUT", "/bkt/new", slowly(b"he", b"llo"), headers=wrong, payload="UNSIGNED-PAYLOAD")
        assert await code(response) == (400, "BadDigest")
        assert (await region.ask("HEAD", "/bkt/new")).status == 404

    scenario(steps)


def test_a_body_that_is_not_the_signed_one_is_refused(scenario):
    async def steps(region):
        await with_object(region)
        response = await region.ask("PUT", "/bkt/k", b"other", payload="0" * 64)
        assert await code(response) == (400, "XAmzContentSHA256Mismatch")

    scenario(steps)


def test_a_write_without_a_length_is_refused(scenario):
    async def steps(region):
        await with_object(region)
        assert await code(await region.ask("PUT", "/bkt/k", slowly(b"x"), payload="UNSIGNED-PAYLOAD")) == (411, "MissingContentLength")

    scenario(steps)


def test_a_document_that_is_too_large_is_refused(scenario):
    async def steps(region):
        await with_object(region)
        response = await region.ask("PUT", "/bkt?tagging", b"<Tagging>" + b" " * (3 * 1024 * 1024))
        assert await code(response) == (400, "MaxMessageLengthExceeded")

    scenario(steps)


def test_head_has_the_length_of_get_and_no_body(scenario):
    async def steps(region):
        await with_object(region)
        response = await region.ask("HEAD", "/bkt/k")
        assert (response.status, response.headers["content-length"], response.body.length) == (200, "5", 0)
        missing = await region.ask("HEAD", "/bkt/none")
        assert (missing.status, missing.body.length) == (404, 0)

    scenario(steps)


def test_every_answer_has_its_request_id(scenario):
    async def steps(region):
        await with_object(region)
        good, bad = await region.ask("GET", "/bkt/k"), await region.ask("GET", "/bkt/none")
        assert good.headers["x-amz-request-id"] != bad.headers["x-amz-request-id"]
        assert between(await text(bad), "RequestId") == bad.headers["x-amz-request-id"]
        assert [event["request_id"] for event in region.events()[-2:]] == [good.headers["x-amz-request-id"], bad.headers["x-amz-request-id"]]

    scenario(steps)


# -- the log


def test_a_refusal_is_logged_with_the_statement_that_decided(scenario):
    async def steps(region):
        await with_object(region)
        region.policies.buckets["bkt"] = protection(statement("Deny", "s3:GetObject", "arn:aws:s3:::bkt/k"), source="bucket policy of bkt")
        ada = await region.user("ada", {"Effect": "Allow", "Action": "s3:*", "Resource": "*"})
        assert (await region.ask("GET", "/bkt/k", by=ada)).status == 403
        event = region.events()[-1]
        assert (event["operation"], event["bucket"], event["key"], event["status"], event["error"]) == ("GetObject", "bkt", "k", 403, "AccessDenied")
        assert event["caller"] == f"arn:aws:iam::{ACCOUNT}:user/ada"
        (decided,) = event["decided"]
        assert (decided["outcome"], decided["statement"]) == ("ExplicitlyDenied", 'bucket policy of bkt, statement "DenyIt"')

    scenario(steps)


def test_no_secret_and_no_token_is_ever_in_the_log(scenario):
    async def steps(region):
        await with_object(region)
        ada = await region.user("ada", {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"})
        steps = await text(await region.query("Action=GetSessionToken&Version=2011-06-15", "sts", by=ada))
        lent = Credentials(between(steps, "AccessKeyId"), between(steps, "SecretAccessKey"), between(steps, "SessionToken"))
        assert (await region.ask("GET", "/bkt/k", by=lent)).status == 200
        assert (await region.ask("PUT", "/bkt/k", b"no", by=lent)).status == 403
        assert (await region.ask("GET", "/bkt/k", by=replace(lent, secret="wrong"))).status == 403
        assert (await region.ask("GET", "/bkt/k", by=replace(lent, token=lent.token[:-8] + "AAAAAAA="))).status == 400
        target = presigned_url.presign(Request("GET", "/bkt/k", {"host": PLAIN}), lent, region="us-east-1", now=region.clock.now(), expires_s=60)
        assert (await region.ask("GET", target, how="")).status == 200
        region.events()
        log = region.log.read_text()
        assert len(log.splitlines()) > 8
        for secret in (region.root.secret, ada.secret, lent.secret, lent.token, lent.token[:40]):
            assert secret not in log

    scenario(steps)


def test_an_error_of_our_own_is_logged_with_its_trace_and_the_client_learns_nothing(scenario):
    async def steps(region):
        await with_object(region)

        async def broken(call, **members):
            raise ZeroDivisionError("the secret sauce")

        part = region.gateway.services["s3"]
        region.gateway.services = {**region.gateway.services, "s3": replace(part, operations={**part.operations, "GetObject": broken})}
        response = await region.ask("GET", "/bkt/k")
        steps = await text(response)
        assert (response.status, between(steps, "Code")) == (500, "InternalError")
        assert "sauce" not in steps
        assert "ZeroDivisionError: the secret sauce" in region.events()[-1]["trace"]

    scenario(steps)


def test_requests_and_bytes_are_counted(scenario):
    async def steps(region):
        await with_object(region)
        await region.ask("GET", "/bkt/k")
        page = region.metrics.text().decode()
        assert 'atoll_requests_total{operation="GetObject",process="us-east-1",service="s3",status="200"} 1.0' in page
        assert 'atoll_bytes_total{direction="in",process="us-east-1"} 5.0' in page

    scenario(steps)


# -- what another process vouches for


def forwarded(**more):
    return ForwardedContext("192.0.2.9", True, place="tokyo", request_id="E1", **more)


def test_a_caller_that_the_entry_vouches_for_needs_no_signature(scenario):
    async def steps(region):
        await with_object(region)
        vouched = forwarded(caller=ROOT, authentication=Authentication("REST-HEADER", "AWS4-ECDSA-P256-SHA256"), access_point=POINT, access_point_account=ACCOUNT, bucket="bkt")
        region.policies.buckets["bkt"], region.policies.mraps[POINT] = protection(), protection()
        response = await region.ask("GET", "/k", how="", forwarded=vouched, host="mabc.mrap.accesspoint.s3-global.amazonaws.com")
        assert await text(response) == "hello"
        event = region.events()[-1]
        assert (event["place"], event["entry_request_id"], event["access_point"], event["bucket"]) == ("tokyo", "E1", POINT, "bkt")

    scenario(steps)


def test_the_region_judges_the_original_caller_by_its_own_policies(scenario):
    async def steps(region):
        await with_object(region)
        region.policies.buckets["bkt"], region.policies.mraps[POINT] = protection(), protection()
        vouched = forwarded(caller=Caller("user", ACCOUNT, "arn", "AIDX", "nobody"), access_point=POINT, access_point_account=ACCOUNT, bucket="bkt")
        assert await code(await region.ask("GET", "/k", how="", forwarded=vouched)) == (403, "AccessDenied")

    scenario(steps)


def test_an_access_point_takes_only_what_access_points_take(scenario):
    async def steps(region):
        await with_object(region)
        vouched = forwarded(caller=ROOT, access_point=POINT, access_point_account=ACCOUNT, bucket="bkt")
        assert await code(await region.ask("GET", "/?policy", how="", forwarded=vouched)) == (405, "MethodNotAllowed")

    scenario(steps)


def test_an_envelope_without_a_caller_does_not_replace_the_signature(scenario):
    async def steps(region):
        await with_object(region)
        region.policies.buckets["bkt"] = protection()
        assert await code(await region.ask("GET", "/bkt/k", how="", forwarded=forwarded())) == (403, "AccessDenied")
        assert (await region.ask("GET", "/bkt/k", forwarded=forwarded())).status == 200

    scenario(steps)


def test_a_replica_comes_in_under_an_envelope_only(scenario):
    async def steps(region):
        await with_object(region)
        sender = forwarded(caller=ROOT, replica=True)
        metadata = ObjectMetadata(version="v1", size=5, etag="5d41402abc4b2a76b9719d911017c592", stamp=Stamp(1, "eu-west-1", "v1"), modified_ms=1)
        headers, body = replica_request.encode_replica(metadata, Body.of(b"hello"))
        response = await region.ask("PUT", "/bkt/r", body, how="", forwarded=sender, headers=headers)
        assert response.status == 200
        stored = await region.world.store.head(Key("bkt", "r"))
        assert (stored.version, stored.replica) == ("v1", True)
        assert region.events()[-1]["operation"] == "ReplicateObject"

    scenario(steps)


# -- tags in conditions, and the pace


async def tag(region, value):
    document = b"<Tagging><TagSet><Tag><Key>open</Key><Value>" + value + b"</Value></Tag></TagSet></Tagging>"
    sums = {"content-md5": base64.b64encode(hashlib.md5(document).digest()).decode()}
    assert (await region.ask("PUT", "/bkt/k?tagging", document, headers=sums)).status == 200


def test_tags_are_read_only_when_a_policy_can_ask_for_them(scenario):
    async def steps(region):
        await with_object(region)
        await tag(region, b"yes")
        region.policies.buckets["bkt"] = protection()
        plain = await region.user("plain", {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"})
        await region.ask("GET", "/bkt/k", by=plain)
        assert region.policies.tag_reads == 0
        asks = {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*", "Condition": {"StringEquals": {"s3:ExistingObjectTag/open": "yes"}}}
        careful = await region.user("careful", asks)
        assert (await region.ask("GET", "/bkt/k", by=careful)).status == 200
        await tag(region, b"no")
        assert (await region.ask("GET", "/bkt/k", by=careful)).status == 403
        assert region.policies.tag_reads == 2

    scenario(steps)


def test_a_read_in_profile_aws_takes_as_long_as_was_drawn(scenario):
    async def steps(region):
        await with_object(region)
        region.service_time.set(ServiceTimeSettings({"single": PathServiceTime(3.0, 0.0, 0.0)}))
        before = region.clock.monotonic()
        await region.ask("GET", "/bkt/k", arrived=before)
        assert region.clock.monotonic() - before == pytest.approx(0.0200855, rel=1e-4)

    scenario(steps)


def test_what_a_stranger_calls_a_service_makes_no_series_of_metrics(scenario):
    async def steps(region):
        for number in range(3):
            assert (await region.ask("GET", "/b/k", service=f"made-up-{number}")).status == 501
            await region.ask("GET", "/", host=f"made-up-{number}-111122223333.s3-accesspoint.us-east-1.amazonaws.com", how="")
        assert "made-up" not in region.metrics.text().decode()

    scenario(steps)


# -- who may do what to whom in IAM

ANY_IAM = {"Effect": "Allow", "Action": "iam:*", "Resource": "*"}
ADMINISTRATORS = f"arn:aws:iam::{ACCOUNT}:user/admins/*"
ALL_POWER = "arn:aws:iam::aws:policy/AdministratorAccess"
VERSION = "Version=2010-05-08"


def test_a_policy_on_a_path_holds_for_who_is_named_without_it(scenario):
    async def steps(region):
        await region.query(f"Action=CreateUser&{VERSION}&UserName=boss&Path=/admins/")
        user = await region.user("clerk", ANY_IAM, {"Effect": "Deny", "Action": "iam:*", "Resource": ADMINISTRATORS})
        admin = await region.user("warden", {"Effect": "Allow", "Action": "iam:GetUser", "Resource": ADMINISTRATORS})
        assert await code(await region.query(f"Action=CreateAccessKey&{VERSION}&UserName=boss", by=user)) == (403, "AccessDenied")
        assert (await region.query(f"Action=GetUser&{VERSION}&UserName=boss", by=admin)).status == 200
        assert await code(await region.query(f"Action=GetUser&{VERSION}&UserName=clerk", by=admin)) == (403, "AccessDenied")

    scenario(steps)


def test_a_namesake_gives_a_new_user_no_other_path(scenario):
    async def steps(region):
        user = await region.user("clerk", {"Effect": "Allow", "Action": "iam:CreateUser", "Resource": f"arn:aws:iam::{ACCOUNT}:user/clerk"})
        assert await code(await region.query(f"Action=CreateUser&{VERSION}&UserName=clerk&Path=/admins/", by=user)) == (403, "AccessDenied")

    scenario(steps)


def test_a_policy_may_say_which_policies_are_not_for_giving(scenario):
    async def steps(region):
        deny = {"Effect": "Deny", "Action": "iam:AttachUserPolicy", "Resource": "*", "Condition": {"ArnEquals": {"iam:PolicyARN": ALL_POWER}}}
        user = await region.user("clerk", ANY_IAM, deny)
        attach = f"Action=AttachUserPolicy&{VERSION}&UserName=clerk&PolicyArn=arn:aws:iam::aws:policy/"
        assert await code(await region.query(attach + "AdministratorAccess", by=user)) == (403, "AccessDenied")
        assert (await region.query(attach + "AmazonS3ReadOnlyAccess", by=user)).status == 200

    scenario(steps)


def test_a_policy_may_ask_for_a_boundary_on_whom_it_is_used(scenario):
    async def steps(region):
        only_bounded = {"Effect": "Allow", "Action": "iam:*", "Resource": "*", "Condition": {"StringEquals": {"iam:PermissionsBoundary": ALL_POWER}}}
        user = await region.user("clerk", only_bounded)
        await region.user("free")
        assert (await region.query(f"Action=CreateUser&{VERSION}&UserName=bound&PermissionsBoundary={ALL_POWER}", by=user)).status == 200
        assert (await region.query(f"Action=CreateAccessKey&{VERSION}&UserName=bound", by=user)).status == 200
        assert await code(await region.query(f"Action=CreateAccessKey&{VERSION}&UserName=free", by=user)) == (403, "AccessDenied")
        assert await code(await region.query(f"Action=CreateUser&{VERSION}&UserName=more", by=user)) == (403, "AccessDenied")

    scenario(steps)


def test_a_role_may_be_handed_to_s3_alone(scenario):
    async def steps(region):
        role, outcome = f"arn:aws:iam::{ACCOUNT}:role/copier", {}
        for name, service in (("ann", "s3.amazonaws.com"), ("bob", "lambda.amazonaws.com")):
            given = {"StringEquals": {"iam:PassedToService": service}}
            await region.user(name, {"Effect": "Allow", "Action": "iam:PassRole", "Resource": "*", "Condition": given})
            caller = Caller("user", ACCOUNT, f"arn:aws:iam::{ACCOUNT}:user/{name}", region.world.state.get(USERS, name).id, name)
            authorization = Authorization(region.policies, Request("PUT", "/", {}), caller, Authentication(), 0.0, "us-east-1", "PutBucketReplication", {})
            outcome[name] = authorization.may("iam:PassRole", role)
        assert outcome == {"ann": True, "bob": False}

    scenario(steps)


def test_a_body_that_its_sender_cuts_short_is_the_senders_fault_and_leaves_no_trace(scenario):
    async def cut():
        yield b"hel"
        raise Incomplete("The client stopped sending inside a body.")

    async def steps(region):
        await region.ask("PUT", "/bkt")
        response = await region.ask("PUT", "/bkt/k", Body(cut(), 5), payload="UNSIGNED-PAYLOAD")
        assert await code(response) == (400, "IncompleteBody")
        assert (await region.ask("GET", "/bkt/k")).status == 404

    scenario(steps)


# -- control state that is a moment old


class Elsewhere:
    """Another region in which things were made that this one has not seen yet: its news arrive when they are looked for."""

    def __init__(self, region, news):
        self.news, self.looks = list(news), 0
        region.gateway.refresh = self

    def __call__(self):
        self.looks += 1
        return bool(self.news) and self.news.pop(0)()


def test_a_refusal_is_judged_once_more_when_there_was_newer_control_state(scenario):
    async def steps(region):
        await with_object(region)
        known, region.policies.identities.key = region.identities.key, lambda *_: None
        seen = Elsewhere(region, [lambda: setattr(region.identities, "key", known) is None])
        assert (await region.ask("GET", "/bkt/k")).status == 200
        assert seen.looks == 1

    scenario(steps)


def test_a_refusal_stands_when_there_is_nothing_newer(scenario):
    async def steps(region):
        await with_object(region)
        seen = Elsewhere(region, [])
        assert await code(await region.ask("GET", "/bkt/none")) == (404, "NoSuchKey")
        assert await code(await region.ask("GET", "/bkt/k", by=Credentials("AKIANOBODY", "s"))) == (403, "InvalidAccessKeyId")
        assert seen.looks == 2

    scenario(steps)


def test_a_body_that_was_read_is_not_asked_for_twice(scenario):
    async def steps(region):
        await with_object(region)
        seen = Elsewhere(region, [lambda: True])
        signed = {"x-amz-decoded-content-length": "5"}
        framed = slowly(b"5;chunk-signature=", b"0" * 64 + b"\r\nhello\r\n")
        output = await region.ask("PUT", "/bkt/k", framed, payload="STREAMING-AWS4-HMAC-SHA256-PAYLOAD", headers={**signed, "transfer-encoding": "chunked"})
        assert await code(output) == (403, "SignatureDoesNotMatch")
        assert seen.looks == 0

    scenario(steps)


def test_a_body_that_was_not_begun_is_judged_again_whether_it_is_here_or_still_comes(scenario):
    async def steps(region):
        await with_object(region)
        stranger = Credentials("AKIANOBODY", "s")
        for body in (Body(None, None, b"hello"), slowly(b"hel", b"lo")):
            seen = Elsewhere(region, [lambda: True])
            output = await region.ask("PUT", "/bkt/k", body, by=stranger, payload="UNSIGNED-PAYLOAD")
            assert await code(output) == (403, "InvalidAccessKeyId")
            assert seen.looks == 1

    scenario(steps)


def test_one_request_makes_one_line_of_log_however_often_it_is_judged(scenario):
    async def steps(region):
        await with_object(region)
        Elsewhere(region, [lambda: True])
        before = len(region.events())
        await region.ask("GET", "/bkt/none")
        assert len(region.events()) == before + 1

    scenario(steps)


# -- a raw plus, and the date (docs/decisions/0012)


def signed_as(region, meant, raw, *, method="GET", host=PLAIN, service="s3", by=None, body=b""):
    """A request for `raw` with the signature of `meant`."""
    length = {"content-length": str(len(body))} if body else {}
    request = signed(Request(method, meant, {"host": host, **length}, Body.of(body)), by or region.root, now=region.clock.now(), service=service)
    return Request(method, raw, request.headers, request.body)


async def keys(region, request):
    response = await region.gateway(request)
    assert response.status == 200
    return re.findall("<Key>(.*?)</Key>", await text(response))


@pytest.mark.parametrize("host", [PLAIN, "s3.us-east-1.amazonaws.com", "bkt.s3.us-east-1.amazonaws.com", "bkt.localhost:4566"])
def test_a_list_with_a_plus_in_its_prefix_finds_what_was_signed(scenario, host):
    async def steps(region):
        await region.ask("PUT", "/bkt")
        for key in ("a%2Bb", "a%20b"):
            await region.ask("PUT", f"/bkt/{key}", b"x")
        path = "/" if host.startswith("bkt.") else "/bkt"
        for meant, found in (("a%2Bb", "a+b"), ("a%20b", "a b")):
            for more in ("?prefix=", "?list-type=2&prefix=", "?versions&prefix="):
                assert await keys(region, signed_as(region, f"{path}{more}{meant}", f"{path}{more}a+b", host=host)) == [found]
                assert await keys(region, signed_as(region, f"{path}{more}{meant}", f"{path}{more}{meant}", host=host)) == [found]
            made = presigned_url.presign(Request("GET", f"{path}?prefix={meant}", {"host": host}), region.root, region="us-east-1", now=region.clock.now(), expires_s=60)
            assert await keys(region, Request("GET", made.replace(f"prefix={meant}", "prefix=a+b"), {"host": host})) == [found]

    scenario(steps)


def test_what_a_plus_was_signed_as_decides_also_whether_it_is_allowed(scenario):
    async def steps(region):
        await region.ask("PUT", "/bkt")
        ada = await region.user("ada", {"Effect": "Allow", "Action": "s3:ListBucket", "Resource": "*", "Condition": {"StringEquals": {"s3:prefix": "a b"}}})
        assert (await region.gateway(signed_as(region, "/bkt?prefix=a%20b", "/bkt?prefix=a+b", by=ada))).status == 200
        assert (await region.gateway(signed_as(region, "/bkt?prefix=a%2Bb", "/bkt?prefix=a+b", by=ada))).status == 403

    scenario(steps)


@pytest.mark.parametrize("compat", ["lenient", "strict"])
@pytest.mark.parametrize(("host", "path"), [(PLAIN, "/bkt/"), ("bkt.s3.us-east-1.amazonaws.com", "/")])
def test_a_plus_in_a_path_is_a_blank_and_in_a_lenient_world_what_was_signed(scenario, compat, host, path):
    async def steps(region):
        await region.ask("PUT", "/bkt")
        region.policies.buckets["bkt"] = protection(statement("Allow", "s3:GetObject", "arn:aws:s3:::bkt/*"))
        assert (await region.gateway(signed_as(region, f"{path}a%20%20b", f"{path}a++b", method="PUT", host=host, body=b"blanks"))).status == 200
        plus = await region.gateway(signed_as(region, f"{path}a%2B%2Bb", f"{path}a++b", method="PUT", host=host, body=b"pluses"))
        assert plus.status == (200 if compat == "lenient" else 403)
        assert await keys(region, signed_as(region, "/bkt", "/bkt")) == (["a  b", "a++b"] if compat == "lenient" else ["a  b"])
        assert await text(await region.gateway(Request("GET", f"{path}a++b", {"host": host}))) == "blanks"

    scenario(steps, compat=compat)


def test_a_plus_that_nobody_signed_is_a_blank(scenario):
    async def steps(region):
        await region.ask("PUT", "/bkt")
        region.policies.buckets["bkt"] = protection(statement("Allow", "s3:ListBucket", "arn:aws:s3:::bkt"))
        await region.ask("PUT", "/bkt/a%20b", b"x")
        assert await keys(region, Request("GET", "/bkt?prefix=a+b", {"host": PLAIN})) == ["a b"]

    scenario(steps)


@pytest.mark.parametrize(("meant", "name"), [("a%2Bb", "a+b"), ("a%20b", "a b")])
def test_a_plus_in_the_query_of_iam_is_executed_as_it_was_signed(scenario, meant, name):
    async def steps(region):
        assert (await region.query("Action=CreateUser&Version=2010-05-08&UserName=a%2Bb")).status == 200
        query = "/?Action=GetUser&Version=2010-05-08&UserName="
        output = await region.gateway(signed_as(region, query + meant, query + "a+b", service="iam"))
        assert output.status == (200 if name == "a+b" else 404)
        assert (await region.query("Action=GetUser&Version=2010-05-08&UserName=a+b")).status == 404  # a form, whose bytes are signed: a blank

    scenario(steps)


@pytest.mark.parametrize("service", ["s3", "iam"])
@pytest.mark.parametrize("form", ["Mon, %d %b %Y %H:%M:%S GMT", "%Y%m%dT%H%M%SZ"])
def test_a_signed_date_header_dates_a_request(scenario, form, service):
    async def steps(region):
        moment = datetime.fromtimestamp(region.clock.now(), UTC)
        stamp, digest = f"{moment:%Y%m%dT%H%M%SZ}", hashlib.sha256(b"").hexdigest()
        headers = {"date": moment.strftime(form), "host": PLAIN, "x-amz-content-sha256": digest}
        target = "/" if service == "s3" else "/?Action=ListUsers&Version=2010-05-08"
        names, scope = ";".join(headers), f"{stamp[:8]}/us-east-1/{service}/aws4_request"
        query = canonical_request.canonical_query(target.partition("?")[2])
        asked = canonical_request.canonical_request("GET", "/", query, headers=canonical_request.canonical_headers(headers, list(headers)), names=names, payload=digest)
        key = sigv4.signing_key(region.root.secret, stamp[:8], "us-east-1", service)
        made = sigv4.signature(key, canonical_request.string_to_sign(sigv4.ALGORITHM, stamp, scope, asked))
        line = sigv4.authorization(sigv4.ALGORITHM, region.root.access_key, scope, names, made)
        assert (await region.gateway(Request("GET", target, {**headers, "authorization": line}))).status == 200
        region.clock.seconds += 902
        assert (await region.gateway(Request("GET", target, {**headers, "authorization": line}))).status == 403

    scenario(steps)


# -- sessions


async def session(region, by):
    steps = await text(await region.query("Action=GetSessionToken&Version=2011-06-15", "sts", by=by))
    return Credentials(between(steps, "AccessKeyId"), between(steps, "SecretAccessKey"), between(steps, "SessionToken"))


@pytest.mark.parametrize("who", ["root", "user"])
def test_a_short_session_cannot_be_made_into_a_lasting_key(scenario, who):
    async def steps(region):
        trust = quote(json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"AWS": ACCOUNT}, "Action": "sts:AssumeRole"}]}))
        await region.query(f"Action=CreateRole&Version=2010-05-08&RoleName=r&AssumeRolePolicyDocument={trust}")
        ada = await region.user("ada", {"Effect": "Allow", "Action": "*", "Resource": "*"})
        lent = await session(region, "root" if who == "root" else ada)
        before = region.world.state.version
        for operation in IAM:
            form = f"Action={operation}&Version=2010-05-08&" + "&".join(f"{name}={value}" for name, value in FORM_SAMPLES.items() if name in codec("iam").members(operation))
            assert await code(await region.query(form, by=lent)) == (403, "AccessDenied")
        assert region.world.state.version == before
        assert await code(await region.query("Action=GetSessionToken&Version=2011-06-15", "sts", by=lent)) == (403, "AccessDenied")
        assert await code(await region.query("Action=GetFederationToken&Version=2011-06-15&Name=f", "sts", by=lent)) == (501, "NotImplemented")
        assert (await region.query("Action=GetCallerIdentity&Version=2011-06-15", "sts", by=lent)).status == 200
        assume = f"Action=AssumeRole&Version=2011-06-15&RoleArn=arn:aws:iam::{ACCOUNT}:role/r&RoleSessionName=ss"
        assert (await region.query(assume, "sts", by=lent)).status == (200 if who == "user" else 403)  # AWS: no role for the root user
        assert (await region.ask("PUT", "/bkt", by=lent)).status == 200
        assert (await region.query("Action=ListUsers&Version=2010-05-08", by=ada)).status == 200

    scenario(steps)


def test_a_session_of_a_role_may_call_iam_and_no_more_of_sts_than_it_may_pass_on(scenario):
    async def steps(region):
        trust = quote(json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"AWS": ACCOUNT}, "Action": "sts:AssumeRole"}]}))
        await region.query(f"Action=CreateRole&Version=2010-05-08&RoleName=r&AssumeRolePolicyDocument={trust}")
        await region.query("Action=AttachRolePolicy&Version=2010-05-08&RoleName=r&PolicyArn=arn:aws:iam::aws:policy/AdministratorAccess")
        assume = f"Action=AssumeRole&Version=2011-06-15&RoleArn=arn:aws:iam::{ACCOUNT}:role/r&RoleSessionName=ss"
        ada = await region.user("ada", {"Effect": "Allow", "Action": "sts:AssumeRole", "Resource": "*"})
        steps = await text(await region.query(assume, "sts", by=ada))
        role = Credentials(between(steps, "AccessKeyId"), between(steps, "SecretAccessKey"), between(steps, "SessionToken"))
        assert (await region.query("Action=ListUsers&Version=2010-05-08", by=role)).status == 200
        assert await code(await region.query("Action=GetSessionToken&Version=2011-06-15", "sts", by=role)) == (403, "AccessDenied")
        assert (await region.query(f"{assume}&DurationSeconds=3600", "sts", by=role)).status == 200
        assert await code(await region.query(f"{assume}&DurationSeconds=3601", "sts", by=role)) == (400, "ValidationError")
def test_the_log_names_the_accounts_of_the_caller_and_of_the_resource(scenario):
    async def steps(region):
        second = await create_account(region.world.state, "second", random_bytes=os.urandom, now=0.0)
        stranger = Credentials(second.access_key, second.secret)
        region.policies.buckets["bkt"] = protection()
        await region.ask("PUT", "/bkt")
        await region.ask("GET", "/bkt/k", by=stranger)
        await region.ask("GET", "/", by=stranger)
        await region.ask("GET", "/bkt/k", how="")
        assert [(one.get("account"), one.get("owner")) for one in region.events()] == [
            (ACCOUNT, ACCOUNT), (second.account, ACCOUNT), (second.account, second.account), (None, ACCOUNT),
        ]  # fmt: skip

    scenario(steps)
