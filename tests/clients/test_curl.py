"""curl: presigned URLs, refusals inside the tunnel, and certificates that strict verifiers take."""

import socket
import ssl
import subprocess

import pytest

pytestmark = [pytest.mark.client, pytest.mark.xdist_group("clients")]

BUCKET = "walk-us-east-1"

PRESIGN = """
    kind, verb, bucket, key, version = argv
    client = boto3.client("s3", config=Config(signature_version=version) if version != "default" else None)
    say(client.generate_presigned_url(verb, Params={"Bucket": bucket, "Key": key}, ExpiresIn=60))
"""


def presigned(world, verb="get_object", bucket=BUCKET, key="hello", version="default", place="us-east-1"):
    return world.boto3(PRESIGN, "url", verb, bucket, key, version, place=place)


def status(world, url, *options, **more):
    return world.ok("curl", "-sS", "-o", "body", "-w", "%{http_code}", *options, url, **more)


def body(world):
    return (world.folder / "body").read_text()


@pytest.mark.parametrize(("version", "mark"), [("default", "AWSAccessKeyId="), ("s3v4", "X-Amz-Signature=")])
def test_a_presigned_url_reads_and_a_touched_one_does_not(world, version, mark):
    url = presigned(world, version=version)
    assert mark in url
    assert (status(world, url), body(world)) == ("200", "us-east-1")
    assert status(world, url.replace("/hello", "/other")) == "403"
    assert "SignatureDoesNotMatch" in body(world)


def test_the_proxy_and_the_ca_may_stand_on_the_command_line(world):
    url = presigned(world)
    done = subprocess.run(["curl", "-sSf", "-x", f"http://127.0.0.1:{world.port()}", "--cacert", str(world.ca), url], env=world.env, capture_output=True, text=True, timeout=20, check=True)
    assert done.stdout == "us-east-1"


def test_a_presigned_write_stores_what_curl_sends(world):
    (world.folder / "sent").write_text("from curl")
    for version, key in (("default", "curl/v2"), ("s3v4", "curl/v4")):
        assert status(world, presigned(world, "put_object", key=key, version=version), "-T", "sent") == "200"
        assert status(world, presigned(world, key=key)) == "200"
        assert body(world) == "from curl"


def test_a_presigned_url_of_an_access_point_reads(world):
    url = presigned(world, bucket=world.arn, place="ap-northeast-1")
    assert "X-Amz-Region-Set" in url
    assert (status(world, url, place="ap-northeast-1"), body(world)) == ("200", "ap-northeast-1")


@pytest.mark.parametrize("name", ["example.com", "dynamodb.us-east-1.amazonaws.com", "ec2.us-east-1.amazonaws.com", "s3.cn-north-1.amazonaws.com.cn"])
def test_names_that_are_not_ours_are_refused_inside_the_tunnel(world, name):
    assert status(world, f"https://{name}/") == "403"
    assert "<Code>AccessDenied</Code>" in body(world)
    assert f"{name} is not a name of this world" in body(world)


def test_plain_http_to_a_foreign_name_stays_in_the_world(world):
    assert status(world, "http://example.com/") == "403"
    assert "<Code>AccessDenied</Code>" in body(world)


@pytest.mark.parametrize("region", ["us-east-1", "eu-west-3"])
def test_a_service_of_aws_that_is_not_built_says_so_for_any_region(world, region):
    assert status(world, f"https://lambda.{region}.amazonaws.com/2015-03-31/functions/") == "501"
    assert "lambda" in body(world)


def test_nobody_is_let_in_without_a_signature(world):
    assert status(world, f"https://{BUCKET}.s3.us-east-1.amazonaws.com/hello") == "403"
    assert status(world, f"https://{world.alias}.accesspoint.s3-global.amazonaws.com/hello") == "403"
    assert "AccessDenied" in body(world)


def test_a_bucket_named_in_the_host_of_a_plain_endpoint_is_reached(world):
    url = presigned(world, version="s3v4")
    assert status(world, f"http://{BUCKET}.localhost:{world.port()}/hello", "--noproxy", "*", "--resolve", f"{BUCKET}.localhost:{world.port()}:127.0.0.1") == "403"
    assert "<Code>AccessDenied</Code>" in body(world)
    assert "X-Amz-Credential" in url


@pytest.mark.parametrize("name", ["walk-us-east-1.s3.us-east-1.amazonaws.com", "{alias}.accesspoint.s3-global.amazonaws.com", "127.0.0.1", "iam.amazonaws.com"])
def test_a_strict_verifier_takes_the_certificate(world, name):
    name = name.format(alias=world.alias)
    context = ssl.create_default_context(cafile=str(world.ca))
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    with socket.create_connection(("127.0.0.1", world.port()), timeout=10) as plain:
        plain.sendall(f"CONNECT {name}:443 HTTP/1.1\r\nHost: {name}:443\r\n\r\n".encode())
        assert plain.recv(4096).startswith(b"HTTP/1.1 200")
        with context.wrap_socket(plain, server_hostname=name) as secure:
            assert secure.version() in ("TLSv1.2", "TLSv1.3")
            assert [value for _, value in secure.getpeercert()["subjectAltName"]] == [name]


def test_health_and_metrics_are_there_for_whoever_asks_a_port(world):
    assert status(world, f"http://127.0.0.1:{world.port()}/_atoll/health", "--noproxy", "*") == "200"
    assert '"ready": true' in body(world)
    assert status(world, f"http://127.0.0.1:{world.port()}/_atoll/metrics", "--noproxy", "*") == "200"
    assert "atoll_requests_total" in body(world)
