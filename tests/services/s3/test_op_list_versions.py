import pytest

from s3world import World, scenario


async def _list(world: World, **members) -> dict:
    return (await world.execute("ListObjectVersions", Bucket="bkt", **members)).members


def _rows(output: dict) -> list[tuple[str, str]]:
    return [(row["Key"], row["VersionId"]) for _, row in output["_entries"]]


async def _pages(world: World, **members) -> list[list[tuple[str, str]]]:
    """Every page: key and version of its rows, and its common prefixes with an empty version."""
    pages, after = [], {}
    while True:
        output = await _list(world, **members, **after)
        pages.append(_rows(output) + [(row["Prefix"], "") for row in output.get("CommonPrefixes", ())])
        if not output["IsTruncated"]:
            return pages
        after = {"KeyMarker": output["NextKeyMarker"], "VersionIdMarker": output.get("NextVersionIdMarker")}


@scenario()
async def test_versions_and_markers_are_interleaved_by_key_and_age_and_markers_have_no_size(world: World):
    await world.bucket()
    await world.put("a")
    await world.versioning("Enabled")
    marker = (await world.execute("DeleteObject", Bucket="bkt", Key="a")).members["VersionId"]
    other = (await world.put("b"))["VersionId"]
    newest = (await world.put("a"))["VersionId"]
    entries = (await _list(world))["_entries"]
    assert [(kind, row["Key"], row["VersionId"], row["IsLatest"]) for kind, row in entries] == [
        ("Versions", "a", newest, True),
        ("DeleteMarkers", "a", marker, False),
        ("Versions", "a", "null", False),
        ("Versions", "b", other, True),
    ]
    assert set(entries[1][1]) == {"Key", "LastModified", "Owner", "VersionId", "IsLatest"}


@scenario()
async def test_pages_of_one_row_go_through_versions_and_markers_of_several_keys(world: World):
    await world.bucket()
    await world.put("a")
    await world.versioning("Enabled")
    second = (await world.put("a"))["VersionId"]
    marker = (await world.execute("DeleteObject", Bucket="bkt", Key="a")).members["VersionId"]
    other = (await world.put("b"))["VersionId"]
    assert await _pages(world, MaxKeys=1) == [[("a", marker)], [("a", second)], [("a", "null")], [("b", other)]]


@scenario()
async def test_a_key_marker_alone_begins_behind_all_versions_of_its_key(world: World):
    await world.bucket(versioning="Enabled")
    await world.put("a")
    await world.put("a")
    other = (await world.put("b"))["VersionId"]
    assert _rows(await _list(world, KeyMarker="a")) == [("b", other)]
    assert (await _list(world, KeyMarker="a"))["KeyMarker"] == "a"


@scenario()
async def test_a_group_of_versions_is_on_one_page_and_the_next_begins_behind_it(world: World):
    await world.bucket(versioning="Enabled")
    await world.put("a/1")
    await world.put("a/1")
    await world.put("a/2")
    last = (await world.put("b"))["VersionId"]
    first = await _list(world, Delimiter="/", MaxKeys=1)
    assert await _pages(world, Delimiter="/", MaxKeys=1) == [[("a/", "")], [("b", last)]]
    assert (first["NextKeyMarker"], "NextVersionIdMarker" in first) == ("a/", False)


@scenario()
async def test_a_prefix_bounds_the_versions(world: World):
    await world.bucket(versioning="Enabled")
    ids = [(await world.put(key))["VersionId"] for key in ("a", "ab", "b")]
    output = await _list(world, Prefix="a")
    assert (output["Prefix"], output["IsTruncated"]) == ("a", False)
    assert _rows(output) == [("a", ids[0]), ("ab", ids[1])]


@scenario()
async def test_encoding_type_url_encodes_keys_of_versions_markers_and_markers_of_pages(world: World):
    await world.bucket(versioning="Enabled")
    await world.execute("DeleteObject", Bucket="bkt", Key="a +1")
    await world.put("b@=%")
    first = await _list(world, EncodingType="url", MaxKeys=1)
    rest = await _list(world, EncodingType="url", KeyMarker="a +1", Prefix="b@")
    assert [row["Key"] for _, row in first["_entries"]] == ["a%20%2B1"]
    assert (first["EncodingType"], first["NextKeyMarker"]) == ("url", "a%20%2B1")
    assert (rest["KeyMarker"], rest["Prefix"]) == ("a%20%2B1", "b%40")
    assert [row["Key"] for _, row in rest["_entries"]] == ["b%40%3D%25"]


@scenario()
async def test_a_page_of_no_versions_is_empty_and_a_page_of_too_many_is_capped(world: World):
    await world.bucket(versioning="Enabled")
    await world.put("a")
    none, most = await _list(world, MaxKeys=0), await _list(world, MaxKeys=2000)
    assert (none["_entries"], none["IsTruncated"], none["MaxKeys"]) == ([], False, 0)
    assert (len(most["_entries"]), most["MaxKeys"]) == (1, 1000)


@pytest.mark.parametrize(
    ("members", "argument"),
    [
        ({"MaxKeys": -1}, "max-keys"),
        ({"EncodingType": ""}, "encoding-type"),
        ({"VersionIdMarker": "null"}, "version-id-marker"),
        ({"KeyMarker": "k", "VersionIdMarker": "invalid"}, "version-id-marker"),  # cases/s3.md, S53
        ({"KeyMarker": "k", "VersionIdMarker": "x" * 33}, "version-id-marker"),
        ({"KeyMarker": "k", "VersionIdMarker": "NULL"}, "version-id-marker"),
    ],
)
def test_a_list_of_versions_names_the_argument_that_makes_no_sense(members, argument):
    @scenario()
    async def steps(world: World):
        await world.bucket()
        error = await world.refused("ListObjectVersions", Bucket="bkt", **members)
        assert (error.code, error.details["ArgumentName"]) == ("InvalidArgument", argument)

    steps()


@scenario()
async def test_a_version_marker_whose_version_is_gone_marks_its_place(world: World):
    await world.bucket(versioning="Enabled")
    oldest, *_, newest = [(await world.put("a"))["VersionId"] for _ in range(3)]
    other = (await world.put("b"))["VersionId"]
    page = await _list(world, MaxKeys=2)
    for _, version in _rows(page):
        await world.execute("DeleteObject", Bucket="bkt", Key="a", VersionId=version)
    rest = await _list(world, KeyMarker=page["NextKeyMarker"], VersionIdMarker=page["NextVersionIdMarker"])
    assert _rows(page)[0] == ("a", newest)
    assert _rows(rest) == [("a", oldest), ("b", other)]
