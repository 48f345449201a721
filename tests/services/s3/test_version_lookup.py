import pytest

from s3world import World, scenario


async def _history(world: World, **members) -> list[tuple[str, str, str, bool]]:
    output = await world.execute("ListObjectVersions", Bucket="bkt", **members)
    return [(kind, row["Key"], row["VersionId"], row["IsLatest"]) for kind, row in output.members["_entries"]]


@scenario()
async def test_every_put_of_a_versioned_bucket_makes_a_version(world: World):
    await world.bucket(versioning="Enabled")
    first, second = await world.put("k", b"1"), await world.put("k", b"2")
    assert len(first["VersionId"]) == 32
    assert await world.get("k") == b"2"
    assert await world.get("k", VersionId=first["VersionId"]) == b"1"
    assert (await world.head("k"))["VersionId"] == second["VersionId"]
    assert [row[2:] for row in await _history(world)] == [(second["VersionId"], True), (first["VersionId"], False)]


@scenario()
async def test_delete_puts_a_marker_that_hides_the_object(world: World):
    await world.bucket(versioning="Enabled")
    version = (await world.put("k"))["VersionId"]
    gone = await world.execute("DeleteObject", Bucket="bkt", Key="k")
    marker = gone.members["VersionId"]
    hidden = await world.refused("GetObject", Bucket="bkt", Key="k")
    asked = await world.refused("GetObject", Bucket="bkt", Key="k", VersionId=marker)
    assert (gone.status, gone.members["DeleteMarker"]) == (204, True)
    assert (hidden.code, hidden.headers["x-amz-delete-marker"]) == ("NoSuchKey", "true")
    assert (asked.status, asked.headers["allow"]) == (405, "DELETE")
    assert asked.details == {"Method": "GET", "ResourceType": "DeleteMarker"}
    assert await world.keys() == []
    assert await world.get("k", VersionId=version) == b"hello"


@scenario()
async def test_deleting_the_marker_brings_the_object_back(world: World):
    await world.bucket(versioning="Enabled")
    await world.put("k")
    marker = (await world.execute("DeleteObject", Bucket="bkt", Key="k")).members["VersionId"]
    gone = await world.execute("DeleteObject", Bucket="bkt", Key="k", VersionId=marker)
    assert gone.members == {"DeleteMarker": True, "VersionId": marker}
    assert await world.get("k") == b"hello"


@scenario()
async def test_deleting_a_version_is_for_good(world: World):
    await world.bucket(versioning="Enabled")
    version = (await world.put("k"))["VersionId"]
    gone = await world.execute("DeleteObject", Bucket="bkt", Key="k", VersionId=version)
    again = await world.execute("DeleteObject", Bucket="bkt", Key="k", VersionId=version)
    assert (gone.members, again.members) == ({"VersionId": version}, {"VersionId": version})
    assert (await world.refused("GetObject", Bucket="bkt", Key="k", VersionId=version)).code == "NoSuchVersion"
    assert await _history(world) == []


@scenario()
async def test_objects_from_before_versioning_are_the_null_version(world: World):
    await world.bucket()
    await world.put("k", b"old")
    await world.versioning("Enabled")
    assert (await world.head("k"))["VersionId"] == "null"
    await world.put("k", b"new")
    assert await world.get("k", VersionId="null") == b"old"


@scenario()
async def test_a_suspended_bucket_has_exactly_one_null_marker_and_a_put_replaces_it(world: World):
    await world.bucket(versioning="Enabled")
    kept = (await world.put("k", b"kept"))["VersionId"]
    await world.versioning("Suspended")
    first = await world.execute("DeleteObject", Bucket="bkt", Key="k")
    await world.execute("DeleteObject", Bucket="bkt", Key="k")
    markers = await _history(world)
    put = await world.put("k", b"null again")
    assert first.members == {"DeleteMarker": True, "VersionId": "null"}
    assert markers == [("DeleteMarkers", "k", "null", True), ("Versions", "k", kept, False)]
    assert put["VersionId"] == "null"
    assert await _history(world) == [("Versions", "k", "null", True), ("Versions", "k", kept, False)]


@scenario()
async def test_an_unversioned_bucket_deletes_at_once_and_shows_no_ids(world: World):
    await world.bucket()
    await world.put("k")
    gone = await world.execute("DeleteObject", Bucket="bkt", Key="k")
    again = await world.execute("DeleteObject", Bucket="bkt", Key="k")
    assert (gone.status, gone.members, again.members) == (204, {}, {})
    assert await _history(world) == []


@pytest.mark.parametrize(
    ("versioning", "version", "code"),
    [
        ("Enabled", "short", "InvalidArgument"),
        ("Enabled", "", "InvalidArgument"),
        ("Enabled", "x" * 32, "NoSuchVersion"),
        ("Enabled", "null", "NoSuchVersion"),
        ("", "x" * 32, "InvalidArgument"),
        ("", "null", "NoSuchVersion"),
    ],
)
def test_ids_that_name_nothing(versioning, version, code):
    @scenario()
    async def steps(world: World):
        await world.bucket(versioning=versioning)
        assert (await world.refused("GetObject", Bucket="bkt", Key="k", VersionId=version)).code == code

    steps()


@scenario()
async def test_deletion_can_depend_on_the_etag(world: World):
    await world.bucket()
    await world.put("k")
    error = await world.refused("DeleteObject", Bucket="bkt", Key="k", IfMatch='"other"')
    assert error.code == "PreconditionFailed"
    await world.execute("DeleteObject", Bucket="bkt", Key="k", IfMatch='"5d41402abc4b2a76b9719d911017c592"')
    assert await world.keys() == []


@scenario()
async def test_versions_are_paged_within_a_key(world: World):
    await world.bucket(versioning="Enabled")
    ids = [(await world.put("k", bytes([n])))["VersionId"] for n in range(3)]
    first = (await world.execute("ListObjectVersions", Bucket="bkt", MaxKeys=2)).members
    rest = await _history(world, KeyMarker=first["NextKeyMarker"], VersionIdMarker=first["NextVersionIdMarker"])
    assert first["IsTruncated"]
    assert (first["NextKeyMarker"], first["NextVersionIdMarker"]) == ("k", ids[1])
    assert [row[2] for row in rest] == [ids[0]]


@scenario()
async def test_versions_roll_up_into_common_prefixes(world: World):
    await world.bucket(versioning="Enabled")
    await world.put("a/1")
    await world.put("a/1")
    await world.put("b")
    output = (await world.execute("ListObjectVersions", Bucket="bkt", Delimiter="/")).members
    assert output["CommonPrefixes"] == [{"Prefix": "a/"}]
    assert [row["Key"] for _, row in output["_entries"]] == ["b"]


@scenario()
async def test_a_version_marker_needs_a_key_marker(world: World):
    await world.bucket()
    error = await world.refused("ListObjectVersions", Bucket="bkt", VersionIdMarker="null")
    assert error.code == "InvalidArgument"


@scenario()
async def test_a_suspended_bucket_overwrites_its_null_version_and_no_other(world: World):
    await world.bucket()
    await world.put("k", b"before")
    await world.versioning("Enabled")
    kept = (await world.put("k", b"kept"))["VersionId"]
    await world.versioning("Suspended")
    put = await world.put("k", b"null")
    assert put["VersionId"] == "null"
    assert await _history(world) == [("Versions", "k", "null", True), ("Versions", "k", kept, False)]
    assert await world.get("k") == await world.get("k", VersionId="null") == b"null"
    assert await world.get("k", VersionId=kept) == b"kept"


@scenario()
async def test_a_delete_in_a_suspended_bucket_takes_the_bytes_of_the_null_version(world: World):
    await world.bucket(versioning="Suspended")
    await world.put("k")
    gone = await world.execute("DeleteObject", Bucket="bkt", Key="k")
    marked = await world.refused("GetObject", Bucket="bkt", Key="k", VersionId="null")
    assert gone.members == {"DeleteMarker": True, "VersionId": "null"}
    assert (marked.status, marked.headers["x-amz-version-id"]) == (405, "null")
    assert await _history(world) == [("DeleteMarkers", "k", "null", True)]


@scenario()
async def test_the_null_marker_goes_by_its_id_and_the_kept_version_is_current_again(world: World):
    await world.bucket(versioning="Enabled")
    kept = (await world.put("k", b"kept"))["VersionId"]
    await world.versioning("Suspended")
    await world.execute("DeleteObject", Bucket="bkt", Key="k")
    gone = await world.execute("DeleteObject", Bucket="bkt", Key="k", VersionId="null")
    assert gone.members == {"DeleteMarker": True, "VersionId": "null"}
    assert await _history(world) == [("Versions", "k", kept, True)]
    assert await world.get("k") == b"kept"


@scenario()
async def test_versioning_that_is_enabled_again_keeps_the_null_marker_under_new_versions(world: World):
    await world.bucket(versioning="Suspended")
    await world.execute("DeleteObject", Bucket="bkt", Key="k")
    await world.versioning("Enabled")
    new = (await world.put("k"))["VersionId"]
    assert await _history(world) == [("Versions", "k", new, True), ("DeleteMarkers", "k", "null", False)]


@scenario()
async def test_copies_and_uploads_of_a_suspended_bucket_replace_its_null_marker(world: World):
    await world.bucket(versioning="Suspended")
    await world.put("src")
    await world.execute("DeleteObject", Bucket="bkt", Key="copied")
    await world.execute("DeleteObject", Bucket="bkt", Key="joined")
    copied = await world.execute("CopyObject", Bucket="bkt", Key="copied", CopySource="bkt/src")
    upload = (await world.execute("CreateMultipartUpload", Bucket="bkt", Key="joined")).members["UploadId"]
    part = await world.execute("UploadPart", b"hello", Bucket="bkt", Key="joined", UploadId=upload, PartNumber=1)
    parts = {"Parts": [{"PartNumber": 1, "ETag": part.members["ETag"]}]}
    joined = await world.execute("CompleteMultipartUpload", Bucket="bkt", Key="joined", UploadId=upload, MultipartUpload=parts)
    assert (copied.members["VersionId"], joined.members["VersionId"]) == ("null", "null")
    assert await _history(world) == [("Versions", key, "null", True) for key in ("copied", "joined", "src")]


@scenario()
async def test_a_marker_counts_as_absent_for_conditional_writes(world: World):
    await world.bucket(versioning="Enabled")
    etag = (await world.put("k"))["ETag"]
    await world.execute("DeleteObject", Bucket="bkt", Key="k")
    matching = await world.refused("PutObject", b"new", Bucket="bkt", Key="k", IfMatch=etag)
    await world.put("k", b"new", IfNoneMatch="*")
    assert (matching.status, matching.code) == (404, "NoSuchKey")
    assert await world.get("k") == b"new"
