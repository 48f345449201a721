from dataclasses import replace

from atoll.domain.objects import Key
from s3world import World, scenario

ROLE = "arn:aws:iam::111122223333:role/copier"


def _to(bucket: str, *, markers: str = "Enabled", prefix: str = "", **more) -> dict:
    return {
        "Priority": 1,
        "Status": "Enabled",
        "Filter": {"Prefix": prefix},
        "DeleteMarkerReplication": {"Status": markers},
        "Destination": {"Bucket": f"arn:aws:s3:::{bucket}"},
        **more,
    }


async def _pair(world: World, *rules: dict) -> None:
    await world.bucket(versioning="Enabled")
    await world.region("eu-west-1").bucket("far", versioning="Enabled")
    await _configure(world, *rules)


async def _configure(world: World, *rules: dict) -> None:
    configuration = {"Role": ROLE, "Rules": list(rules)}
    await world.execute("PutBucketReplication", Bucket="bkt", ReplicationConfiguration=configuration)


@scenario()
async def test_a_configuration_comes_back_with_ids_and_can_be_deleted(world: World):
    await _pair(world, _to("far"))
    kept = (await world.execute("GetBucketReplication", Bucket="bkt")).members["ReplicationConfiguration"]
    version = world.deps.bucket_record("bkt").replication_version
    await world.execute("DeleteBucketReplication", Bucket="bkt")
    gone = await world.refused("GetBucketReplication", Bucket="bkt")
    assert kept["Role"] == ROLE
    assert kept["Rules"][0]["ID"]
    assert kept["Rules"][0]["Destination"] == {"Bucket": "arn:aws:s3:::far"}
    assert (gone.status, gone.code) == (404, "ReplicationConfigurationNotFoundError")
    assert world.deps.bucket_record("bkt").replication_version == version + 1


@scenario()
async def test_source_and_destination_need_versioning(world: World):
    await world.bucket()
    await world.region("eu-west-1").bucket("far")
    configuration = {"Role": ROLE, "Rules": [_to("far")]}
    source = await world.refused("PutBucketReplication", Bucket="bkt", ReplicationConfiguration=configuration)
    await world.versioning("Enabled")
    destination = await world.refused("PutBucketReplication", Bucket="bkt", ReplicationConfiguration=configuration)
    assert (source.code, destination.code) == ("InvalidRequest", "InvalidRequest")


@scenario()
async def test_the_role_must_be_handed_over(world: World):
    await _pair(world, _to("far"))
    world.denied.add(f"iam:PassRole {ROLE}")
    configuration = {"Role": ROLE, "Rules": [_to("far")]}
    error = await world.refused("PutBucketReplication", Bucket="bkt", ReplicationConfiguration=configuration)
    empty = await world.refused("PutBucketReplication", Bucket="bkt", ReplicationConfiguration={"Role": ROLE, "Rules": []})
    assert (error.code, empty.code) == ("AccessDenied", "MalformedXML")


@scenario()
async def test_a_source_cannot_be_suspended(world: World):
    await _pair(world, _to("far"))
    status = {"Status": "Suspended"}
    error = await world.refused("PutBucketVersioning", Bucket="bkt", VersioningConfiguration=status)
    await world.execute("DeleteBucketReplication", Bucket="bkt")
    await world.versioning("Suspended")
    assert (error.status, error.code) == (409, "InvalidBucketState")


@scenario()
async def test_a_new_version_is_pending_where_a_rule_matches_and_without_status_elsewhere(world: World):
    await _pair(world, _to("far", prefix="logs/"))
    await world.put("logs/1")
    await world.put("other")
    metadata = await world.store.head(Key("bkt", "logs/1"))
    assert metadata.replication == {"far": "PENDING"}
    assert (await world.head("logs/1"))["ReplicationStatus"] == "PENDING"
    assert "ReplicationStatus" not in await world.head("other")


@scenario()
async def test_objects_from_before_the_configuration_owe_nothing(world: World):
    await world.bucket()
    await world.put("k")
    await world.region("eu-west-1").bucket("far", versioning="Enabled")
    await world.versioning("Enabled")
    await _configure(world, _to("far"))
    assert "ReplicationStatus" not in await world.head("k")


@scenario()
async def test_copies_and_completed_uploads_are_pending_too(world: World):
    await _pair(world, _to("far"))
    await world.put("src")
    await world.execute("CopyObject", Bucket="bkt", Key="copy", CopySource="bkt/src")
    upload = (await world.execute("CreateMultipartUpload", Bucket="bkt", Key="parts")).members["UploadId"]
    part = await world.execute("UploadPart", b"x", Bucket="bkt", Key="parts", UploadId=upload, PartNumber=1)
    parts = {"Parts": [{"PartNumber": 1, "ETag": part.members["ETag"]}]}
    await world.execute("CompleteMultipartUpload", Bucket="bkt", Key="parts", UploadId=upload, MultipartUpload=parts)
    assert (await world.head("copy"))["ReplicationStatus"] == "PENDING"
    assert (await world.head("parts"))["ReplicationStatus"] == "PENDING"


@scenario()
async def test_markers_go_only_where_a_rule_wants_them(world: World):
    await _pair(world, _to("far", prefix="a"), _to("far", prefix="b", markers="Disabled", Priority=2))
    for key in ("a", "b"):
        await world.execute("DeleteObject", Bucket="bkt", Key=key)
    assert (await world.store.head(Key("bkt", "a"))).replication == {"far": "PENDING"}
    assert (await world.store.head(Key("bkt", "b"))).replication == {}


@scenario()
async def test_a_change_of_tags_is_pending_again_where_the_object_went(world: World):
    await _pair(world, _to("far"))
    version = (await world.put("k"))["VersionId"]
    await world.store.update_metadata(Key("bkt", "k"), version, lambda metadata: replace(metadata, replication={"far": "COMPLETED"}))
    done = (await world.head("k"))["ReplicationStatus"]
    await world.execute("PutObjectTagging", Bucket="bkt", Key="k", Tagging={"TagSet": [{"Key": "a", "Value": "1"}]})
    assert done == "COMPLETED"
    assert (await world.head("k"))["ReplicationStatus"] == "PENDING"


@scenario()
async def test_a_replica_says_so(world: World):
    await world.bucket(versioning="Enabled")
    version = (await world.put("k"))["VersionId"]
    await world.store.update_metadata(Key("bkt", "k"), version, lambda metadata: replace(metadata, replica=True))
    assert (await world.head("k"))["ReplicationStatus"] == "REPLICA"


@scenario()
async def test_the_role_is_one_of_the_buckets_own_account(world: World):
    await _pair(world, _to("far"))
    configuration = {"Role": "arn:aws:iam::999999999999:role/copier", "Rules": [_to("far")]}
    error = await world.refused("PutBucketReplication", Bucket="bkt", ReplicationConfiguration=configuration)
    assert (error.code, error.message) == ("AccessDenied", "Cross-account pass role is not allowed.")
