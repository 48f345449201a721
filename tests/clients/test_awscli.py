"""The AWS CLI as it comes."""

import json

import pytest

from clients.client_fixtures import until

pytestmark = [pytest.mark.client, pytest.mark.xdist_group("clients")]

BUCKET = "walk-us-east-1"


def aws(world, *arguments, **more):
    return world.ok("aws", *arguments, **more)


def test_who_am_i(world):
    result = json.loads(aws(world, "sts", "get-caller-identity"))
    assert result == {"UserId": world.account, "Account": world.account, "Arn": f"arn:aws:iam::{world.account}:root"}


def test_a_file_goes_there_and_back(world, tmp_path):
    (tmp_path / "a.txt").write_text("hello")
    aws(world, "s3", "cp", tmp_path / "a.txt", f"s3://{BUCKET}/cli/a.txt")
    assert "cli/a.txt" in aws(world, "s3", "ls", "--recursive", f"s3://{BUCKET}/cli/")
    assert aws(world, "s3", "cp", f"s3://{BUCKET}/cli/a.txt", "-") == "hello"
    aws(world, "s3", "mv", f"s3://{BUCKET}/cli/a.txt", f"s3://{BUCKET}/cli/b.txt")
    assert aws(world, "s3", "ls", f"s3://{BUCKET}/cli/").split()[-1] == "b.txt"
    aws(world, "s3", "rm", f"s3://{BUCKET}/cli/b.txt")
    assert "NoSuchKey" in world.refused("aws", "s3api", "get-object", "--bucket", BUCKET, "--key", "cli/b.txt", tmp_path / "none")


def test_a_folder_is_synchronised_through_the_arn(world, tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    for name in ("one.txt", "sub/two.txt", "sub/drei und vier ä.txt"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(name)
    aws(world, "s3", "sync", source, f"s3://{world.arn}/sync/")
    aws(world, "s3", "sync", f"s3://{world.arn}/sync/", target)
    assert {path.relative_to(target).as_posix(): path.read_text() for path in target.rglob("*.txt")} == {name: name for name in ("one.txt", "sub/two.txt", "sub/drei und vier ä.txt")}
    (source / "one.txt").unlink()
    aws(world, "s3", "sync", "--delete", source, f"s3://{world.arn}/sync/")
    assert "one.txt" not in aws(world, "s3", "ls", f"s3://{world.arn}/sync/")


def test_a_bucket_is_made_and_removed_in_another_region(world):
    aws(world, "s3", "mb", "s3://walk-made", "--region", "eu-central-1")
    assert json.loads(aws(world, "s3api", "get-bucket-location", "--bucket", "walk-made")) == {"LocationConstraint": "eu-central-1"}
    aws(world, "s3", "rb", "s3://walk-made", "--region", "eu-central-1")
    assert "walk-made" not in aws(world, "s3", "ls")


def test_a_presigned_url_opens_in_curl(world):
    url = aws(world, "s3", "presign", f"s3://{BUCKET}/hello").strip()
    assert world.ok("curl", "-sSf", url) == "us-east-1"


def test_an_endpoint_option_reaches_a_bucket_and_is_ignored_for_the_arn(world, tmp_path):
    endpoint = f"http://127.0.0.1:{world.port()}"
    assert aws(world, "--endpoint-url", endpoint, "s3", "cp", f"s3://{BUCKET}/hello", "-") == "us-east-1"
    aws(world, "--endpoint-url", "http://127.0.0.1:9", "s3api", "get-object", "--bucket", world.arn, "--key", "hello", tmp_path / "back")
    assert (tmp_path / "back").read_text() == "us-east-1"


def test_endpoint_mode_needs_no_proxy(world):
    done = world.atoll("exec", "--from", "eu-central-1", "--mode", "endpoint", "--", "aws", "s3", "cp", "s3://walk-eu-central-1/hello", "-")
    assert (done.stdout, done.returncode) == ("eu-central-1", 0)


def test_access_points_are_made_polled_steered_and_deleted(world):
    details = json.dumps({"Name": "steered", "Regions": [{"Bucket": BUCKET}, {"Bucket": "walk-eu-central-1"}]})
    control = ("aws", "s3control", "--region", "us-west-2")
    made = json.loads(world.ok(*control, "create-multi-region-access-point", "--account-id", world.account, "--client-token", "steer", "--details", details))
    def described():
        return json.loads(world.ok(*control, "describe-multi-region-access-point-operation", "--account-id", world.account, "--request-token-arn", made["RequestTokenARN"]))

    until(lambda: described()["AsyncOperation"]["RequestStatus"] == "SUCCEEDED")
    point = json.loads(world.ok(*control, "get-multi-region-access-point", "--account-id", world.account, "--name", "steered"))["AccessPoint"]
    assert point["Status"] == "READY"
    arn = f"arn:aws:s3::{world.account}:accesspoint/{point['Alias']}"
    world.ok("aws", "s3control", "--region", "us-east-1", "submit-multi-region-access-point-routes", "--account-id", world.account, "--mrap", arn, "--route-updates", f"Bucket={BUCKET},Region=us-east-1,TrafficDialPercentage=0")
    until(lambda: world.ok("aws", "s3", "cp", f"s3://{arn}/hello", "-") == "eu-central-1")


def test_aws_redirects_are_followed(world):
    assert "hello" in aws(world, "s3", "ls", "s3://walk-eu-central-1/")


def test_a_region_outside_the_world_is_refused_and_told_which_there_are(world):
    result = world.refused("aws", "s3api", "list-objects-v2", "--bucket", BUCKET, "--region", "sa-east-1")
    assert "us-east-1" in result
    assert "sa-east-1" in result
