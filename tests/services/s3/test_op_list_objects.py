import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atoll.rules import list_pages
from s3world import World, scenario


async def _fill(world: World, *keys: str) -> None:
    await world.bucket()
    for key in keys:
        await world.put(key)


async def _pages(world: World, operation: str = "ListObjectsV2", **members) -> list[list[str]]:
    """Every page: keys, and common prefixes in brackets."""
    pages, token = [], {}
    while True:
        output = (await world.execute(operation, Bucket="bkt", **members, **token)).members
        groups = [f"[{row['Prefix']}]" for row in output.get("CommonPrefixes", ())]
        pages.append(sorted([row["Key"] for row in output.get("Contents", ())] + groups, key=lambda text: text.strip("[]")))
        if not output["IsTruncated"]:
            return pages
        if operation == "ListObjectsV2":
            token = {"ContinuationToken": output["NextContinuationToken"]}
        else:
            token = {"Marker": output.get("NextMarker") or pages[-1][-1]}


@scenario()
async def test_a_prefix_finds_all_its_keys_page_by_page(world: World):
    await _fill(world, "data/a/1", "data/a/2", "data/ab/3", "other")
    assert await _pages(world, Prefix="data/a", MaxKeys=1) == [["data/a/1"], ["data/a/2"], ["data/ab/3"]]


@scenario()
async def test_key_count_is_keys_and_prefixes(world: World):
    await _fill(world, "a/1", "a/2", "b", "c/1")
    output = (await world.execute("ListObjectsV2", Bucket="bkt", Delimiter="/")).members
    assert output["KeyCount"] == 3
    assert output["CommonPrefixes"] == [{"Prefix": "a/"}, {"Prefix": "c/"}]
    assert [row["Key"] for row in output["Contents"]] == ["b"]


@scenario()
async def test_a_common_prefix_is_on_one_page_only(world: World):
    await _fill(world, *(f"a/{n}" for n in range(40)), "b", *(f"c/{n}" for n in range(3)))
    assert await _pages(world, Delimiter="/", MaxKeys=1) == [["[a/]"], ["b"], ["[c/]"]]
    assert await _pages(world, "ListObjects", Delimiter="/", MaxKeys=1) == [["[a/]"], ["b"], ["[c/]"]]


@scenario()
async def test_start_after_begins_behind_and_is_ignored_once_there_is_a_token(world: World):
    await _fill(world, "a", "b", "c", "d")
    assert await _pages(world, StartAfter="aa", MaxKeys=1) == [["b"], ["c"], ["d"]]


@scenario()
async def test_a_start_inside_a_group_does_not_hide_it_while_keys_remain(world: World):
    await _fill(world, "a/1", "a/2", "b")
    assert await _pages(world, StartAfter="a/1", Delimiter="/") == [["[a/]", "b"]]
    assert await _pages(world, StartAfter="a/2", Delimiter="/") == [["b"]]
    assert await _pages(world, "ListObjects", Marker="a/1", Delimiter="/") == [["[a/]", "b"]]


@scenario()
async def test_max_keys_0_is_an_empty_page_that_is_not_truncated_and_1000_is_the_most(world: World):
    await _fill(world, "a")
    none = (await world.execute("ListObjectsV2", Bucket="bkt", MaxKeys=0)).members
    most = (await world.execute("ListObjectsV2", Bucket="bkt", MaxKeys=5000)).members
    assert (none["IsTruncated"], none["KeyCount"], none["MaxKeys"]) == (False, 0, 0)
    assert (most["MaxKeys"], most["KeyCount"]) == (1000, 1)


@pytest.mark.parametrize(
    ("members", "argument"),
    [
        ({"MaxKeys": -1}, "max-keys"),
        ({"EncodingType": ""}, "encoding-type"),
        ({"EncodingType": "base64"}, "encoding-type"),
        ({"ContinuationToken": "made-up"}, "continuation-token"),
    ],
)
def test_arguments_that_make_no_sense(members, argument):
    @scenario()
    async def steps(world: World):
        await world.bucket()
        error = await world.refused("ListObjectsV2", Bucket="bkt", **members)
        assert (error.code, error.details["ArgumentName"]) == ("InvalidArgument", argument)

    steps()


@scenario()
async def test_an_empty_token_is_none_and_is_echoed(world: World):
    await _fill(world, "a")
    output = (await world.execute("ListObjectsV2", Bucket="bkt", ContinuationToken="")).members
    assert (output["ContinuationToken"], output["KeyCount"]) == ("", 1)


@scenario()
async def test_encoding_type_url_encodes_everything_that_holds_a_key(world: World):
    await _fill(world, "a b+c@d=e%f/ü", "d +/x")
    output = (await world.execute("ListObjects", Bucket="bkt", EncodingType="url", Delimiter="+/", Marker="a ", MaxKeys=1)).members
    assert [row["Key"] for row in output["Contents"]] == ["a%20b%2Bc%40d%3De%25f/%C3%BC"]
    assert (output["Delimiter"], output["Marker"], output["EncodingType"]) == ("%2B/", "a%20", "url")
    assert output["NextMarker"] == "a%20b%2Bc%40d%3De%25f/%C3%BC"


@scenario()
async def test_the_first_version_always_has_a_marker_and_owners_and_next_marker_only_with_a_delimiter(world: World):
    await _fill(world, "a", "b")
    plain = (await world.execute("ListObjects", Bucket="bkt", MaxKeys=1)).members
    divided = (await world.execute("ListObjects", Bucket="bkt", MaxKeys=1, Delimiter="/")).members
    assert (plain["Marker"], plain["IsTruncated"]) == ("", True)
    assert "NextMarker" not in plain
    assert divided["NextMarker"] == "a"
    assert len(plain["Contents"][0]["Owner"]["ID"]) == 64


@scenario()
async def test_rows_tell_size_etag_class_and_checksum_and_the_owner_on_demand(world: World):
    await _fill(world, "a")
    (row,) = (await world.execute("ListObjectsV2", Bucket="bkt")).members["Contents"]
    (owned,) = (await world.execute("ListObjectsV2", Bucket="bkt", FetchOwner=True)).members["Contents"]
    assert (row["Size"], row["ETag"]) == (5, '"5d41402abc4b2a76b9719d911017c592"')
    assert (row["StorageClass"], row["ChecksumAlgorithm"], row["ChecksumType"]) == ("STANDARD", ["CRC64NVME"], "FULL_OBJECT")
    assert "Owner" not in row
    assert "ID" in owned["Owner"]


@scenario()
async def test_order_is_that_of_utf_8_bytes(world: World):
    await _fill(world, "\U0001f600", "\uffee", "Z", "a", "é")
    assert await world.keys() == ["Z", "a", "é", "\uffee", "\U0001f600"]


@scenario()
async def test_objects_behind_a_marker_are_not_listed(world: World):
    await world.bucket(versioning="Enabled")
    await world.put("a")
    await world.put("b")
    await world.execute("DeleteObject", Bucket="bkt", Key="a")
    assert await world.keys() == ["b"]


def _naive(keys: set[str], prefix: str, delimiter: str) -> list[str]:
    shown = set()
    for key in keys:
        if key.startswith(prefix):
            group = list_pages.common_prefix_of(key, prefix, delimiter)
            shown.add(key if group is None else f"[{group}]")
    return sorted(shown, key=lambda text: text.strip("[]") if text.startswith("[") else text)


_KEYS = st.sets(st.text("ab/|", min_size=1, max_size=5), max_size=25)


@settings(max_examples=60, deadline=None)
@given(
    keys=_KEYS,
    prefix=st.sampled_from(["", "a", "a/", "b|"]),
    delimiter=st.sampled_from(["", "/", "|", "ab", "//"]),
    size=st.integers(1, 4),
    operation=st.sampled_from(["ListObjectsV2", "ListObjects"]),
)
def test_pages_in_a_row_are_the_whole_listing(keys, prefix, delimiter, size, operation):
    @scenario()
    async def steps(world: World):
        await _fill(world, *keys)
        pages = await _pages(world, operation, Prefix=prefix, Delimiter=delimiter, MaxKeys=size)
        assert [row for page in pages for row in page] == _naive(keys, prefix, delimiter)
        assert all(len(page) <= size for page in pages)

    steps()


@scenario()
async def test_a_delimiter_may_be_several_signs_or_a_letter(world: World):
    await _fill(world, "a--1", "a--2", "a-3", "b--", "cxd")
    assert await _pages(world, Delimiter="--", MaxKeys=1) == [["[a--]"], ["a-3"], ["[b--]"], ["cxd"]]
    assert await _pages(world, "ListObjects", Delimiter="x", Prefix="c", MaxKeys=1) == [["[cx]"]]


@scenario()
async def test_keys_with_slashes_at_either_end_or_twice_are_kept_as_they_are(world: World):
    await _fill(world, "/foo", "a//b", "dir/")
    assert await _pages(world) == [["/foo", "a//b", "dir/"]]
    assert await _pages(world, Delimiter="/") == [["[/]", "[a/]", "[dir/]"]]
    assert await _pages(world, Delimiter="/", Prefix="dir/") == [["dir/"]]
