"""Calls that a client repeats when an answer was lost, and calls that several clients make at once, on both engines."""

import asyncio
from collections import Counter
from contextlib import asynccontextmanager

import pytest

from atoll.domain.api_call import OperationOutput
from atoll.domain.errors import ApiError
from atoll.object_store.disk.disk_store import DiskStore
from atoll.object_store.memory_store import MemoryStore
from atoll.services.s3.bucket_lookup import configure
from s3world import Ticks, World

CLIENTS = 5
ROLE = "arn:aws:iam::111122223333:role/copier"


@asynccontextmanager
async def _store(engine: str, folder, region: str, now_ms):
    if engine == "memory":
        yield MemoryStore(region, now_ms)
        return
    disk = await DiskStore.open(folder / "store", region, now_ms)
    try:
        yield disk
    finally:
        await disk.close()


def on_both_engines(region: str = "us-east-1", compat: str = "strict"):
    """An async test that is given a fresh world over the memory engine, and one over the disk engine."""

    def tell(steps):
        async def whole(engine, folder):
            clock = Ticks(1_800_000_000.25)
            async with _store(engine, folder, region, lambda: int(clock.seconds * 1000)) as store:
                world = World(region, compat=compat, clock=clock, store=store)
                try:
                    await steps(world)
                finally:
                    world.state.close()

        @pytest.mark.parametrize("engine", ["memory", "disk"])
        def test(engine, tmp_path):
            asyncio.run(whole(engine, tmp_path))

        test.__name__ = steps.__name__
        return test

    return tell


async def outcome(doing) -> OperationOutput | str:
    """The answer, or the code of the refusal."""
    try:
        return await doing
    except ApiError as error:
        return error.code


async def at_once(*calls) -> list[OperationOutput | str]:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(outcome(call)) for call in calls]
    return [task.result() for task in tasks]


async def five(world: World, operation: str, body: bytes = b"", **members) -> list[OperationOutput | str]:
    return await at_once(*(world.execute(operation, body, **members) for _ in range(CLIENTS)))


def codes(outcomes: list[OperationOutput | str]) -> Counter[str]:
    return Counter(each if isinstance(each, str) else "done" for each in outcomes)


# cases/s3.md, S57
@on_both_engines()
async def test_five_clients_that_delete_the_same_versions_are_all_told_of_success(world: World):
    await world.bucket(versioning="Enabled")
    for _ in range(3):
        for number in range(5):
            await world.put(f"d{number}")
    rows = (await world.execute("ListObjectVersions", Bucket="bkt")).members["_entries"]
    wanted = [{"Key": row["Key"], "VersionId": row["VersionId"]} for _, row in rows]
    answers = await five(world, "DeleteObjects", Bucket="bkt", Delete={"Objects": wanted})
    assert len(wanted) == 15
    assert [output.members for output in answers] == [{"Deleted": wanted}] * CLIENTS
    assert (await world.execute("ListObjectVersions", Bucket="bkt")).members["_entries"] == []


@on_both_engines()
async def test_a_version_that_five_delete_at_once_is_deleted_for_each(world: World):
    await world.bucket(versioning="Enabled")
    version = (await world.put("k"))["VersionId"]
    answers = await five(world, "DeleteObject", Bucket="bkt", Key="k", VersionId=version)
    assert [(output.status, output.members) for output in answers] == [(204, {"VersionId": version})] * CLIENTS


@on_both_engines()
async def test_a_marker_that_five_delete_at_once_shows_the_object_again(world: World):
    await world.bucket(versioning="Enabled")
    await world.put("k", b"back")
    marker = (await world.execute("DeleteObject", Bucket="bkt", Key="k")).members["VersionId"]
    answers = await five(world, "DeleteObject", Bucket="bkt", Key="k", VersionId=marker)
    assert [output.members["VersionId"] for output in answers] == [marker] * CLIENTS
    assert await world.get("k") == b"back"


@pytest.mark.parametrize(("versioning", "left"), [("", []), ("Suspended", ["null"])])
@pytest.mark.parametrize("operation", ["DeleteObject", "DeleteObjects"])
def test_a_key_that_five_delete_at_once_is_gone_and_leaves_one_marker_at_most(operation, versioning, left, tmp_path):
    @on_both_engines()
    async def steps(world: World):
        await world.bucket(versioning=versioning)
        await world.put("k")
        members = {"Key": "k"} if operation == "DeleteObject" else {"Delete": {"Objects": [{"Key": "k"}]}}
        answers = await five(world, operation, Bucket="bkt", **members)
        assert codes(answers) == {"done": CLIENTS}
        assert not any("Errors" in output.members for output in answers)
        rows = (await world.execute("ListObjectVersions", Bucket="bkt")).members["_entries"]
        assert [row["VersionId"] for _, row in rows] == left

    for engine in ("memory", "disk"):
        steps(engine, tmp_path)


async def _upload(world: World, **members) -> str:
    return (await world.execute("CreateMultipartUpload", Bucket="bkt", Key="k", **members)).members["UploadId"]


async def _part(world: World, upload: str) -> dict:
    output = await world.execute("UploadPart", b"part", Bucket="bkt", Key="k", UploadId=upload, PartNumber=1)
    return {"PartNumber": 1, "ETag": output.members["ETag"]}


@on_both_engines()
async def test_a_part_that_five_send_at_once_is_one_part(world: World):
    await world.bucket()
    upload = await _upload(world)
    answers = await five(world, "UploadPart", b"part", Bucket="bkt", Key="k", UploadId=upload, PartNumber=1)
    listed = (await world.execute("ListParts", Bucket="bkt", Key="k", UploadId=upload)).members["Parts"]
    assert len({output.members["ETag"] for output in answers}) == 1
    assert [(part["PartNumber"], part["ETag"]) for part in listed] == [(1, answers[0].members["ETag"])]


@on_both_engines()
async def test_an_upload_that_five_complete_at_once_is_one_version_and_one_answer(world: World):
    await world.bucket(versioning="Enabled")
    upload = await _upload(world)
    parts = {"Parts": [await _part(world, upload)]}
    call = {"Bucket": "bkt", "Key": "k", "UploadId": upload, "MultipartUpload": parts}
    answers = await five(world, "CompleteMultipartUpload", **call)
    again = await world.execute("CompleteMultipartUpload", **call)
    assert {tuple(sorted(output.members.items())) for output in (*answers, again)} == {tuple(sorted(again.members.items()))}
    assert len((await world.execute("ListObjectVersions", Bucket="bkt")).members["_entries"]) == 1


@on_both_engines()
async def test_an_upload_that_five_abort_at_once_is_gone_for_each(world: World):
    await world.bucket()
    upload = await _upload(world)
    await _part(world, upload)
    assert codes(await five(world, "AbortMultipartUpload", Bucket="bkt", Key="k", UploadId=upload)) == {"done": CLIENTS}
    assert await world.store.scan("bkt!uploads") == []


@on_both_engines()
async def test_an_abort_and_a_complete_that_meet_agree_on_what_there_is(world: World):
    await world.bucket()
    for turn in range(12):
        upload = await _upload(world)
        call = {"Bucket": "bkt", "Key": "k", "UploadId": upload}
        parts = {"Parts": [await _part(world, upload)]}
        complete = world.execute("CompleteMultipartUpload", **call, MultipartUpload=parts)
        abort = world.execute("AbortMultipartUpload", **call)
        calls = (complete, abort) if turn % 2 else (abort, complete)
        found = dict(zip(("complete", "abort") if turn % 2 else ("abort", "complete"), await at_once(*calls), strict=True))
        made = not isinstance(found["complete"], str)
        assert made or found["complete"] == "NoSuchUpload"
        assert found["abort"].status == 204
        assert await world.keys() == (["k"] if made else [])
        assert await world.store.scan("bkt!uploads") == []
        await world.execute("DeleteObject", Bucket="bkt", Key="k")


@pytest.mark.parametrize(
    ("region", "compat", "expected"),
    [
        ("us-east-1", "strict", {"done": 5}),
        ("eu-west-1", "strict", {"done": 1, "BucketAlreadyOwnedByYou": 4}),
        ("eu-west-1", "lenient", {"done": 5}),
    ],
)
def test_a_bucket_that_its_owner_creates_five_times_at_once_is_one_bucket(region, compat, expected, tmp_path):
    @on_both_engines(region, compat)
    async def steps(world: World):
        location = {} if region == "us-east-1" else {"LocationConstraint": region}
        assert codes(await five(world, "CreateBucket", Bucket="bkt", CreateBucketConfiguration=location)) == expected
        assert [row["Name"] for row in (await world.execute("ListBuckets")).members["Buckets"]] == ["bkt"]

    for engine in ("memory", "disk"):
        steps(engine, tmp_path / engine)


@on_both_engines()
async def test_a_bucket_that_five_delete_at_once_goes_once(world: World):
    await world.bucket()
    found = codes(await five(world, "DeleteBucket", Bucket="bkt"))
    assert found["done"] == 1
    assert found.keys() <= {"done", "NoSuchBucket", "OperationAborted"}
    assert (await world.refused("DeleteBucket", Bucket="bkt")).code == "NoSuchBucket"


POLICY = (
    '{"Version": "2012-10-17", "Statement": {"Effect": "Deny", "Principal": "*", "Action": "s3:GetObject", '
    '"Resource": "arn:aws:s3:::bkt/*"}}'
)
RULE = {
    "Priority": 1, "Status": "Enabled", "Filter": {}, "DeleteMarkerReplication": {"Status": "Disabled"},
    "Destination": {"Bucket": "arn:aws:s3:::far"},
}  # fmt: skip
SETTINGS = [
    ("PutBucketVersioning", {"VersioningConfiguration": {"Status": "Enabled"}}, "GetBucketVersioning", None),
    ("PutBucketPolicy", {"Policy": POLICY}, "GetBucketPolicy", "NoSuchBucketPolicy"),
    ("PutBucketTagging", {"Tagging": {"TagSet": [{"Key": "a", "Value": "1"}]}}, "GetBucketTagging", "NoSuchTagSet"),
    (
        "PutPublicAccessBlock",
        {"PublicAccessBlockConfiguration": {"BlockPublicAcls": True}},
        "GetPublicAccessBlock",
        "NoSuchPublicAccessBlockConfiguration",
    ),
    (
        "PutBucketOwnershipControls",
        {"OwnershipControls": {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}},
        "GetBucketOwnershipControls",
        "OwnershipControlsNotFoundError",
    ),
    (
        "PutBucketReplication",
        {"ReplicationConfiguration": {"Role": ROLE, "Rules": [RULE]}},
        "GetBucketReplication",
        "ReplicationConfigurationNotFoundError",
    ),
]


@pytest.mark.parametrize(("put", "members", "get", "unset"), SETTINGS, ids=[row[0] for row in SETTINGS])
def test_a_setting_that_five_put_or_delete_at_once_is_put_or_deleted_for_each(put, members, get, unset, tmp_path):
    @on_both_engines()
    async def steps(world: World):
        await world.bucket(versioning="Enabled")
        await world.bucket("far", versioning="Enabled")
        assert codes(await five(world, put, Bucket="bkt", **members)) == {"done": CLIENTS}
        assert (await world.execute(get, Bucket="bkt")).members
        if unset is not None:
            assert codes(await five(world, put.replace("Put", "Delete"), Bucket="bkt")) == {"done": CLIENTS}
            assert (await world.refused(get, Bucket="bkt")).code == unset
            await world.execute(put.replace("Put", "Delete"), Bucket="bkt")

    for engine in ("memory", "disk"):
        steps(engine, tmp_path)


@on_both_engines()
async def test_two_replication_configurations_never_share_a_version(world: World):
    await world.bucket(versioning="Enabled")
    await world.bucket("far", versioning="Enabled")
    put = {"Bucket": "bkt", "ReplicationConfiguration": {"Role": ROLE, "Rules": [RULE]}}
    await world.execute("PutBucketReplication", **put)
    calls = [("PutBucketReplication", put), ("DeleteBucketReplication", {"Bucket": "bkt"})] * 3
    seen = {1}

    async def change(operation: str, members: dict) -> OperationOutput:
        output = await world.execute(operation, **members)
        seen.add(world.deps.bucket_record("bkt").replication_version)
        return output

    assert codes(await at_once(*(change(*call) for call in calls))) == {"done": 6}
    last = world.deps.bucket_record("bkt")
    await world.execute("DeleteBucketReplication", Bucket="bkt")
    await world.execute("PutBucketReplication", **put)
    assert world.deps.bucket_record("bkt").replication_version > last.replication_version >= max(seen) >= 4


@on_both_engines()
async def test_a_public_policy_does_not_slip_past_a_block_that_comes_at_the_same_moment(world: World):
    await world.bucket()
    public = POLICY.replace("Deny", "Allow")
    on = {"PublicAccessBlockConfiguration": {"BlockPublicPolicy": True}}
    off = {"PublicAccessBlockConfiguration": {"BlockPublicPolicy": False}}
    await world.execute("PutPublicAccessBlock", Bucket="bkt", **off)
    block, put = await at_once(
        world.execute("PutPublicAccessBlock", Bucket="bkt", **on), world.execute("PutBucketPolicy", Bucket="bkt", Policy=public)
    )
    assert (codes([block]), put) == ({"done": 1}, "AccessDenied")


@on_both_engines()
async def test_tags_that_five_delete_at_once_are_gone_for_each(world: World):
    await world.bucket()
    await world.put("k", Tagging="a=1")
    assert codes(await five(world, "DeleteObjectTagging", Bucket="bkt", Key="k")) == {"done": CLIENTS}
    assert (await world.execute("GetObjectTagging", Bucket="bkt", Key="k")).members["TagSet"] == []
    await world.execute("DeleteObjectTagging", Bucket="bkt", Key="k")


@on_both_engines()
async def test_a_setting_meant_for_a_bucket_that_is_gone_does_not_land_on_the_next_of_its_name(world: World):
    await world.bucket()
    meant = world.deps.bucket_record("bkt")
    await world.execute("DeleteBucket", Bucket="bkt")
    world.clock.seconds += 1
    await world.bucket()
    with pytest.raises(ApiError, match="NoSuchBucket"):
        await configure(world.deps, meant, tags={"a": "1"})
    assert world.deps.bucket_record("bkt").tags == {}
