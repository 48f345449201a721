"""What clients live through: large objects, a region that is killed, and nothing lost."""

import os
import signal
import subprocess

import pytest

from clients.client_fixtures import Resident, until

pytestmark = [pytest.mark.client, pytest.mark.xdist_group("clients")]

LARGE_BYTES = 300 * 1000 * 1000  # stands for 5 GB: what flows through does not stay
GROWTH_MAX_MB = 60

PRESIGN = """
    say([s3.generate_presigned_url(verb, Params={"Bucket": argv[0], "Key": argv[1]}, ExpiresIn=600) for verb in ("put_object", "get_object")])
"""


def test_a_large_object_needs_no_more_memory_than_a_small_one(world):
    put, get = world.boto3(PRESIGN, "walk-us-east-1", "endurance/large")
    with open(world.folder / "large", "wb") as file:
        file.truncate(LARGE_BYTES)
        file.seek(LARGE_BYTES - 4)
        file.write(b"end.")
    status = world.status()
    with Resident([status["us-east-1"]["pid"], status["entry"]["pid"]]) as resident:
        assert world.ok("curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "-T", "large", put) == "200"
        assert world.ok("curl", "-sS", "-o", "back", "-w", "%{http_code}", get) == "200"
    assert max(resident.growth_mb.values()) < GROWTH_MAX_MB
    assert subprocess.run(["cmp", "large", "back"], cwd=world.folder, check=False).returncode == 0
    for name in ("large", "back"):
        (world.folder / name).unlink()


def test_the_same_through_the_access_point(world):
    put, get = world.boto3(PRESIGN, world.arn, "endurance/large-point", place="ap-northeast-1")
    size = LARGE_BYTES // 3
    with open(world.folder / "large", "wb") as file:
        file.truncate(size)
    status = world.status()
    with Resident([status["ap-northeast-1"]["pid"], status["entry"]["pid"]]) as resident:
        assert world.ok("curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "-T", "large", put, place="ap-northeast-1") == "200"
        assert world.ok("curl", "-sS", "-o", "/dev/null", "-w", "%{http_code} %{size_download}", get, place="ap-northeast-1") == f"200 {size}"
    assert max(resident.growth_mb.values()) < GROWTH_MAX_MB
    (world.folder / "large").unlink()


def test_a_region_killed_in_the_middle_of_a_write_comes_back_without_it_and_with_all_else(world):
    put, get = world.boto3(PRESIGN, "walk-eu-central-1", "endurance/half", place="eu-central-1")
    world.boto3("say(code(s3.put_object, Bucket='walk-eu-central-1', Key='endurance/whole', Body=b'whole'))", place="eu-central-1")
    with open(world.folder / "half", "wb") as file:
        file.truncate(50_000_000)
    argv = ["atoll", "exec", "--from", "eu-central-1", "--", "curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "--limit-rate", "10M", "-T", "half", put]
    before = world.status()["eu-central-1"]["pid"]
    with subprocess.Popen(argv, env=world.env, cwd=world.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as writing:
        until(lambda: any(path.stat().st_size > 1_000_000 for path in (world.folder / "world" / "stores" / "eu-central-1").rglob("*") if path.is_file()))
        os.kill(before, signal.SIGKILL)
        result, _ = writing.communicate(timeout=30)
    assert result != "200"

    def back():
        row = world.status()["eu-central-1"]
        return row["state"] == "ready" and row["pid"] not in (before, None)

    until(back)
    read = "say([code(s3.get_object, Bucket='walk-eu-central-1', Key=key) for key in ('endurance/whole', 'hello', 'endurance/half')])"
    assert world.boto3(read, place="eu-central-1") == [200, 200, "NoSuchKey"]
    assert world.ok("curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", get, place="eu-central-1") == "404"
    check = world.atoll("check")
    assert (check.returncode, "0 broken invariants" in check.stdout) == (0, True), check.stdout
