import asyncio
import json
import os
from dataclasses import dataclass, field

import pytest

from atoll.aws_protocols.codec import codec
from atoll.domain.caller import Caller
from atoll.domain.errors import Incomplete, Unreachable, Upstream
from atoll.domain.http_message import Body, Request, Response
from atoll.gateway.authenticate import Authenticate
from atoll.gateway.entry_router import EntryRouter, refuse_foreign_hosts
from atoll.gateway.metrics import Metrics
from atoll.gateway.request_log import RequestIds, RequestLog
from atoll.rules import multipart_uploads, presigned_url, sigv2, sigv4a
from atoll.rules.endpoint_hostnames import named, scope_of
from atoll.rules.region_selection import Candidate, RegionSelector
from atoll.rules.signature_verification import KeyCache
from atoll.rules.sigv4 import Credentials
from gateway.pipeline_setup import code, signed, text
from s3world import Ticks, slowly

ACCOUNT, ALIAS = "111122223333", "mabc.mrap"
POINT_HOST = f"{ALIAS}.accesspoint.s3-global.amazonaws.com"
PATH_HOST = "accesspoint.s3-global.amazonaws.com"
NEAREST = ("ap-northeast-1", "us-west-2", "us-east-1", "eu-central-1")  # as Tokyo sees the world
MEMBERS = {"us-east-1": "demo-us", "eu-central-1": "demo-eu", "ap-northeast-1": "demo-ap"}
RTTS = {"ap-northeast-1": 0.3, "us-west-2": 90.0, "us-east-1": 146.0, "eu-central-1": 238.0}
ADA = Credentials("AKIDEXAMPLE0000000AA", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
CALLER = Caller("user", ACCOUNT, f"arn:aws:iam::{ACCOUNT}:user/ada", "AIDA", "ada")
NOW = 1_796_057_906.0


@dataclass
class Ring:
    secret: str = ADA.secret
    token: str = ""
    caller: Caller = CALLER
    active: bool = True
    expires: float = 0.0

    def key(self, access_key, token, now):
        return self if access_key == ADA.access_key else None


@dataclass(frozen=True)
class Mrap:
    alias: str = ALIAS
    account: str = ACCOUNT
    serving: bool = True
    members: dict = field(default_factory=lambda: dict(MEMBERS))
    traffic_dials: dict = field(default_factory=lambda: dict.fromkeys(MEMBERS, 100))


@dataclass
class Paths:
    """What the place measured."""

    down: set = field(default_factory=set)
    region_selector: RegionSelector = field(default_factory=RegionSelector)

    def healthy(self, region):
        return region not in self.down

    def lost(self, region):
        self.down.add(region)

    def candidates(self, mrap):
        return [Candidate(region, bucket, mrap.traffic_dials[region] == 100, self.healthy(region), RTTS[region]) for region, bucket in mrap.members.items()]

    def choose(self, alias, candidates):
        return self.region_selector.choose(alias, candidates)


class Region:
    """The far end of a link: keeps what was asked, bodies read."""

    def __init__(self):
        self.asked, self.bodies, self.output, self.fails = [], [], Response(200, {"x-amz-request-id": "U1"}), None

    async def __call__(self, request):
        self.asked.append(request)
        if self.fails:
            raise self.fails
        self.bodies.append(b"".join([piece async for piece in request.body]))
        return self.output


class Tokyo:
    """A place's front and the regions behind it."""

    def __init__(self, log, *, compat="lenient", mrap=Mrap(), buckets=None, home="us-east-1", nearest=NEAREST):
        self.clock, self.paths = Ticks(NOW), Paths()
        self.regions = {name: Region() for name in nearest}
        self.record = RequestLog(log, "entry")
        self.log = log
        self.entry_router = EntryRouter(
            place="tokyo",
            nearest=nearest,
            home=home,
            peers=self.regions,
            mraps={mrap.alias: mrap}.get,
            bucket_region=(buckets or {}).get,
            routing=self.paths,
            authenticate=Authenticate(Ring(), KeyCache(), compat),
            codec=codec("s3"),
            clock=self.clock,
            ids=RequestIds(),
            request_log=self.record,
            metrics=Metrics("entry"),
            compat=compat,
        )

    def ask(self, method, target, host, body=b"", *, how="v4a", headers=None, by=ADA, **more):
        stream = body if isinstance(body, Body) else Body.of(body)
        request = Request(method, target, {"host": host, **(headers or {})}, stream, peer="192.0.2.4", secure=True)
        if how:
            request = signed(request, by, how, now=NOW, **more)
        return asyncio.run(self.entry_router(request))

    @property
    def asked(self):
        """Region -> number of requests that went there."""
        return {name: len(region.asked) for name, region in self.regions.items() if region.asked}

    def event(self):
        self.record.flush()
        return json.loads(self.log.read_text().splitlines()[-1])


@pytest.fixture
def tokyo(tmp_path):
    return lambda **settings: Tokyo(tmp_path / "entry.jsonl", **settings)


# -- where a name leads (clients.md, section 2)

CONTROL_PATH = "/v20180820/mrap/instances"
LEADS = [
    # host, path, region of the credential scope ("": unsigned), service -> region
    ("demo-eu.s3.amazonaws.com", "/k", "us-east-1", "s3", "eu-central-1"),
    ("demo-eu.s3.amazonaws.com", "/k", "", "s3", "eu-central-1"),
    ("unknown.s3.amazonaws.com", "/k", "", "s3", "us-east-1"),
    ("unknown.s3.amazonaws.com", "/", "us-east-1", "s3", "us-east-1"),
    ("s3.amazonaws.com", "/", "us-east-1", "s3", "us-east-1"),
    ("s3.amazonaws.com", "/", "", "s3", "us-east-1"),
    ("s3.amazonaws.com", "/demo-eu/k", "", "s3", "eu-central-1"),
    ("demo-eu.s3-accelerate.amazonaws.com", "/k", "eu-central-1", "s3", "eu-central-1"),
    ("demo-eu.s3.us-west-2.amazonaws.com", "/k", "us-west-2", "s3", "us-west-2"),
    ("s3.dualstack.eu-central-1.amazonaws.com", "/demo-eu/k", "us-east-1", "s3", "eu-central-1"),
    ("iam.amazonaws.com", "/", "us-east-1", "iam", "us-east-1"),
    ("sts.amazonaws.com", "/", "us-east-1", "sts", "us-east-1"),
    ("sts.eu-central-1.amazonaws.com", "/", "eu-central-1", "sts", "eu-central-1"),
    ("sts.sa-east-1.amazonaws.com", "/", "sa-east-1", "sts", "ap-northeast-1"),
    (f"{ACCOUNT}.s3-control.us-west-2.amazonaws.com", CONTROL_PATH, "us-west-2", "s3", "us-west-2"),
    (f"{ACCOUNT}.s3-control.ap-southeast-2.amazonaws.com", CONTROL_PATH, "ap-southeast-2", "s3", "ap-northeast-1"),
    (f"{ACCOUNT}.127.0.0.1", CONTROL_PATH, "us-west-2", "s3", "us-west-2"),
    (f"{ACCOUNT}.ctl.example.test", CONTROL_PATH, "us-west-2", "s3", "us-west-2"),
    ("127.0.0.1", "/demo-us/k", "eu-central-1", "s3", "eu-central-1"),
    ("127.0.0.1", "/demo-eu/k", "", "s3", "eu-central-1"),
    ("127.0.0.1", "/unknown/k", "", "s3", "ap-northeast-1"),
    ("localhost", "/", "", "s3", "ap-northeast-1"),
    ("127.0.0.1", "/", "us-east-1", "iam", "us-east-1"),
]


def leads(entry_router, host, path, region, service):
    scope = scope_of(f"AWS4-HMAC-SHA256 Credential=A/20261130/{region}/{service}/aws4_request" if region else "", "")
    return entry_router.region_for(named(host, path, scope), scope)


@pytest.mark.parametrize(("host", "path", "region", "service", "expected"), LEADS)
def test_where_a_name_leads(tokyo, host, path, region, service, expected):
    assert leads(tokyo(buckets={"demo-eu": "eu-central-1", "demo-us": "us-east-1"}).entry_router, host, path, region, service) == expected


@pytest.mark.parametrize("host", ["s3.sa-east-1.amazonaws.com", "b.s3.sa-east-1.amazonaws.com"])
def test_s3_of_a_region_that_is_not_in_the_world_is_refused_and_the_regions_are_named(tokyo, host):
    place = tokyo()
    assert place.ask("GET", "/", host, how="").status == 403
    assert all(region in place.event()["message"] for region in NEAREST)
    assert place.asked == {}


def test_a_plain_endpoint_signed_for_a_region_that_is_not_in_the_world_is_refused(tokyo):
    assert asyncio.run(code(tokyo().ask("GET", "/b/k", "127.0.0.1", how="v4", region="sa-east-1"))) == (403, "AccessDenied")


@pytest.mark.parametrize("host", ["iam.amazonaws.com", "sts.amazonaws.com", "sts.us-east-1.amazonaws.com", f"{ACCOUNT}.s3-control.us-east-1.amazonaws.com"])
def test_control_lives_on_in_the_nearest_region_when_its_own_is_down(tokyo, host):
    place = tokyo()
    place.paths.down = {"us-east-1", "ap-northeast-1"}
    assert leads(place.entry_router, host, "/", "us-east-1", "iam") == "us-west-2"


def test_a_world_without_virginia_answers_global_names_nearby(tokyo):
    place = tokyo(nearest=("eu-central-1", "us-west-2"), home="eu-central-1")
    assert leads(place.entry_router, "iam.amazonaws.com", "/", "us-east-1", "iam") == "eu-central-1"
    assert leads(place.entry_router, "unknown.s3.amazonaws.com", "/", "us-east-1", "s3") == "eu-central-1"


def test_a_request_for_a_region_is_carried_as_it_came(tokyo):
    place = tokyo()
    sent = {"x-amz-meta-a": "b", "connection": "keep-alive", "proxy-connection": "keep-alive", "te": "trailers", "trailer": "x-amz-checksum-crc32"}
    assert place.ask("PUT", "/demo-us/a%2Fb?x=1", "127.0.0.1", b"hello", how="v4", region="us-east-1", headers=sent).status == 200
    (asked,) = place.regions["us-east-1"].asked
    assert (asked.method, asked.target, asked.headers["host"]) == ("PUT", "/demo-us/a%2Fb?x=1", "127.0.0.1")
    assert asked.headers["x-amz-meta-a"] == "b"
    assert asked.headers["authorization"].startswith("AWS4-HMAC-SHA256 ")
    assert not asked.headers.keys() & {"connection", "proxy-connection", "te", "trailer"}
    assert (asked.forwarded.peer, asked.forwarded.secure, asked.forwarded.place, asked.forwarded.caller) == ("192.0.2.4", True, "tokyo", None)
    assert place.regions["us-east-1"].bodies == [b"hello"]


# -- access points


def test_a_signed_read_goes_to_the_nearest_copy_with_the_callers_name(tokyo):
    place = tokyo()
    assert place.ask("GET", "/a%20b?versionId=v", POINT_HOST).status == 200
    assert place.asked == {"ap-northeast-1": 1}
    (asked,) = place.regions["ap-northeast-1"].asked
    assert asked.target == "/a%20b?versionId=v"
    vouched = asked.forwarded
    assert (vouched.caller, vouched.authentication.version, vouched.bucket) == (CALLER, "AWS4-ECDSA-P256-SHA256", "demo-ap")
    assert (vouched.access_point, vouched.access_point_account) == (f"arn:aws:s3::{ACCOUNT}:accesspoint/{ALIAS}", ACCOUNT)


@pytest.mark.parametrize("how", ["v4", "v4a"])
@pytest.mark.parametrize("meant", ["/a%2Bb?prefix=a%2Bb", "/a%20b?prefix=a%20b", "/a%20b?prefix=a%2Bb"])
@pytest.mark.parametrize(("host", "before"), [(POINT_HOST, ""), (PATH_HOST, f"/{ALIAS}")])
def test_a_raw_plus_travels_on_as_what_was_signed(tokyo, how, meant, host, before):
    """The region believes the envelope and sees no signature, so what it is given must leave no doubt."""
    place = tokyo()
    request = signed(Request("GET", before + meant, {"host": host}), ADA, how, now=NOW, region="ap-northeast-1")
    raw = Request("GET", before + "/a+b?prefix=a+b", request.headers)
    assert asyncio.run(place.entry_router(raw)).status == 200
    (asked,) = place.regions["ap-northeast-1"].asked
    assert asked.target == meant


def test_a_raw_plus_for_a_region_is_carried_as_it_came_for_the_region_to_verify(tokyo):
    place = tokyo()
    assert place.ask("GET", "/demo-us/a+b?prefix=a+b", "127.0.0.1", how="v4", region="us-east-1").status == 200
    (asked,) = place.regions["us-east-1"].asked
    assert asked.target == "/demo-us/a+b?prefix=a+b"


def test_a_strict_access_point_reads_a_plus_in_a_path_as_aws_does(tokyo):
    place = tokyo(compat="strict")
    assert asyncio.run(code(place.ask("GET", "/a+b", POINT_HOST))) == (403, "SignatureDoesNotMatch")


def test_the_log_says_who_was_chosen_from_whom_and_why(tokyo):
    place = tokyo(mrap=Mrap(traffic_dials={**dict.fromkeys(MEMBERS, 100), "ap-northeast-1": 0}))
    place.ask("GET", "/k", POINT_HOST)
    event = place.event()
    assert (event["event"], event["place"], event["region"], event["bucket"]) == ("entry", "tokyo", "us-east-1", "demo-us")
    assert event["caller"] == CALLER.arn
    assert (event["account"], event["owner"]) == (CALLER.account, ACCOUNT)
    assert "ap-northeast-1:0.3ms:passive" in event["candidates"]
    assert event["reason"] == "nearest active region"
    assert event["upstream_request_id"] == "U1"
    assert ADA.secret not in place.log.read_text()


@pytest.mark.parametrize("host", [POINT_HOST, PATH_HOST, "s3.amazonaws.com"])
def test_nobody_gets_through_an_access_point_without_a_signature(tokyo, host):
    place = tokyo()
    target = "/k" if host == POINT_HOST else f"/{ALIAS}/k"
    assert asyncio.run(code(place.ask("GET", target, host, how=""))) == (403, "AccessDenied")
    assert place.asked == {}


def test_an_old_url_in_sigv2_is_not_for_access_points(tokyo):
    bare = Request("GET", "/k", {"host": POINT_HOST})
    made = sigv2.signature(ADA.secret, sigv2.string_to_sign(bare, str(int(NOW) + 60), bucket=ALIAS, virtual=True))
    escaped = made.replace("+", "%2B").replace("/", "%2F").replace("=", "%3D")
    response = tokyo().ask("GET", f"/k?AWSAccessKeyId={ADA.access_key}&Expires={int(NOW) + 60}&Signature={escaped}", POINT_HOST, how="")
    assert asyncio.run(code(response)) == (400, "InvalidRequest")


def test_a_wrong_secret_ends_in_the_callers_own_place(tokyo):
    place = tokyo()
    assert asyncio.run(code(place.ask("GET", "/k", POINT_HOST, by=Credentials(ADA.access_key, "wrong")))) == (403, "SignatureDoesNotMatch")
    assert place.asked == {}


@pytest.mark.parametrize("mrap", [Mrap(alias="mother.mrap"), Mrap(serving=False)])
def test_an_access_point_that_is_not_there_or_not_ready_is_not_found(tokyo, mrap):
    assert asyncio.run(code(tokyo(mrap=mrap).ask("GET", "/k", POINT_HOST))) == (404, "NoSuchMultiRegionAccessPoint")


def test_a_region_set_must_hold_the_region_that_was_chosen(tokyo):
    place = tokyo()
    headers = {"x-amz-region-set": "us-*"}
    asked = Request("GET", "/k", {"host": POINT_HOST}, peer="192.0.2.4", secure=True)
    added = sigv4a.sign(asked, ADA, now=NOW, payload="UNSIGNED-PAYLOAD", region_set=headers["x-amz-region-set"])
    response = asyncio.run(place.entry_router(replace_headers(asked, added)))
    assert asyncio.run(code(response)) == (403, "SignatureDoesNotMatch")
    added = sigv4a.sign(asked, ADA, now=NOW, payload="UNSIGNED-PAYLOAD", region_set="ap-*,eu-central-1")
    assert asyncio.run(place.entry_router(replace_headers(asked, added))).status == 200


def replace_headers(request, added):
    return Request(request.method, request.target, {**request.headers, **added}, request.body, request.peer, request.secure)


def test_sigv4_for_another_region_passes_when_lenient_and_is_malformed_when_strict(tokyo):
    assert tokyo().ask("GET", "/k", POINT_HOST, how="v4", region="eu-central-1").status == 200
    place = tokyo(compat="strict")
    response = place.ask("GET", "/k", POINT_HOST, how="v4", region="eu-central-1")
    result = asyncio.run(text(response))
    assert response.status == 400
    assert "<Code>AuthorizationHeaderMalformed</Code>" in result
    assert "<Region>ap-northeast-1</Region>" in result
    assert place.ask("GET", "/k", POINT_HOST, how="v4", region="ap-northeast-1").status == 200


def test_path_style_and_an_alias_for_a_bucket_are_served_when_lenient(tokyo):
    for host in (PATH_HOST, "s3.amazonaws.com", "s3.us-west-2.amazonaws.com", "127.0.0.1"):
        place = tokyo()
        assert place.ask("GET", f"/{ALIAS}/folder/k?x=1", host, how="v4").status == 200
        (asked,) = place.regions["ap-northeast-1"].asked
        assert (asked.target, asked.forwarded.bucket) == ("/folder/k?x=1", "demo-ap")


def test_a_key_that_is_named_like_a_page_of_ours_is_a_key(tokyo):
    place = tokyo()
    place.ask("GET", f"/{ALIAS}/_atoll/health", "127.0.0.1", how="v4")
    (asked,) = place.regions["ap-northeast-1"].asked
    assert (asked.target, asked.forwarded.place) == ("/_atoll/health", "tokyo")


def test_path_style_is_not_an_access_point_when_strict(tokyo):
    place = tokyo(compat="strict")
    assert asyncio.run(code(place.ask("GET", f"/{ALIAS}/k", PATH_HOST, how="v4"))) == (404, "NoSuchMultiRegionAccessPoint")
    place.ask("GET", f"/{ALIAS}/k", "s3.us-west-2.amazonaws.com", how="v4", region="us-west-2")
    assert place.asked == {"us-west-2": 1}


def test_parts_of_an_upload_follow_the_region_where_it_began(tokyo):
    place = tokyo()
    upload = multipart_uploads.upload_id("eu-central-1", os.urandom(12))
    place.ask("PUT", f"/k?partNumber=1&uploadId={upload}", POINT_HOST, b"part")
    place.ask("POST", f"/k?uploadId={upload}", POINT_HOST, b"<CompleteMultipartUpload/>")
    place.ask("DELETE", f"/k?uploadId={upload}", POINT_HOST)
    assert place.asked == {"eu-central-1": 3}
    assert place.event()["reason"] == "the upload began there"


@pytest.mark.parametrize(("compat", "began"), [("strict", "eu-central-1"), ("lenient", "us-west-2")])
def test_uploads_are_not_pinned_when_strict_nor_to_a_region_that_is_no_member(tokyo, compat, began):
    place = tokyo(compat=compat)
    place.ask("PUT", f"/k?partNumber=1&uploadId={multipart_uploads.upload_id(began, os.urandom(12))}", POINT_HOST, b"part")
    assert place.asked == {"ap-northeast-1": 1}


def test_a_404_is_not_repaired_by_another_region(tokyo):
    place = tokyo()
    place.regions["ap-northeast-1"].output = Response(404, {}, Body.of(b"<Error><Code>NoSuchKey</Code></Error>"))
    assert asyncio.run(code(place.ask("GET", "/k", POINT_HOST))) == (404, "NoSuchKey")
    assert place.asked == {"ap-northeast-1": 1}


def test_a_region_that_is_down_is_passed_over(tokyo):
    place = tokyo()
    place.paths.down = {"ap-northeast-1"}
    assert place.ask("GET", "/k", POINT_HOST).status == 200
    assert place.asked == {"us-east-1": 1}


def test_passive_members_are_never_used(tokyo):
    place = tokyo(mrap=Mrap(traffic_dials={"us-east-1": 100, "eu-central-1": 0, "ap-northeast-1": 0}))
    place.paths.down = {"us-east-1"}
    assert asyncio.run(code(place.ask("GET", "/k", POINT_HOST))) == (503, "ServiceUnavailable")
    assert place.asked == {}


def test_a_region_that_takes_no_connection_is_left_by_the_next_request(tokyo):
    """Not by this one: a second try on another bucket is no business of an access point (mrap.md, section 7)."""
    place = tokyo()
    place.regions["ap-northeast-1"].fails = Unreachable("connection refused")
    assert place.ask("GET", "/k", POINT_HOST).status == 503
    assert place.ask("GET", "/k", POINT_HOST).status == 200
    assert place.asked == {"ap-northeast-1": 1, "us-east-1": 1}


def test_an_answer_that_breaks_off_does_not_make_a_region_lost(tokyo):
    place = tokyo()
    place.regions["ap-northeast-1"].fails = Upstream("the answer was cut")
    place.ask("GET", "/k", POINT_HOST)
    assert place.paths.down == set()


def test_a_region_that_breaks_off_is_unavailable_not_an_error_of_ours(tokyo):
    place = tokyo()
    place.regions["ap-northeast-1"].fails = Upstream("connection lost")
    response = place.ask("GET", "/k", POINT_HOST)
    assert asyncio.run(code(response)) == (503, "ServiceUnavailable")
    assert place.event()["message"] == "connection lost"


def test_a_body_that_its_own_sender_cuts_is_the_senders_fault(tokyo):
    async def half():
        yield b"half"
        raise Incomplete("The client stopped sending inside a body.")

    place = tokyo()
    response = place.ask("PUT", "/k", POINT_HOST, Body(half(), 9), headers={"content-length": "9"}, payload="UNSIGNED-PAYLOAD")
    assert asyncio.run(code(response)) == (400, "IncompleteBody")
    assert place.paths.down == set()


# -- bodies and answers


def test_the_framing_of_a_body_ends_at_the_access_point(tokyo):
    place = tokyo()
    framed = b"5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\r\n\r\n"
    headers = {"x-amz-decoded-content-length": "5", "x-amz-trailer": "x-amz-checksum-crc32", "content-encoding": "aws-chunked", "content-length": str(len(framed))}
    mode = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
    assert place.ask("PUT", "/k", POINT_HOST, framed, headers=headers, payload=mode).status == 200
    assert place.ask("PUT", "/k", POINT_HOST, slowly(framed[:7], framed[7:]), headers=headers, payload=mode).status == 200
    assert place.regions["ap-northeast-1"].bodies == [b"hello", b"hello"]


def test_a_body_that_is_not_what_was_signed_goes_nowhere(tokyo):
    place = tokyo()
    response = place.ask("PUT", "/k", POINT_HOST, b"hello", payload="0" * 64, headers={"content-length": "5"})
    assert asyncio.run(code(response)) == (400, "XAmzContentSHA256Mismatch")
    assert place.asked == {}


def test_a_stream_that_is_not_what_was_signed_breaks_off_before_its_end(tokyo):
    place = tokyo()
    response = place.ask("PUT", "/k", POINT_HOST, slowly(b"he", b"llo"), payload="0" * 64, headers={"content-length": "5"})
    assert asyncio.run(code(response)) == (400, "XAmzContentSHA256Mismatch")
    assert place.regions["ap-northeast-1"].bodies == []


def test_head_keeps_its_length_and_other_answers_are_framed_anew(tokyo):
    place = tokyo()
    place.regions["ap-northeast-1"].output = Response(200, {"content-length": "7", "etag": '"e"', "connection": "close"})
    head, get = place.ask("HEAD", "/k", POINT_HOST), place.ask("GET", "/k", POINT_HOST)
    assert head.headers == {"content-length": "7", "etag": '"e"'}
    assert get.headers == {"etag": '"e"'}


def test_a_presigned_url_of_an_access_point_is_verified_here(tokyo):
    place = tokyo()
    target = presigned_url.presign(Request("GET", "/k", {"host": POINT_HOST}), ADA, region="ap-northeast-1", now=NOW, expires_s=60)
    assert place.ask("GET", target, POINT_HOST, how="").status == 200
    assert place.regions["ap-northeast-1"].asked[0].forwarded.authentication.auth_type == "REST-QUERY-STRING"
    assert place.ask("GET", target.replace("/k?", "/other?"), POINT_HOST, how="").status == 403


# -- names that are not ours


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_foreign_name_is_refused_in_words_that_a_client_can_show(method):
    refuse = refuse_foreign_hosts(codec("s3"), RequestIds(), NEAREST)
    response = asyncio.run(refuse(Request(method, "/x", {"host": "example.com"})))
    assert response.status == 403
    result = asyncio.run(text(response))
    assert ("example.com is not a name of this world" in result) == (method == "GET")


@pytest.mark.parametrize("host", [f"{ALIAS}.s3.us-east-1.amazonaws.com", f"{ALIAS}.s3.amazonaws.com", POINT_HOST])
def test_an_alias_in_the_host_leaves_the_key_whole(tokyo, host):
    place = tokyo()
    assert place.ask("GET", "/a/b?versionId=v", host).status == 200
    assert place.regions["ap-northeast-1"].asked[0].target == "/a/b?versionId=v"


def test_a_signature_for_another_service_opens_no_access_point(tokyo):
    place = tokyo()
    assert place.ask("GET", f"/{ALIAS}/k", "127.0.0.1", how="v4", service="lambda", region="us-east-1").status == 200
    (asked,) = place.regions["us-east-1"].asked
    assert (asked.forwarded.caller, asked.forwarded.access_point) == (None, "")  # the region says that it has no such service
    assert asyncio.run(code(place.ask("GET", "/k", POINT_HOST, how="v4", service="lambda", region="us-east-1", headers={"x-amz-content-sha256": "UNSIGNED-PAYLOAD"}))) == (400, "AuthorizationHeaderMalformed")
