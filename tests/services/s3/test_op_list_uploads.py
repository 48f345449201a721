from s3world import World, scenario


async def _begin(world: World, key: str) -> str:
    world.clock.seconds += 1
    return (await world.execute("CreateMultipartUpload", Bucket="bkt", Key=key)).members["UploadId"]


async def _list(world: World, **members) -> dict:
    return (await world.execute("ListMultipartUploads", Bucket="bkt", **members)).members


def _ids(output: dict) -> list[str]:
    return [row["UploadId"] for row in output.get("Uploads", ())]


@scenario()
async def test_parts_are_listed_in_pages(world: World):
    await world.bucket()
    upload = (
        await world.execute("CreateMultipartUpload", Bucket="bkt", Key="k", ChecksumAlgorithm="CRC32", ChecksumType="FULL_OBJECT")
    ).members["UploadId"]
    for number in (10_000, 3, 1):
        await world.execute("UploadPart", b"hello", Bucket="bkt", Key="k", UploadId=upload, PartNumber=number)
    first = (await world.execute("ListParts", Bucket="bkt", Key="k", UploadId=upload, MaxParts=2)).members
    rest = (
        await world.execute("ListParts", Bucket="bkt", Key="k", UploadId=upload, PartNumberMarker=first["NextPartNumberMarker"])
    ).members
    assert [row["PartNumber"] for row in first["Parts"]] == [1, 3]
    assert (first["IsTruncated"], first["NextPartNumberMarker"]) == (True, 3)
    assert (first["ChecksumAlgorithm"], first["ChecksumType"]) == ("CRC32", "FULL_OBJECT")
    assert first["Parts"][0]["ChecksumCRC32"] == "NhCmhg=="
    assert (first["Parts"][0]["Size"], first["Parts"][0]["ETag"]) == (5, '"5d41402abc4b2a76b9719d911017c592"')
    assert [row["PartNumber"] for row in rest["Parts"]] == [10_000]
    assert not rest["IsTruncated"]


@scenario()
async def test_an_upload_without_parts_shows_zero_as_next_marker(world: World):
    await world.bucket()
    upload = await _begin(world, "k")
    output = (await world.execute("ListParts", Bucket="bkt", Key="k", UploadId=upload, PartNumberMarker="")).members
    bad = await world.refused("ListParts", Bucket="bkt", Key="k", UploadId=upload, PartNumberMarker="x")
    assert (output["NextPartNumberMarker"], output["PartNumberMarker"], output["MaxParts"]) == (0, 0, 1000)
    assert "Parts" not in output
    assert bad.code == "InvalidArgument"


@scenario()
async def test_uploads_are_in_order_of_key_and_time_and_parts_are_none(world: World):
    await world.bucket()
    late_key = await _begin(world, "z")
    first, second = await _begin(world, "a"), await _begin(world, "a")
    await world.execute("UploadPart", b"x", Bucket="bkt", Key="a", UploadId=first, PartNumber=1)
    output = await _list(world)
    assert _ids(output) == [first, second, late_key]
    assert output["Uploads"][0]["Key"] == "a"
    assert not output["IsTruncated"]


@scenario()
async def test_pages_of_uploads_resume_within_a_key(world: World):
    await world.bucket()
    ids = [await _begin(world, key) for key in ("a", "a", "a", "b")]
    page = await _list(world, MaxUploads=2)
    rest = await _list(world, KeyMarker=page["NextKeyMarker"], UploadIdMarker=page["NextUploadIdMarker"])
    assert (page["IsTruncated"], page["NextKeyMarker"], page["NextUploadIdMarker"]) == (True, "a", ids[1])
    assert _ids(page) + _ids(rest) == ids
    assert _ids(await _list(world, KeyMarker="a")) == ids[3:]
    assert _ids(await _list(world, UploadIdMarker=ids[1])) == ids


@scenario()
async def test_uploads_roll_up_into_common_prefixes(world: World):
    await world.bucket()
    await _begin(world, "d/1")
    await _begin(world, "d/2")
    top = await _begin(world, "k")
    output = await _list(world, Delimiter="/", MaxUploads=1)
    rest = await _list(world, Delimiter="/", KeyMarker=output["NextKeyMarker"])
    assert (output["CommonPrefixes"], _ids(output)) == ([{"Prefix": "d/"}], [])
    assert _ids(rest) == [top]
    assert "CommonPrefixes" not in rest
    assert len(_ids(await _list(world, Prefix="d/"))) == 2


@scenario()
async def test_an_upload_marker_is_an_upload_id_or_is_refused(world: World):  # cases/s3.md, S53
    await world.bucket()
    first, second = await _begin(world, "k"), await _begin(world, "k")
    for marker in ("whatever", first[:-1], first + "A", "|"):
        error = await world.refused("ListMultipartUploads", Bucket="bkt", KeyMarker="k", UploadIdMarker=marker)
        assert (error.code, error.details["ArgumentName"]) == ("InvalidArgument", "upload-id-marker")
    assert _ids(await _list(world, UploadIdMarker="whatever")) == [first, second]  # ignored without a key-marker
    assert _ids(await _list(world, KeyMarker="k", UploadIdMarker="")) == []
    await world.execute("AbortMultipartUpload", Bucket="bkt", Key="k", UploadId=first)
    assert _ids(await _list(world, KeyMarker="k", UploadIdMarker=first)) == [second]
