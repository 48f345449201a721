import asyncio
import hashlib
from dataclasses import replace

import pytest

from atoll.domain.api_call import Call
from atoll.domain.caller import ForwardedContext
from atoll.domain.errors import ApiError
from atoll.domain.http_message import EMPTY, Body, Request
from atoll.domain.objects import Key, ObjectMetadata, Stamp
from atoll.object_store.memory_store import MemoryStore
from atoll.rules import replica_request as form
from atoll.services.s3.replica_receiver import ReplicaDependencies, receive
from services.s3.replication_world import CALLER

CONTENT = b"hello"
ORIGINAL = ObjectMetadata(
    version="v1",
    size=5,
    etag=hashlib.md5(CONTENT).hexdigest(),
    modified_ms=1000,
    stamp=Stamp(1000, "tokyo", "v1"),
    tags={"t": "1"},
    tags_ms=1000,
    headers={"content-type": "text/plain"},
    replication={"here": "PENDING"},
)
MARKER = ObjectMetadata(version="m1", marker=True, modified_ms=1000, stamp=Stamp(1000, "tokyo", "m1"))
KEY = Key("here", "a b")


def destination(versioning="Enabled"):
    store = MemoryStore("oregon", lambda: 5000)
    return ReplicaDependencies(store, {"here": versioning}.get)


async def arrive(receiver, metadata=ORIGINAL, body=CONTENT, *, only="", denied=(), bucket="here", replica=True, headers=None):
    written, sent = form.encode_replica(metadata, Body.of(b"" if metadata.marker or only else body))
    written |= {form.ONLY: only} if only else {}
    forwarded = ForwardedContext("127.0.0.1", secure=True, caller=CALLER, replica=replica)
    request = Request("PUT", form.target(bucket, KEY.name), {**written, **(headers or {})}, sent, forwarded=forwarded)

    def allow(action, arn):
        assert arn == f"arn:aws:s3:::{bucket}/{KEY.name}"
        if action in denied:
            raise ApiError("AccessDenied")

    call = Call(
        "s3", "Replicate", request, CALLER, 5.0, "oregon", "111122223333", "r", sent,
        allow=allow, may=lambda action, arn: action not in denied,
    )  # fmt: skip
    output = await receive(receiver, call, bucket, KEY.name)
    return output, call


async def refused(receiver, *args, **named):
    with pytest.raises(ApiError) as caught:
        await arrive(receiver, *args, **named)
    assert caught.value.headers[form.CODE] == caught.value.code
    return caught.value.code


def test_a_copy_is_stored_as_it_was_born_and_owes_nothing():
    async def scene():
        receiver = destination()
        output, call = await arrive(receiver)
        assert (output.status, output.headers[form.OUTCOME], call.log["copy"]) == (200, "stored", "stored")
        assert await receiver.store.head(KEY, "v1") == replace(ORIGINAL, replica=True, replication={})
        assert (receiver.replica_counters.stored, receiver.replica_counters.bytes) == (1, 5)

    asyncio.run(scene())


def test_a_marker_arrives_with_its_version_id():
    async def scene():
        receiver = destination()
        await arrive(receiver, MARKER)
        assert await receiver.store.head(KEY) == replace(MARKER, replica=True)

    asyncio.run(scene())


def test_a_second_arrival_changes_nothing():
    async def scene():
        receiver = destination()
        await arrive(receiver)
        feed = await receiver.store.changes("here", 0)
        output, _ = await arrive(receiver)
        assert output.headers[form.OUTCOME] == "known"
        assert await receiver.store.changes("here", 0) == feed
        assert receiver.replica_counters.stored == 1

    asyncio.run(scene())


def test_a_copy_that_arrives_late_is_not_the_current_version():
    async def scene():
        receiver = destination()
        newer = replace(ORIGINAL, version="v2", stamp=Stamp(2000, "tokyo", "v2"))
        await arrive(receiver, newer)
        await arrive(receiver)
        assert (await receiver.store.head(KEY)).version == "v2"
        assert receiver.replica_counters.replication_conflicts == 0

    asyncio.run(scene())


def test_a_copy_below_a_version_born_here_is_counted_and_logged_as_a_conflict():
    async def scene():
        receiver = destination()
        mine = replace(ORIGINAL, version="mine", stamp=Stamp(3000, "oregon", "mine"))
        await receiver.store.put(KEY, Body.of(CONTENT), lambda: mine)
        _, call = await arrive(receiver)
        assert receiver.replica_counters.replication_conflicts == 1
        assert call.log["replication_conflict"] == {"current": "mine", "arrived": "v1"}

    asyncio.run(scene())


def test_copies_of_existing_objects_are_no_conflicts():
    async def scene():
        receiver = destination()
        mine = replace(ORIGINAL, version="mine", stamp=Stamp(3000, "oregon", "mine"))
        await receiver.store.put(KEY, Body.of(CONTENT), lambda: mine)
        await arrive(receiver, headers={form.BATCH: "1"})
        assert receiver.replica_counters.replication_conflicts == 0

    asyncio.run(scene())


def test_the_lead_of_a_peers_clock_is_measured_and_nothing_is_refused():
    async def scene():
        receiver = destination()
        await arrive(receiver, replace(ORIGINAL, stamp=Stamp(15_000, "tokyo", "v1")))
        assert receiver.replica_counters.clock_ahead_ms == {"tokyo": 10_000}

    asyncio.run(scene())


@pytest.mark.parametrize(("versioning", "code"), [(None, "NoSuchBucket"), ("Suspended", "InvalidBucketState"), ("", "InvalidBucketState")])
def test_the_bucket_must_be_here_and_versioned(versioning, code):
    assert asyncio.run(refused(destination(versioning))) == code


@pytest.mark.parametrize(("metadata", "action"), [(ORIGINAL, "s3:ReplicateObject"), (MARKER, "s3:ReplicateDelete")])
def test_each_kind_of_copy_needs_its_permission(metadata, action):
    async def scene():
        receiver = destination()
        assert await refused(receiver, metadata, denied={action}) == "AccessDenied"
        assert await receiver.store.head(KEY) is None

    asyncio.run(scene())


def test_without_replicate_tags_the_object_goes_without_tags():
    async def scene():
        receiver = destination()
        await arrive(receiver, denied={"s3:ReplicateTags"})
        assert ((await receiver.store.head(KEY)).tags, (await receiver.store.head(KEY)).tags_ms) == ({}, 0)

    asyncio.run(scene())


@pytest.mark.parametrize(("body", "code"), [(b"hellO", "BadDigest"), (b"hell", "IncompleteBody"), (b"hello!", "IncompleteBody")])
def test_a_spoilt_copy_is_refused_and_leaves_no_trace(body, code):
    async def scene():
        receiver = destination()
        assert await refused(receiver, body=body) == code
        assert await receiver.store.head(KEY) is None

    asyncio.run(scene())


def test_a_client_cannot_make_a_replica():
    assert asyncio.run(refused(destination(), replica=False)) == "AccessDenied"


def test_facts_alone_change_the_tags_of_a_version_that_is_here():
    async def scene():
        receiver = destination()
        await arrive(receiver)
        output, _ = await arrive(receiver, replace(ORIGINAL, tags={"t": "2"}, tags_ms=2000), only="facts")
        assert output.headers[form.OUTCOME] == "amended"
        assert (await receiver.store.head(KEY)).tags == {"t": "2"}

    asyncio.run(scene())


def test_an_older_change_of_tags_loses():
    async def scene():
        receiver = destination()
        await arrive(receiver)
        output, _ = await arrive(receiver, replace(ORIGINAL, tags={"t": "0"}, tags_ms=500), only="facts")
        assert output.headers[form.OUTCOME] == "known"
        assert (await receiver.store.head(KEY)).tags == {"t": "1"}

    asyncio.run(scene())


def test_the_same_tags_of_a_later_time_keep_an_earlier_change_from_winning():
    async def scene():
        receiver = destination()
        await arrive(receiver)
        await arrive(receiver, replace(ORIGINAL, tags_ms=2000), only="facts")
        await arrive(receiver, replace(ORIGINAL, tags={"t": "9"}, tags_ms=1500), only="facts")
        assert (await receiver.store.head(KEY)).tags == {"t": "1"}

    asyncio.run(scene())


def test_a_change_of_tags_keeps_what_the_version_itself_owes():
    async def scene():
        receiver = destination()
        await receiver.store.put(KEY, Body.of(CONTENT), lambda: replace(ORIGINAL, replication={"b": "COMPLETED"}))
        await arrive(receiver, replace(ORIGINAL, tags={"t": "2"}, tags_ms=2000), only="facts")
        held = await receiver.store.head(KEY)
        assert (held.tags, held.replication, held.replica) == ({"t": "2"}, {"b": "COMPLETED"}, False)

    asyncio.run(scene())


def test_facts_alone_of_a_version_that_is_not_here_are_refused():
    assert asyncio.run(refused(destination(), only="facts")) == "NoSuchVersion"
    assert asyncio.run(refused(destination(), only="question")) == "NoSuchVersion"


def test_a_change_of_tags_needs_its_permission_and_a_question_does_not():
    async def scene():
        receiver = destination()
        await arrive(receiver)
        later = replace(ORIGINAL, tags={"t": "2"}, tags_ms=2000)
        assert await refused(receiver, later, only="facts", denied={"s3:ReplicateTags"}) == "AccessDenied"
        output, _ = await arrive(receiver, later, only="question", denied={"s3:ReplicateTags"})
        assert output.headers[form.OUTCOME] == "known"

    asyncio.run(scene())


def test_a_request_without_facts_is_refused():
    async def scene():
        forwarded = ForwardedContext("127.0.0.1", secure=True, caller=CALLER, replica=True)
        request = Request("PUT", "/here/k", {}, EMPTY, forwarded=forwarded)
        call = Call("s3", "Replicate", request, CALLER, 5.0, "oregon", "1", "r", EMPTY, lambda a, r: None, lambda a, r: True)
        with pytest.raises(ApiError, match="InvalidArgument"):
            await receive(destination(), call, "here", "k")

    asyncio.run(scene())


OVERRIDE = {form.OWNER: "destination"}


def theirs(ownership="BucketOwnerEnforced"):
    """A destination of another account."""
    enforced = ownership == "BucketOwnerEnforced"
    return replace(destination(), owner=lambda _bucket, override: "999900001111" if override or enforced else "")


@pytest.mark.parametrize(
    ("ownership", "headers", "owner"),
    [("BucketOwnerEnforced", {}, "999900001111"), ("", {}, "111122223333"), ("", OVERRIDE, "999900001111"), ("BucketOwnerEnforced", OVERRIDE, "999900001111")],
)
def test_a_copy_stays_its_sources_owners_where_lists_are_on_and_nothing_overrides_it(ownership, headers, owner):
    async def scene():
        receiver = theirs(ownership)
        await arrive(receiver, replace(ORIGINAL, owner="111122223333"), headers=headers)
        assert (await receiver.store.head(KEY, "v1")).owner == owner

    asyncio.run(scene())


def test_overriding_the_owner_is_a_permission_of_its_own():
    async def scene():
        receiver = theirs("")
        assert await refused(receiver, headers=OVERRIDE, denied=("s3:ObjectOwnerOverrideToBucketOwner",)) == "AccessDenied"
        assert await receiver.store.head(KEY, "v1") is None
        await arrive(receiver, MARKER, headers=OVERRIDE, denied=("s3:ObjectOwnerOverrideToBucketOwner",))
        assert (await receiver.store.head(KEY, "m1")).owner == "999900001111"

    asyncio.run(scene())
