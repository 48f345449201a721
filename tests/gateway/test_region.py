import base64
import hashlib
import json
import os
import re
from dataclasses import replace
from datetime import UTC, datetime
from urllib.parse import quote

import pytest

from atoll.domain.caller import Caller, Onward, Proof
from atoll.domain.errors import Incomplete
from atoll.domain.message import Body, Request
from atoll.domain.objects import Facts, Key, Stamp
from atoll.gateway.authorize import Permit
from atoll.gateway.pace import PaceSettings, PathPace
from atoll.rules import canonical, presign, replica_form, sigv4
from atoll.rules.sigv4 import Credentials
from atoll.services.iam.accounts import create_account
from atoll.services.iam.control import OPERATIONS as IAM
from atoll.services.iam.records import USERS
from atoll.services.s3.records import BUCKETS, BucketRecord
from atoll.wire.codec import codec
from gateway.gate import PLAIN, between, code, guard, signed, statement, text
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


async def with_object(gate, body=b"hello"):
    await gate.ask("PUT", "/bkt")
    assert (await gate.ask("PUT", "/bkt/k", body)).status == 200


# -- names and signatures


def test_path_style_and_virtual_host_reach_the_same_object(story):
    async def told(gate):
        await with_object(gate)
        for host, target in ((PLAIN, "/bkt/k"), ("bkt.s3.us-east-1.amazonaws.com", "/k"), ("s3.us-east-1.amazonaws.com", "/bkt/k"), ("bkt.localhost:4566", "/k")):
            response = await gate.ask("GET", target, host=host)
            assert (response.status, await text(response)) == (200, "hello")

    story(told)


def test_s3_iam_and_sts_answer_in_their_own_form(story):
    async def told(gate):
        s3 = await gate.ask("GET", "/no-such-bucket")
        iam = await gate.query("Action=GetUser&Version=2010-05-08&UserName=nobody")
        sts = await gate.query("Action=AssumeRole&Version=2011-06-15&RoleArn=x", "sts")
        assert (await text(s3)).startswith('<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>NoSuchBucket</Code>')
        assert '<ErrorResponse xmlns="https://iam.amazonaws.com/doc/2010-05-08/">' in await text(iam)
        assert '<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">' in await text(sts)

    story(told)


def test_a_service_that_is_not_built_is_refused_by_its_name(story):
    async def told(gate):
        response = await gate.ask("POST", "/", host="lambda.us-east-1.amazonaws.com", service="lambda")
        assert response.status == 501
        assert "lambda" in await text(response)

    story(told)


def test_an_operation_that_is_not_built_is_refused_by_its_name(story):
    async def told(gate):
        await with_object(gate)
        response = await gate.ask("PUT", "/bkt?logging", b"<BucketLoggingStatus/>")
        assert await code(response) == (501, "NotImplemented")
        assert "PutBucketLogging" in gate.events()[-1]["message"]

    story(told)


def test_an_operation_of_the_query_protocol_that_is_not_built_is_refused_by_its_name(story):
    async def told(gate):
        response = await gate.query("Action=CreateGroup&Version=2010-05-08&GroupName=g")
        assert response.status == 501
        assert "CreateGroup" in await text(response)

    story(told)


def test_a_parameter_that_the_operation_does_not_take_is_refused_by_its_name(story):
    async def told(gate):
        await with_object(gate)
        response = await gate.ask("GET", "/bkt/k", headers={"x-amz-server-side-encryption-customer-algorithm": "AES256"})
        assert response.status == 501
        assert "SSECustomerAlgorithm of GetObject" in await text(response)

    story(told)


def test_a_parameter_of_the_query_protocol_that_is_not_taken_is_refused_by_its_name(story):
    async def told(gate):
        response = await gate.query("Action=GetSessionToken&Version=2011-06-15&SerialNumber=m", "sts")
        assert response.status == 501
        assert "SerialNumber of GetSessionToken" in await text(response)

    story(told)


def test_a_scope_of_another_region_is_malformed_and_the_right_one_is_told(story):
    async def told(gate):
        await with_object(gate)
        response = await gate.ask("GET", "/bkt/k", region="eu-west-1")
        told = await text(response)
        assert (response.status, between(told, "Code"), between(told, "Region")) == (400, "AuthorizationHeaderMalformed", "us-east-1")

    story(told)


def test_a_bucket_that_lives_elsewhere_is_a_redirect_that_says_where(story):
    async def told(gate):
        await gate.world.state.change(lambda change: change.put(BUCKETS, "far", BucketRecord(name="far", region="eu-west-1", account=ACCOUNT, created_ms=1)))
        response = await gate.ask("GET", "/far/k")
        told = await text(response)
        assert (response.status, response.headers["x-amz-bucket-region"]) == (301, "eu-west-1")
        assert (between(told, "Code"), between(told, "Endpoint")) == ("PermanentRedirect", "far.s3.eu-west-1.amazonaws.com")

    story(told)


def test_a_presigned_url_reads_until_it_expires(story):
    async def told(gate):
        await with_object(gate)
        target = presign.presign(Request("GET", "/bkt/k", {"host": PLAIN}), gate.root, region="us-east-1", now=gate.clock.now(), expires_s=60)
        assert await text(await gate.ask("GET", target, how="")) == "hello"
        assert await code(await gate.ask("GET", target.replace("/k", "/other"), how="")) == (403, "SignatureDoesNotMatch")
        gate.clock.seconds += 61
        assert await code(await gate.ask("GET", target, how="")) == (403, "AccessDenied")

    story(told)


def test_nobody_may_not_even_look_unless_a_policy_lets_all_in(story):
    async def told(gate):
        await with_object(gate)
        gate.laws.buckets["bkt"] = guard()
        assert await code(await gate.ask("GET", "/bkt/k", how="")) == (403, "AccessDenied")
        gate.laws.buckets["bkt"] = guard(statement("Allow", "s3:GetObject", "arn:aws:s3:::bkt/*"))
        assert (await gate.ask("GET", "/bkt/k", how="")).status == 200

    story(told)


# -- bodies


def test_what_the_body_says_is_checked_after_the_right_to_send_it(story):
    async def told(gate):
        await with_object(gate)
        gate.laws.buckets["bkt"] = guard()
        ada = await gate.user("ada")
        wrong = {"content-md5": base64.b64encode(b"0" * 16).decode()}
        assert await code(await gate.ask("PUT", "/bkt/k", b"other", headers=wrong, by=ada)) == (403, "AccessDenied")
        assert await code(await gate.ask("PUT", "/bkt/k", b"other", headers=wrong)) == (400, "BadDigest")
        assert await text(await gate.ask("GET", "/bkt/k")) == "hello"

    story(told)


def test_a_stream_whose_sum_is_wrong_leaves_no_trace(story):
    async def told(gate):
        await with_object(gate)
        wrong = {"content-md5": base64.b64encode(b"0" * 16).decode(), "content-length": "5"}
        response = await gate.ask("PUT", "/bkt/new", slowly(b"he", b"llo"), headers=wrong, payload="UNSIGNED-PAYLOAD")
        assert await code(response) == (400, "BadDigest")
        assert (await gate.ask("HEAD", "/bkt/new")).status == 404

    story(told)


def test_a_body_that_is_not_the_signed_one_is_refused(story):
    async def told(gate):
        await with_object(gate)
        response = await gate.ask("PUT", "/bkt/k", b"other", payload="0" * 64)
        assert await code(response) == (400, "XAmzContentSHA256Mismatch")

    story(told)


def test_a_write_without_a_length_is_refused(story):
    async def told(gate):
        await with_object(gate)
        assert await code(await gate.ask("PUT", "/bkt/k", slowly(b"x"), payload="UNSIGNED-PAYLOAD")) == (411, "MissingContentLength")

    story(told)


def test_a_document_that_is_too_large_is_refused(story):
    async def told(gate):
        await with_object(gate)
        response = await gate.ask("PUT", "/bkt?tagging", b"<Tagging>" + b" " * (3 * 1024 * 1024))
        assert await code(response) == (400, "MaxMessageLengthExceeded")

    story(told)


def test_head_has_the_length_of_get_and_no_body(story):
    async def told(gate):
        await with_object(gate)
        response = await gate.ask("HEAD", "/bkt/k")
        assert (response.status, response.headers["content-length"], response.body.length) == (200, "5", 0)
        missing = await gate.ask("HEAD", "/bkt/none")
        assert (missing.status, missing.body.length) == (404, 0)

    story(told)


def test_every_answer_has_its_request_id(story):
    async def told(gate):
        await with_object(gate)
        good, bad = await gate.ask("GET", "/bkt/k"), await gate.ask("GET", "/bkt/none")
        assert good.headers["x-amz-request-id"] != bad.headers["x-amz-request-id"]
        assert between(await text(bad), "RequestId") == bad.headers["x-amz-request-id"]
        assert [event["request_id"] for event in gate.events()[-2:]] == [good.headers["x-amz-request-id"], bad.headers["x-amz-request-id"]]

    story(told)


# -- the log


def test_a_refusal_is_logged_with_the_statement_that_decided(story):
    async def told(gate):
        await with_object(gate)
        gate.laws.buckets["bkt"] = guard(statement("Deny", "s3:GetObject", "arn:aws:s3:::bkt/k"), source="bucket policy of bkt")
        ada = await gate.user("ada", {"Effect": "Allow", "Action": "s3:*", "Resource": "*"})
        assert (await gate.ask("GET", "/bkt/k", by=ada)).status == 403
        event = gate.events()[-1]
        assert (event["operation"], event["bucket"], event["key"], event["status"], event["error"]) == ("GetObject", "bkt", "k", 403, "AccessDenied")
        assert event["caller"] == f"arn:aws:iam::{ACCOUNT}:user/ada"
        (decided,) = event["decided"]
        assert (decided["outcome"], decided["statement"]) == ("ExplicitlyDenied", 'bucket policy of bkt, statement "DenyIt"')

    story(told)


def test_no_secret_and_no_token_is_ever_in_the_log(story):
    async def told(gate):
        await with_object(gate)
        ada = await gate.user("ada", {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"})
        told = await text(await gate.query("Action=GetSessionToken&Version=2011-06-15", "sts", by=ada))
        lent = Credentials(between(told, "AccessKeyId"), between(told, "SecretAccessKey"), between(told, "SessionToken"))
        assert (await gate.ask("GET", "/bkt/k", by=lent)).status == 200
        assert (await gate.ask("PUT", "/bkt/k", b"no", by=lent)).status == 403
        assert (await gate.ask("GET", "/bkt/k", by=replace(lent, secret="wrong"))).status == 403
        assert (await gate.ask("GET", "/bkt/k", by=replace(lent, token=lent.token[:-8] + "AAAAAAA="))).status == 400
        target = presign.presign(Request("GET", "/bkt/k", {"host": PLAIN}), lent, region="us-east-1", now=gate.clock.now(), expires_s=60)
        assert (await gate.ask("GET", target, how="")).status == 200
        gate.events()
        log = gate.log.read_text()
        assert len(log.splitlines()) > 8
        for secret in (gate.root.secret, ada.secret, lent.secret, lent.token, lent.token[:40]):
            assert secret not in log

    story(told)


def test_an_error_of_our_own_is_logged_with_its_trace_and_the_client_learns_nothing(story):
    async def told(gate):
        await with_object(gate)

        async def broken(call, **members):
            raise ZeroDivisionError("the secret sauce")

        part = gate.gateway.slices["s3"]
        gate.gateway.slices = {**gate.gateway.slices, "s3": replace(part, operations={**part.operations, "GetObject": broken})}
        response = await gate.ask("GET", "/bkt/k")
        told = await text(response)
        assert (response.status, between(told, "Code")) == (500, "InternalError")
        assert "sauce" not in told
        assert "ZeroDivisionError: the secret sauce" in gate.events()[-1]["trace"]

    story(told)


def test_requests_and_bytes_are_counted(story):
    async def told(gate):
        await with_object(gate)
        await gate.ask("GET", "/bkt/k")
        page = gate.metrics.text().decode()
        assert 'atoll_requests_total{operation="GetObject",process="us-east-1",service="s3",status="200"} 1.0' in page
        assert 'atoll_bytes_total{direction="in",process="us-east-1"} 5.0' in page

    story(told)


# -- what another process vouches for


def onward(**more):
    return Onward("192.0.2.9", True, place="tokyo", request_id="E1", **more)


def test_a_caller_that_the_entry_vouches_for_needs_no_signature(story):
    async def told(gate):
        await with_object(gate)
        vouched = onward(caller=ROOT, proof=Proof("REST-HEADER", "AWS4-ECDSA-P256-SHA256"), access_point=POINT, access_point_account=ACCOUNT, bucket="bkt")
        gate.laws.buckets["bkt"], gate.laws.points[POINT] = guard(), guard()
        response = await gate.ask("GET", "/k", how="", onward=vouched, host="mabc.mrap.accesspoint.s3-global.amazonaws.com")
        assert await text(response) == "hello"
        event = gate.events()[-1]
        assert (event["place"], event["entry_request_id"], event["access_point"], event["bucket"]) == ("tokyo", "E1", POINT, "bkt")

    story(told)


def test_the_region_judges_the_original_caller_by_its_own_policies(story):
    async def told(gate):
        await with_object(gate)
        gate.laws.buckets["bkt"], gate.laws.points[POINT] = guard(), guard()
        vouched = onward(caller=Caller("user", ACCOUNT, "arn", "AIDX", "nobody"), access_point=POINT, access_point_account=ACCOUNT, bucket="bkt")
        assert await code(await gate.ask("GET", "/k", how="", onward=vouched)) == (403, "AccessDenied")

    story(told)


def test_an_access_point_takes_only_what_access_points_take(story):
    async def told(gate):
        await with_object(gate)
        vouched = onward(caller=ROOT, access_point=POINT, access_point_account=ACCOUNT, bucket="bkt")
        assert await code(await gate.ask("GET", "/?policy", how="", onward=vouched)) == (405, "MethodNotAllowed")

    story(told)


def test_an_envelope_without_a_caller_does_not_replace_the_signature(story):
    async def told(gate):
        await with_object(gate)
        gate.laws.buckets["bkt"] = guard()
        assert await code(await gate.ask("GET", "/bkt/k", how="", onward=onward())) == (403, "AccessDenied")
        assert (await gate.ask("GET", "/bkt/k", onward=onward())).status == 200

    story(told)


def test_a_replica_comes_in_under_an_envelope_only(story):
    async def told(gate):
        await with_object(gate)
        sender = onward(caller=ROOT, replica=True)
        facts = Facts(version="v1", size=5, etag="5d41402abc4b2a76b9719d911017c592", stamp=Stamp(1, "eu-west-1", "v1"), modified_ms=1)
        headers, body = replica_form.written(facts, Body.of(b"hello"))
        response = await gate.ask("PUT", "/bkt/r", body, how="", onward=sender, headers=headers)
        assert response.status == 200
        stored = await gate.world.store.head(Key("bkt", "r"))
        assert (stored.version, stored.replica) == ("v1", True)
        assert gate.events()[-1]["operation"] == "ReplicateObject"

    story(told)


# -- tags in conditions, and the pace


async def tag(gate, value):
    document = b"<Tagging><TagSet><Tag><Key>open</Key><Value>" + value + b"</Value></Tag></TagSet></Tagging>"
    sums = {"content-md5": base64.b64encode(hashlib.md5(document).digest()).decode()}
    assert (await gate.ask("PUT", "/bkt/k?tagging", document, headers=sums)).status == 200


def test_tags_are_read_only_when_a_policy_can_ask_for_them(story):
    async def told(gate):
        await with_object(gate)
        await tag(gate, b"yes")
        gate.laws.buckets["bkt"] = guard()
        plain = await gate.user("plain", {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"})
        await gate.ask("GET", "/bkt/k", by=plain)
        assert gate.laws.tag_reads == 0
        asks = {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*", "Condition": {"StringEquals": {"s3:ExistingObjectTag/open": "yes"}}}
        careful = await gate.user("careful", asks)
        assert (await gate.ask("GET", "/bkt/k", by=careful)).status == 200
        await tag(gate, b"no")
        assert (await gate.ask("GET", "/bkt/k", by=careful)).status == 403
        assert gate.laws.tag_reads == 2

    story(told)


def test_a_read_in_profile_aws_takes_as_long_as_was_drawn(story):
    async def told(gate):
        await with_object(gate)
        gate.pace.set(PaceSettings({"single": PathPace(3.0, 0.0, 0.0)}))
        before = gate.clock.monotonic()
        await gate.ask("GET", "/bkt/k", arrived=before)
        assert gate.clock.monotonic() - before == pytest.approx(0.0200855, rel=1e-4)

    story(told)


def test_what_a_stranger_calls_a_service_makes_no_series_of_metrics(story):
    async def told(gate):
        for number in range(3):
            assert (await gate.ask("GET", "/b/k", service=f"made-up-{number}")).status == 501
            await gate.ask("GET", "/", host=f"made-up-{number}-111122223333.s3-accesspoint.us-east-1.amazonaws.com", how="")
        assert "made-up" not in gate.metrics.text().decode()

    story(told)


# -- who may do what to whom in IAM

ANY_IAM = {"Effect": "Allow", "Action": "iam:*", "Resource": "*"}
ADMINISTRATORS = f"arn:aws:iam::{ACCOUNT}:user/admins/*"
ALL_POWER = "arn:aws:iam::aws:policy/AdministratorAccess"
VERSION = "Version=2010-05-08"


def test_a_policy_on_a_path_holds_for_who_is_named_without_it(story):
    async def told(gate):
        await gate.query(f"Action=CreateUser&{VERSION}&UserName=boss&Path=/admins/")
        clerk = await gate.user("clerk", ANY_IAM, {"Effect": "Deny", "Action": "iam:*", "Resource": ADMINISTRATORS})
        warden = await gate.user("warden", {"Effect": "Allow", "Action": "iam:GetUser", "Resource": ADMINISTRATORS})
        assert await code(await gate.query(f"Action=CreateAccessKey&{VERSION}&UserName=boss", by=clerk)) == (403, "AccessDenied")
        assert (await gate.query(f"Action=GetUser&{VERSION}&UserName=boss", by=warden)).status == 200
        assert await code(await gate.query(f"Action=GetUser&{VERSION}&UserName=clerk", by=warden)) == (403, "AccessDenied")

    story(told)


def test_a_namesake_gives_a_new_user_no_other_path(story):
    async def told(gate):
        clerk = await gate.user("clerk", {"Effect": "Allow", "Action": "iam:CreateUser", "Resource": f"arn:aws:iam::{ACCOUNT}:user/clerk"})
        assert await code(await gate.query(f"Action=CreateUser&{VERSION}&UserName=clerk&Path=/admins/", by=clerk)) == (403, "AccessDenied")

    story(told)


def test_a_policy_may_say_which_policies_are_not_for_giving(story):
    async def told(gate):
        deny = {"Effect": "Deny", "Action": "iam:AttachUserPolicy", "Resource": "*", "Condition": {"ArnEquals": {"iam:PolicyARN": ALL_POWER}}}
        clerk = await gate.user("clerk", ANY_IAM, deny)
        attach = f"Action=AttachUserPolicy&{VERSION}&UserName=clerk&PolicyArn=arn:aws:iam::aws:policy/"
        assert await code(await gate.query(attach + "AdministratorAccess", by=clerk)) == (403, "AccessDenied")
        assert (await gate.query(attach + "AmazonS3ReadOnlyAccess", by=clerk)).status == 200

    story(told)


def test_a_policy_may_ask_for_a_boundary_on_whom_it_is_used(story):
    async def told(gate):
        only_bounded = {"Effect": "Allow", "Action": "iam:*", "Resource": "*", "Condition": {"StringEquals": {"iam:PermissionsBoundary": ALL_POWER}}}
        clerk = await gate.user("clerk", only_bounded)
        await gate.user("free")
        assert (await gate.query(f"Action=CreateUser&{VERSION}&UserName=bound&PermissionsBoundary={ALL_POWER}", by=clerk)).status == 200
        assert (await gate.query(f"Action=CreateAccessKey&{VERSION}&UserName=bound", by=clerk)).status == 200
        assert await code(await gate.query(f"Action=CreateAccessKey&{VERSION}&UserName=free", by=clerk)) == (403, "AccessDenied")
        assert await code(await gate.query(f"Action=CreateUser&{VERSION}&UserName=more", by=clerk)) == (403, "AccessDenied")

    story(told)


def test_a_role_may_be_handed_to_s3_alone(story):
    async def told(gate):
        role, outcome = f"arn:aws:iam::{ACCOUNT}:role/copier", {}
        for name, service in (("ann", "s3.amazonaws.com"), ("bob", "lambda.amazonaws.com")):
            given = {"StringEquals": {"iam:PassedToService": service}}
            await gate.user(name, {"Effect": "Allow", "Action": "iam:PassRole", "Resource": "*", "Condition": given})
            caller = Caller("user", ACCOUNT, f"arn:aws:iam::{ACCOUNT}:user/{name}", gate.world.state.get(USERS, name).id, name)
            permit = Permit(gate.laws, Request("PUT", "/", {}), caller, Proof(), 0.0, "us-east-1", "PutBucketReplication", {})
            outcome[name] = permit.may("iam:PassRole", role)
        assert outcome == {"ann": True, "bob": False}

    story(told)


def test_a_body_that_its_sender_cuts_short_is_the_senders_fault_and_leaves_no_trace(story):
    async def cut():
        yield b"hel"
        raise Incomplete("The client stopped sending inside a body.")

    async def told(gate):
        await gate.ask("PUT", "/bkt")
        response = await gate.ask("PUT", "/bkt/k", Body(cut(), 5), payload="UNSIGNED-PAYLOAD")
        assert await code(response) == (400, "IncompleteBody")
        assert (await gate.ask("GET", "/bkt/k")).status == 404

    story(told)


# -- control state that is a moment old


class Elsewhere:
    """Another region in which things were made that this one has not seen yet: its news arrive when they are looked for."""

    def __init__(self, gate, news):
        self.news, self.looks = list(news), 0
        gate.gateway.refresh = self

    def __call__(self):
        self.looks += 1
        return bool(self.news) and self.news.pop(0)()


def test_a_refusal_is_judged_once_more_when_there_was_newer_control_state(story):
    async def told(gate):
        await with_object(gate)
        known, gate.laws.identities.key = gate.identities.key, lambda *_: None
        seen = Elsewhere(gate, [lambda: setattr(gate.identities, "key", known) is None])
        assert (await gate.ask("GET", "/bkt/k")).status == 200
        assert seen.looks == 1

    story(told)


def test_a_refusal_stands_when_there_is_nothing_newer(story):
    async def told(gate):
        await with_object(gate)
        seen = Elsewhere(gate, [])
        assert await code(await gate.ask("GET", "/bkt/none")) == (404, "NoSuchKey")
        assert await code(await gate.ask("GET", "/bkt/k", by=Credentials("AKIANOBODY", "s"))) == (403, "InvalidAccessKeyId")
        assert seen.looks == 2

    story(told)


def test_a_body_that_was_read_is_not_asked_for_twice(story):
    async def told(gate):
        await with_object(gate)
        seen = Elsewhere(gate, [lambda: True])
        signed = {"x-amz-decoded-content-length": "5"}
        framed = slowly(b"5;chunk-signature=", b"0" * 64 + b"\r\nhello\r\n")
        answer = await gate.ask("PUT", "/bkt/k", framed, payload="STREAMING-AWS4-HMAC-SHA256-PAYLOAD", headers={**signed, "transfer-encoding": "chunked"})
        assert await code(answer) == (403, "SignatureDoesNotMatch")
        assert seen.looks == 0

    story(told)


def test_a_body_that_was_not_begun_is_judged_again_whether_it_is_here_or_still_comes(story):
    async def told(gate):
        await with_object(gate)
        stranger = Credentials("AKIANOBODY", "s")
        for body in (Body(None, None, b"hello"), slowly(b"hel", b"lo")):
            seen = Elsewhere(gate, [lambda: True])
            answer = await gate.ask("PUT", "/bkt/k", body, by=stranger, payload="UNSIGNED-PAYLOAD")
            assert await code(answer) == (403, "InvalidAccessKeyId")
            assert seen.looks == 1

    story(told)


def test_one_request_makes_one_line_of_log_however_often_it_is_judged(story):
    async def told(gate):
        await with_object(gate)
        Elsewhere(gate, [lambda: True])
        before = len(gate.events())
        await gate.ask("GET", "/bkt/none")
        assert len(gate.events()) == before + 1

    story(told)


# -- a raw plus, and the date (docs/decisions/0012)


def signed_as(gate, meant, raw, *, method="GET", host=PLAIN, service="s3", by=None, body=b""):
    """A request for `raw` with the signature of `meant`."""
    length = {"content-length": str(len(body))} if body else {}
    request = signed(Request(method, meant, {"host": host, **length}, Body.of(body)), by or gate.root, now=gate.clock.now(), service=service)
    return Request(method, raw, request.headers, request.body)


async def keys(gate, request):
    response = await gate.gateway(request)
    assert response.status == 200
    return re.findall("<Key>(.*?)</Key>", await text(response))


@pytest.mark.parametrize("host", [PLAIN, "s3.us-east-1.amazonaws.com", "bkt.s3.us-east-1.amazonaws.com", "bkt.localhost:4566"])
def test_a_list_with_a_plus_in_its_prefix_finds_what_was_signed(story, host):
    async def told(gate):
        await gate.ask("PUT", "/bkt")
        for key in ("a%2Bb", "a%20b"):
            await gate.ask("PUT", f"/bkt/{key}", b"x")
        path = "/" if host.startswith("bkt.") else "/bkt"
        for meant, found in (("a%2Bb", "a+b"), ("a%20b", "a b")):
            for more in ("?prefix=", "?list-type=2&prefix=", "?versions&prefix="):
                assert await keys(gate, signed_as(gate, f"{path}{more}{meant}", f"{path}{more}a+b", host=host)) == [found]
                assert await keys(gate, signed_as(gate, f"{path}{more}{meant}", f"{path}{more}{meant}", host=host)) == [found]
            made = presign.presign(Request("GET", f"{path}?prefix={meant}", {"host": host}), gate.root, region="us-east-1", now=gate.clock.now(), expires_s=60)
            assert await keys(gate, Request("GET", made.replace(f"prefix={meant}", "prefix=a+b"), {"host": host})) == [found]

    story(told)


def test_what_a_plus_was_signed_as_decides_also_whether_it_is_allowed(story):
    async def told(gate):
        await gate.ask("PUT", "/bkt")
        ada = await gate.user("ada", {"Effect": "Allow", "Action": "s3:ListBucket", "Resource": "*", "Condition": {"StringEquals": {"s3:prefix": "a b"}}})
        assert (await gate.gateway(signed_as(gate, "/bkt?prefix=a%20b", "/bkt?prefix=a+b", by=ada))).status == 200
        assert (await gate.gateway(signed_as(gate, "/bkt?prefix=a%2Bb", "/bkt?prefix=a+b", by=ada))).status == 403

    story(told)


@pytest.mark.parametrize("compat", ["lenient", "strict"])
@pytest.mark.parametrize(("host", "path"), [(PLAIN, "/bkt/"), ("bkt.s3.us-east-1.amazonaws.com", "/")])
def test_a_plus_in_a_path_is_a_blank_and_in_a_lenient_world_what_was_signed(story, compat, host, path):
    async def told(gate):
        await gate.ask("PUT", "/bkt")
        gate.laws.buckets["bkt"] = guard(statement("Allow", "s3:GetObject", "arn:aws:s3:::bkt/*"))
        assert (await gate.gateway(signed_as(gate, f"{path}a%20%20b", f"{path}a++b", method="PUT", host=host, body=b"blanks"))).status == 200
        plus = await gate.gateway(signed_as(gate, f"{path}a%2B%2Bb", f"{path}a++b", method="PUT", host=host, body=b"pluses"))
        assert plus.status == (200 if compat == "lenient" else 403)
        assert await keys(gate, signed_as(gate, "/bkt", "/bkt")) == (["a  b", "a++b"] if compat == "lenient" else ["a  b"])
        assert await text(await gate.gateway(Request("GET", f"{path}a++b", {"host": host}))) == "blanks"

    story(told, compat=compat)


def test_a_plus_that_nobody_signed_is_a_blank(story):
    async def told(gate):
        await gate.ask("PUT", "/bkt")
        gate.laws.buckets["bkt"] = guard(statement("Allow", "s3:ListBucket", "arn:aws:s3:::bkt"))
        await gate.ask("PUT", "/bkt/a%20b", b"x")
        assert await keys(gate, Request("GET", "/bkt?prefix=a+b", {"host": PLAIN})) == ["a b"]

    story(told)


@pytest.mark.parametrize(("meant", "name"), [("a%2Bb", "a+b"), ("a%20b", "a b")])
def test_a_plus_in_the_query_of_iam_is_executed_as_it_was_signed(story, meant, name):
    async def told(gate):
        assert (await gate.query("Action=CreateUser&Version=2010-05-08&UserName=a%2Bb")).status == 200
        query = "/?Action=GetUser&Version=2010-05-08&UserName="
        answer = await gate.gateway(signed_as(gate, query + meant, query + "a+b", service="iam"))
        assert answer.status == (200 if name == "a+b" else 404)
        assert (await gate.query("Action=GetUser&Version=2010-05-08&UserName=a+b")).status == 404  # a form, whose bytes are signed: a blank

    story(told)


@pytest.mark.parametrize("service", ["s3", "iam"])
@pytest.mark.parametrize("form", ["Mon, %d %b %Y %H:%M:%S GMT", "%Y%m%dT%H%M%SZ"])
def test_a_signed_date_header_dates_a_request(story, form, service):
    async def told(gate):
        moment = datetime.fromtimestamp(gate.clock.now(), UTC)
        stamp, digest = f"{moment:%Y%m%dT%H%M%SZ}", hashlib.sha256(b"").hexdigest()
        headers = {"date": moment.strftime(form), "host": PLAIN, "x-amz-content-sha256": digest}
        target = "/" if service == "s3" else "/?Action=ListUsers&Version=2010-05-08"
        names, scope = ";".join(headers), f"{stamp[:8]}/us-east-1/{service}/aws4_request"
        query = canonical.canonical_query(target.partition("?")[2])
        asked = canonical.canonical_request("GET", "/", query, headers=canonical.canonical_headers(headers, list(headers)), names=names, payload=digest)
        key = sigv4.signing_key(gate.root.secret, stamp[:8], "us-east-1", service)
        made = sigv4.signature(key, canonical.string_to_sign(sigv4.ALGORITHM, stamp, scope, asked))
        line = sigv4.authorization(sigv4.ALGORITHM, gate.root.access_key, scope, names, made)
        assert (await gate.gateway(Request("GET", target, {**headers, "authorization": line}))).status == 200
        gate.clock.seconds += 902
        assert (await gate.gateway(Request("GET", target, {**headers, "authorization": line}))).status == 403

    story(told)


# -- sessions


async def session(gate, by):
    told = await text(await gate.query("Action=GetSessionToken&Version=2011-06-15", "sts", by=by))
    return Credentials(between(told, "AccessKeyId"), between(told, "SecretAccessKey"), between(told, "SessionToken"))


@pytest.mark.parametrize("who", ["root", "user"])
def test_a_short_session_cannot_be_made_into_a_lasting_key(story, who):
    async def told(gate):
        trust = quote(json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"AWS": ACCOUNT}, "Action": "sts:AssumeRole"}]}))
        await gate.query(f"Action=CreateRole&Version=2010-05-08&RoleName=r&AssumeRolePolicyDocument={trust}")
        ada = await gate.user("ada", {"Effect": "Allow", "Action": "*", "Resource": "*"})
        lent = await session(gate, "root" if who == "root" else ada)
        before = gate.world.state.version
        for operation in IAM:
            form = f"Action={operation}&Version=2010-05-08&" + "&".join(f"{name}={value}" for name, value in FORM_SAMPLES.items() if name in codec("iam").members(operation))
            assert await code(await gate.query(form, by=lent)) == (403, "AccessDenied")
        assert gate.world.state.version == before
        assert await code(await gate.query("Action=GetSessionToken&Version=2011-06-15", "sts", by=lent)) == (403, "AccessDenied")
        assert await code(await gate.query("Action=GetFederationToken&Version=2011-06-15&Name=f", "sts", by=lent)) == (501, "NotImplemented")
        assert (await gate.query("Action=GetCallerIdentity&Version=2011-06-15", "sts", by=lent)).status == 200
        assume = f"Action=AssumeRole&Version=2011-06-15&RoleArn=arn:aws:iam::{ACCOUNT}:role/r&RoleSessionName=ss"
        assert (await gate.query(assume, "sts", by=lent)).status == (200 if who == "user" else 403)  # AWS: no role for the root user
        assert (await gate.ask("PUT", "/bkt", by=lent)).status == 200
        assert (await gate.query("Action=ListUsers&Version=2010-05-08", by=ada)).status == 200

    story(told)


def test_a_session_of_a_role_may_call_iam_and_no_more_of_sts_than_it_may_pass_on(story):
    async def told(gate):
        trust = quote(json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"AWS": ACCOUNT}, "Action": "sts:AssumeRole"}]}))
        await gate.query(f"Action=CreateRole&Version=2010-05-08&RoleName=r&AssumeRolePolicyDocument={trust}")
        await gate.query("Action=AttachRolePolicy&Version=2010-05-08&RoleName=r&PolicyArn=arn:aws:iam::aws:policy/AdministratorAccess")
        assume = f"Action=AssumeRole&Version=2011-06-15&RoleArn=arn:aws:iam::{ACCOUNT}:role/r&RoleSessionName=ss"
        ada = await gate.user("ada", {"Effect": "Allow", "Action": "sts:AssumeRole", "Resource": "*"})
        told = await text(await gate.query(assume, "sts", by=ada))
        role = Credentials(between(told, "AccessKeyId"), between(told, "SecretAccessKey"), between(told, "SessionToken"))
        assert (await gate.query("Action=ListUsers&Version=2010-05-08", by=role)).status == 200
        assert await code(await gate.query("Action=GetSessionToken&Version=2011-06-15", "sts", by=role)) == (403, "AccessDenied")
        assert (await gate.query(f"{assume}&DurationSeconds=3600", "sts", by=role)).status == 200
        assert await code(await gate.query(f"{assume}&DurationSeconds=3601", "sts", by=role)) == (400, "ValidationError")
def test_the_log_names_the_accounts_of_the_caller_and_of_the_resource(story):
    async def told(gate):
        second = await create_account(gate.world.state, "second", dice=os.urandom, now=0.0)
        stranger = Credentials(second.access_key, second.secret)
        gate.laws.buckets["bkt"] = guard()
        await gate.ask("PUT", "/bkt")
        await gate.ask("GET", "/bkt/k", by=stranger)
        await gate.ask("GET", "/", by=stranger)
        await gate.ask("GET", "/bkt/k", how="")
        assert [(one.get("account"), one.get("owner")) for one in gate.events()] == [
            (ACCOUNT, ACCOUNT), (second.account, ACCOUNT), (second.account, second.account), (None, ACCOUNT),
        ]  # fmt: skip

    story(told)
