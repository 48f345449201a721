"""Places on machines of their own: they find each other, carry requests, and survive the one that holds the state."""

import http.client
import json
import os
import ssl
import time
import urllib.error
import urllib.request

import pytest
from botocore.exceptions import ClientError

from atoll.net.certificates import authority_under, issue
from atoll.processes import node_credentials, serve_place, world_config
from atoll.processes.home_folder import Home
from machines import machines, world_text
from worlds import ALL_OF_S3, TRUST

pytestmark = pytest.mark.xdist_group("machines")
PATIENCE_S = 20


def eventually(found, wanted):
    end = time.monotonic() + PATIENCE_S
    while found() != wanted and time.monotonic() < end:
        time.sleep(0.05)
    assert found() == wanted


def soon(call, *arguments, **parameters):
    """The answer, once a place has noticed that another is away: 503 until then."""
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            return call(*arguments, **parameters)
        except ClientError as error:
            if error.response["ResponseMetadata"]["HTTPStatusCode"] != 503 or time.monotonic() > end:
                raise
            time.sleep(0.05)


def read(s3, bucket, key):
    return s3.get_object(Bucket=bucket, Key=key)["Body"].read()


def bucket_in(s3, region, name):
    where = {} if region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": region}}
    s3.create_bucket(Bucket=name, **where)
    s3.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})


def access_point(world, name, *buckets):
    control, account = world.client("s3control", "us-east-1", "us-west-2"), world.account()
    control.create_multi_region_access_point(
        AccountId=account, Details={"Name": name, "Regions": [{"Bucket": bucket} for bucket in buckets]}
    )

    def status():
        return control.get_multi_region_access_point(AccountId=account, Name=name)["AccessPoint"]["Status"]

    eventually(status, "READY")
    alias = control.get_multi_region_access_point(AccountId=account, Name=name)["AccessPoint"]["Alias"]
    return f"arn:aws:s3::{account}:accesspoint/{alias}"


def refusal(call, *arguments, **parameters):
    with pytest.raises(ClientError) as caught:
        call(*arguments, **parameters)
    return caught.value.response["Error"]["Code"], caught.value.response["ResponseMetadata"]["HTTPStatusCode"]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with machines(tmp_path_factory.mktemp("calm"), "us-east-1", "eu-central-1", "london") as started:
        yield started


def test_a_bucket_in_one_region_is_used_through_the_other_and_through_a_city(world):
    bucket_in(world.client("s3", "eu-central-1"), "eu-central-1", "far-bucket")
    whole = os.urandom(9_000_000)
    world.client("s3", "us-east-1", "eu-central-1").put_object(Bucket="far-bucket", Key="a/b c", Body=whole)
    assert read(world.client("s3", "eu-central-1"), "far-bucket", "a/b c") == whole
    assert read(world.client("s3", "london", "eu-central-1"), "far-bucket", "a/b c") == whole
    assert read(world.client("s3", "us-east-1", "eu-central-1", endpoint=True), "far-bucket", "a/b c") == whole


def test_a_name_is_taken_in_all_places_as_soon_as_it_is_taken_in_one(world):
    bucket_in(world.client("s3", "us-east-1"), "us-east-1", "only-once")
    where = {"LocationConstraint": "eu-central-1"}
    result = refusal(world.client("s3", "eu-central-1").create_bucket, Bucket="only-once", CreateBucketConfiguration=where)
    assert result == ("BucketAlreadyOwnedByYou", 409)


def test_an_access_point_answers_from_the_copy_in_the_place_where_the_client_stands(world):
    for region, bucket in (("us-east-1", "near-us"), ("eu-central-1", "near-eu")):
        bucket_in(world.client("s3", region), region, bucket)
        world.client("s3", region).put_object(Bucket=bucket, Key="where", Body=region.encode())
    arn = access_point(world, "nearest", "near-us", "near-eu")
    assert read(world.client("s3", "us-east-1"), arn, "where") == b"us-east-1"
    assert read(world.client("s3", "eu-central-1"), arn, "where") == b"eu-central-1"
    assert read(world.client("s3", "london"), arn, "where") in (b"us-east-1", b"eu-central-1")  # as far, on one machine


def test_objects_are_replicated_between_machines(world):
    source, target = world.client("s3", "eu-central-1"), world.client("s3", "us-east-1")
    bucket_in(source, "eu-central-1", "copied-from")
    bucket_in(target, "us-east-1", "copied-to")
    iam = world.client("iam", "eu-central-1")
    role = iam.create_role(RoleName="replicate", AssumeRolePolicyDocument=json.dumps(TRUST))["Role"]["Arn"]
    iam.put_role_policy(RoleName="replicate", PolicyName="p", PolicyDocument=json.dumps(ALL_OF_S3))
    rule = {"ID": "all", "Status": "Enabled", "Priority": 1, "Filter": {"Prefix": ""}, "DeleteMarkerReplication": {"Status": "Disabled"},
            "Destination": {"Bucket": "arn:aws:s3:::copied-to"}}
    source.put_bucket_replication(Bucket="copied-from", ReplicationConfiguration={"Role": role, "Rules": [rule]})
    source.put_object(Bucket="copied-from", Key="k", Body=b"travels")
    eventually(lambda: [row["Key"] for row in target.list_objects_v2(Bucket="copied-to").get("Contents", ())], ["k"])
    assert read(target, "copied-to", "k") == b"travels"


def test_a_region_judges_the_client_by_the_address_from_which_it_entered(world):
    s3 = world.client("s3", "eu-central-1")
    bucket_in(s3, "eu-central-1", "by-address")
    s3.put_object(Bucket="by-address", Key="k", Body=b"x")
    denied = {"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Principal": "*", "Action": "s3:GetObject",
              "Resource": "arn:aws:s3:::by-address/*", "Condition": {"NotIpAddress": {"aws:SourceIp": "127.0.0.1/32"}}}]}  # fmt: skip
    s3.put_bucket_policy(Bucket="by-address", Policy=json.dumps(denied))
    elsewhere = world.client("s3", "us-east-1", "eu-central-1")
    eventually(lambda: "NotIpAddress" in elsewhere.get_bucket_policy(Bucket="by-address")["Policy"], True)
    assert read(elsewhere, "by-address", "k") == b"x"
    s3.put_bucket_policy(Bucket="by-address", Policy=json.dumps(denied).replace("NotIpAddress", "IpAddress"))
    assert refusal(elsewhere.get_object, Bucket="by-address", Key="k") == ("AccessDenied", 403)


def test_no_client_is_told_the_state(world):
    url = world.settings("eu-central-1")["HTTPS_PROXY"] + "/_atoll/state?since=0"
    asked = urllib.request.Request(url, headers={"Host": "any.s3.us-east-1.amazonaws.com"})
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(asked)
    assert caught.value.code == 403
    caught.value.close()


def test_a_node_says_how_it_is(world):
    with urllib.request.urlopen(world.settings("eu-central-1")["HTTPS_PROXY"] + "/_atoll/health") as response:
        result = json.loads(response.read())
    assert (result["process"], result["holds_state"], result["state_trouble"]) == ("eu-central-1", False, "")
    assert result["certificate_days_left"] > 290


def test_one_folder_is_served_by_one_process(world):
    second = world.atoll("serve", "--place", "london", "--world", str(world.world), "--data", str(world.data("london")))
    assert (second.returncode, "another process serves" in second.stderr) == (1, True)


def test_while_the_state_is_away_data_is_served_and_control_is_not_and_afterwards_all_is_well(tmp_path):
    with machines(tmp_path, "us-east-1", "eu-central-1", "london") as world:
        s3, iam = world.client("s3", "eu-central-1"), world.client("iam", "eu-central-1")
        london = world.client("s3", "london")
        for region, bucket in (("us-east-1", "gone-us"), ("eu-central-1", "here-eu")):
            bucket_in(world.client("s3", region), region, bucket)
            world.client("s3", region).put_object(Bucket=bucket, Key="k", Body=region.encode())
        arn = access_point(world, "survivor", "gone-us", "here-eu")
        iam.create_user(UserName="before")
        world.stop("us-east-1", kill=True)

        s3.put_object(Bucket="here-eu", Key="k", Body=b"written meanwhile")
        assert soon(read, london, arn, "k") == b"written meanwhile"
        assert [user["UserName"] for user in soon(iam.list_users)["Users"]] == ["before"]
        assert refusal(iam.create_user, UserName="during")[1] == 503
        assert refusal(s3.put_bucket_versioning, Bucket="here-eu", VersioningConfiguration={"Status": "Suspended"})[1] == 503
        assert refusal(london.get_object, Bucket="gone-us", Key="k")[1] == 503

        assert world.stop("eu-central-1") == 0
        world.start("eu-central-1")
        assert read(world.client("s3", "eu-central-1"), "here-eu", "k") == b"written meanwhile"

        world.start("us-east-1")
        soon(world.client("iam", "eu-central-1").create_user, UserName="after")
        assert [user["UserName"] for user in world.client("iam", "us-east-1").list_users()["Users"]] == ["after", "before"]
        assert read(world.client("s3", "us-east-1"), "gone-us", "k") == b"us-east-1"


def test_a_world_for_one_machine_is_not_served_and_all_that_is_missing_is_said(tmp_path):
    with pytest.raises(world_config.WorldError) as caught:
        serve_place.plan(Home(tmp_path), world_config.load(None).with_settings("aws", None), "us-east-1")
    text = str(caught.value)
    assert len(caught.value.complaints) == 7
    assert all(word in text for word in ("address =", "node =", "state =", "ap-northeast-1", 'profile = "aws"'))


def test_a_place_that_is_not_in_the_world_is_not_served(tmp_path):
    with pytest.raises(world_config.WorldError, match="paris is no place"):
        serve_place.plan(Home(tmp_path), world_config.parse(world_text(), "w"), "paris")


def test_a_place_without_a_bundle_is_not_served(tmp_path):
    with pytest.raises(node_credentials.BundleError, match="atoll node-key us-east-1"):
        serve_place.plan(Home(tmp_path), world_config.parse(world_text(), "w"), "us-east-1")


def test_a_place_listens_where_it_is_told_to(tmp_path):
    world = world_config.parse(world_text(), "w")
    made = node_credentials.make(Home(tmp_path), world, "us-east-1", None)
    plan = serve_place.plan(Home(tmp_path), world, "us-east-1", folder=made, bind="127.0.0.2")
    with serve_place._bound(plan, plan.place.address) as listening:
        assert listening.getsockname() == ("127.0.0.2", plan.place.address.port)
        with pytest.raises(serve_place.CannotStart, match="cannot be listened on"):
            serve_place._bound(plan, plan.place.address)


def asked_as(world, place, certificate=None):
    """Health of a node, asked at its listener for nodes with a certificate or without."""
    context = ssl.create_default_context(cafile=world.data("us-east-1") / "nodes" / "us-east-1" / "ca.pem")
    context.check_hostname = False
    if certificate is not None:
        context.load_cert_chain(certificate)
    node = world_config.load(world.world).by_name[place].node
    connection = http.client.HTTPSConnection(node.host, node.port, context=context, timeout=PATIENCE_S)
    try:
        connection.request("GET", "/_atoll/health", headers={"Host": "127.0.0.1"})
        return connection.getresponse().status
    finally:
        connection.close()


def test_only_nodes_are_heard_where_nodes_call(world, tmp_path):
    node = world.data("eu-central-1") / "node"
    assert asked_as(world, "us-east-1", node / "node.pem") == 200
    with pytest.raises((OSError, http.client.HTTPException)):
        asked_as(world, "us-east-1")
    leaf_certificates = authority_under(node / "ca.pem", node_credentials._identity(node / "leaves.pem", (node / "leaves.pem").read_bytes()))
    forged = issue(leaf_certificates, "us-east-1.node.atoll.internal", now=time.time(), client=True)
    (tmp_path / "forged.pem").write_bytes(forged.key + forged.certificate)
    with pytest.raises((OSError, http.client.HTTPException)):
        asked_as(world, "us-east-1", tmp_path / "forged.pem")


def test_a_name_outside_the_world_is_refused_at_the_door(world):
    host, _, port = world.settings("london")["HTTPS_PROXY"].removeprefix("http://").partition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=PATIENCE_S)
    connection.request("CONNECT", "example.com:443")
    response = connection.getresponse()
    assert (response.status, b"not a name of this world" in response.read()) == (403, True)
    connection.close()


def test_a_region_that_is_not_in_the_world_is_refused_inside_the_tunnel(world):
    assert refusal(world.client("s3", "london", "us-west-1").list_buckets) == ("AccessDenied", 403)
