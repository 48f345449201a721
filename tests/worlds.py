"""A world of real processes for tests: started by the command line, entered by unmodified boto3, taken down again."""

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import boto3
from botocore.config import Config

ATOLL = [sys.executable, "-m", "atoll"]
TWO_REGIONS = """
jitter_ms = 0.0
links = [{ between = ["us-east-1", "eu-central-1"], rtt_ms = 4.0, source = "test" }]
[places.us-east-1]
kind = "region"
at = [38.9, -77.4]
[places.eu-central-1]
kind = "region"
at = [50.1, 8.7]
"""
TRUST = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "s3.amazonaws.com"}, "Action": "sts:AssumeRole"}]}
ALL_OF_S3 = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}


class RunningWorld:
    def __init__(self, home: Path) -> None:
        self.home = home
        self.environment = {**os.environ, "ATOLL_HOME": str(home)}

    def atoll(self, *arguments: str, check: bool = True, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        done = subprocess.run([*ATOLL, *arguments], env=self.environment, capture_output=True, text=True, timeout=timeout)
        assert not check or done.returncode == 0, done.stderr + done.stdout
        return done

    def status(self) -> dict[str, dict]:
        return {place["name"]: place for place in json.loads(self.atoll("status", "--json", check=False).stdout)["places"]}

    def settings(self, place: str) -> dict[str, str]:
        return json.loads(self.atoll("env", "--from", place, "--json").stdout)

    def client(self, service: str, place: str, region: str | None = None, **config):
        """An unmodified boto3 client that stands in `place`; proxy and CA given as its own options, so that tests of one
        process can stand in several places."""
        found = self.settings(place)
        return boto3.client(
            service,
            region_name=region or found["AWS_REGION"],
            aws_access_key_id=found["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=found["AWS_SECRET_ACCESS_KEY"],
            verify=found["AWS_CA_BUNDLE"],
            config=Config(proxies={"https": found["HTTPS_PROXY"], "http": found["HTTP_PROXY"]}, retries={"total_max_attempts": 3}, **config),
        )


@contextmanager
def running_world(home: Path, text: str = TWO_REGIONS):
    home.mkdir(parents=True, exist_ok=True)
    file = home / "given.toml"
    file.write_text(text)
    world = RunningWorld(home / "w")
    world.atoll("up", "--detach", "--world", str(file))
    try:
        yield world
    finally:
        world.atoll("down", check=False)


def replicated_pair(world: RunningWorld, source: str, target: str, *, source_bucket: str, target_bucket: str):
    """Two versioned buckets, the first copied to the second."""
    s3 = {}
    for region, bucket in ((source, source_bucket), (target, target_bucket)):
        s3[region] = world.client("s3", region)
        where = {} if region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": region}}
        s3[region].create_bucket(Bucket=bucket, **where)
        s3[region].put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    iam = world.client("iam", source)
    role = iam.create_role(RoleName="replicate", AssumeRolePolicyDocument=json.dumps(TRUST))["Role"]["Arn"]
    iam.put_role_policy(RoleName="replicate", PolicyName="p", PolicyDocument=json.dumps(ALL_OF_S3))
    rule = {"ID": "all", "Status": "Enabled", "Priority": 1, "Filter": {"Prefix": ""}, "DeleteMarkerReplication": {"Status": "Enabled"},
            "Destination": {"Bucket": f"arn:aws:s3:::{target_bucket}"}}
    s3[source].put_bucket_replication(Bucket=source_bucket, ReplicationConfiguration={"Role": role, "Rules": [rule]})
    return s3[source], s3[target]
