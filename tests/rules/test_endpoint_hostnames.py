import pytest

from atoll.rules.endpoint_hostnames import Scope, is_literal, named, parse_hostname, scope_of, without_port


@pytest.mark.parametrize(
    ("host", "kind", "region", "bucket", "alias"),
    [
        ("mfzwi23gnjvgw.mrap.accesspoint.s3-global.amazonaws.com", "access-point", "", "", "mfzwi23gnjvgw.mrap"),
        ("accesspoint.s3-global.amazonaws.com", "access-point-path", "", "", ""),
        ("123456789012.s3-control.us-west-2.amazonaws.com", "s3control", "us-west-2", "", ""),
        ("s3-control.us-west-2.amazonaws.com", "s3control", "us-west-2", "", ""),
        ("s3.amazonaws.com", "s3", "", "", ""),
        ("demo.s3.amazonaws.com", "s3", "", "demo", ""),
        ("a.b.s3.amazonaws.com", "s3", "", "a.b", ""),
        ("s3.eu-central-1.amazonaws.com", "s3", "eu-central-1", "", ""),
        ("demo.s3.ap-northeast-1.amazonaws.com", "s3", "ap-northeast-1", "demo", ""),
        ("demo.s3.dualstack.us-east-1.amazonaws.com", "s3", "us-east-1", "demo", ""),
        ("demo.s3-fips.us-east-1.amazonaws.com", "s3", "us-east-1", "demo", ""),
        ("demo.s3-accelerate.amazonaws.com", "s3", "", "demo", ""),
        ("iam.amazonaws.com", "iam", "", "", ""),
        ("sts.amazonaws.com", "sts", "", "", ""),
        ("sts.eu-central-1.amazonaws.com", "sts", "eu-central-1", "", ""),
        ("point-123456789012.s3-accesspoint.us-west-2.amazonaws.com", "absent", "us-west-2", "", ""),
        ("d111111abcdef8.cloudfront.net", "absent", "", "", ""),
        ("lambda.us-east-1.amazonaws.com", "absent", "us-east-1", "", ""),
        ("b--use1-az4--x-s3.s3express-use1-az4.us-east-1.amazonaws.com", "absent", "us-east-1", "", ""),
    ],
)
def test_each_owned_name_says_what_it_addresses(host, kind, region, bucket, alias):
    found = parse_hostname(host)
    assert found is not None
    assert (found.kind, found.region, found.bucket, found.alias) == (kind, region, bucket, alias)


@pytest.mark.parametrize("host", ["example.com", "s3.amazonaws.com.evil.com", "ec2.us-east-1.amazonaws.com", "127.0.0.1", ""])
def test_other_names_are_not_owned(host):
    assert parse_hostname(host) is None


@pytest.mark.parametrize(
    ("header", "name"),
    [("S3.amazonaws.com:443", "s3.amazonaws.com"), ("[::1]:4566", "[::1]"), ("127.0.0.1:4566", "127.0.0.1"), ("a", "a")],
)
def test_the_port_is_no_part_of_the_name(header, name):
    assert without_port(header) == name


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "::1"])
def test_literals_are_plain_endpoints(host):
    assert is_literal(host)


def test_a_bucket_in_the_host_becomes_path_style():
    found = named("demo.s3.us-east-1.amazonaws.com", "/a//b", None)
    assert (found.service, found.path, found.bucket, found.virtual) == ("s3", "/demo/a//b", "demo", True)


def test_path_style_keeps_the_path():
    found = named("127.0.0.1:4566", "/demo/%2Fk", Scope("us-east-1", "s3"))
    assert (found.service, found.path, found.bucket, found.virtual) == ("s3", "/demo/%2Fk", "demo", False)


@pytest.mark.parametrize("host", ["123456789012.127.0.0.1:4566", "123456789012.localhost:1", "127.0.0.1:4566"])
def test_the_control_path_decides_under_any_host(host):
    assert named(host, "/v20180820/mrap/instances", Scope("us-west-2", "s3")).service == "s3control"


def test_on_a_plain_endpoint_the_scope_names_the_service():
    assert named("127.0.0.1:4566", "/", Scope("us-east-1", "sts")).service == "sts"


def test_a_service_that_is_not_built_is_named_as_such():
    assert named("lambda.us-east-1.amazonaws.com", "/x", None).service == "lambda.us-east-1"


@pytest.mark.parametrize(
    ("authorization", "query", "scope"),
    [
        ("AWS4-HMAC-SHA256 Credential=AK/20261130/eu-central-1/s3/aws4_request, SignedHeaders=host", "", Scope("eu-central-1", "s3")),
        ("AWS4-ECDSA-P256-SHA256 Credential=AK/20261130/s3/aws4_request,SignedHeaders=host", "", Scope("", "s3")),
        ("", "X-Amz-Credential=AK%2F20261130%2Fus-west-2%2Fs3%2Faws4_request&x=1", Scope("us-west-2", "s3")),
        ("", "AWSAccessKeyId=AK&Signature=x&Expires=1", None),
        ("Basic abc", "", None),
    ],
)
def test_the_scope_is_read_from_header_or_query(authorization, query, scope):
    assert scope_of(authorization, query) == scope


def test_the_first_word_of_a_key_behind_an_access_point_is_no_bucket():
    found = named("mabc.mrap.accesspoint.s3-global.amazonaws.com", "/other-bucket/k", Scope("us-east-1", "s3"))
    assert (found.path, found.bucket, found.virtual) == ("/mabc.mrap/other-bucket/k", "mabc.mrap", True)


@pytest.mark.parametrize(
    ("host", "bucket"),
    [("demo.s3.us-east-1.amazonaws.com", "demo"), ("demo.localhost:4566", "demo"), ("mabc.mrap.accesspoint.s3-global.amazonaws.com", "mabc.mrap")],
)
def test_a_key_may_look_like_a_path_of_s3_control(host, bucket):
    found = named(host, "/v20180820/mrap/instances", Scope("us-east-1", "s3"))
    assert (found.service, found.path, found.bucket) == ("s3", f"/{bucket}/v20180820/mrap/instances", bucket)
