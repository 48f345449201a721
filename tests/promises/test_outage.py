"""A region that is away loses nothing: what was written meanwhile arrives, once, when it is back."""

import os
import threading
import time

import pytest

from worlds import replicated_pair, running_world

pytestmark = pytest.mark.xdist_group("world-outage")


def versions(s3, bucket):
    rows = [page for page in s3.get_paginator("list_object_versions").paginate(Bucket=bucket)]
    found = [(row["Key"], row["VersionId"], row["ETag"]) for page in rows for row in page.get("Versions", ())]
    return sorted(found + [(row["Key"], row["VersionId"], "marker") for page in rows for row in page.get("DeleteMarkers", ())])


def write_until(stop, s3, bucket, acknowledged):
    count = 0
    while not stop.is_set():
        key = f"k{count % 50:02d}"
        if count % 7 == 6:
            answer = s3.delete_object(Bucket=bucket, Key=key)
        else:
            answer = s3.put_object(Bucket=bucket, Key=key, Body=b"%d" % count * 100)
        acknowledged.append((key, answer["VersionId"]))
        count += 1


def outage(tmp_path, seconds):
    with running_world(tmp_path) as world:
        source, target = replicated_pair(world, "us-east-1", "eu-central-1", source_bucket="src-b", target_bucket="dst-b")
        stop, acknowledged = threading.Event(), []
        writer = threading.Thread(target=write_until, args=(stop, source, "src-b", acknowledged))
        writer.start()
        world.atoll("down", "--place", "eu-central-1")
        before = len(acknowledged)
        stop.wait(seconds)
        world.atoll("up", "--detach", "--place", "eu-central-1")
        stop.set()
        writer.join()
        assert len(acknowledged) > before
        end = time.monotonic() + 60
        while versions(target, "dst-b") != versions(source, "src-b") and time.monotonic() < end:
            time.sleep(0.2)
        deps, there = versions(source, "src-b"), versions(target, "dst-b")
        assert deps == there
        assert len({row[1] for row in there}) == len(there)
        assert {row[:2] for row in deps} == set(acknowledged)
        world.atoll("check")


def test_writes_of_a_five_second_outage_arrive_once_and_whole(tmp_path):
    outage(tmp_path, 5)


@pytest.mark.soak
def test_writes_of_a_minute_of_outage_arrive_once_and_whole(tmp_path):
    outage(tmp_path, 60)


def test_writes_survive_a_region_that_is_killed_while_it_copies(tmp_path):
    with running_world(tmp_path) as world:
        source, target = replicated_pair(world, "us-east-1", "eu-central-1", source_bucket="src-b", target_bucket="dst-b")
        stop, acknowledged = threading.Event(), []
        writer = threading.Thread(target=write_until, args=(stop, source, "src-b", acknowledged))
        writer.start()
        for region in ("eu-central-1", "eu-central-1", "eu-central-1"):
            stop.wait(0.7)
            os.kill(world.status()[region]["pid"], 9)
        stop.wait(1)
        stop.set()
        writer.join()
        end = time.monotonic() + 60
        while versions(target, "dst-b") != versions(source, "src-b") and time.monotonic() < end:
            time.sleep(0.2)
        assert versions(target, "dst-b") == versions(source, "src-b")
        assert {row[:2] for row in versions(source, "src-b")} == set(acknowledged)
