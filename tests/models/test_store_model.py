"""Generated operations: the disk engine must answer what the reference engine answers, also after it was opened again."""

import asyncio
import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from atoll.domain.errors import ApiError
from atoll.domain.http_message import Body
from atoll.domain.objects import ByteRange, Condition, Key, ObjectMetadata, ScanCursor, Stamp
from atoll.object_store.disk.disk_store import DiskStore
from atoll.object_store.disk.integrity_check import check
from atoll.object_store.memory_store import MemoryStore

NAMES = st.sampled_from(["a", "a/", "a/b", "a0", "b", "é", "\U0010ffff"])
VERSIONS = st.sampled_from(["null", "v1", "v2", "v3"])
SIZES = st.sampled_from([0, 3, 65_535, 65_536, 150_000])
ETAGS = st.sampled_from(["x", "y"])
CONDITIONS = st.one_of(
    st.just(Condition()),
    st.builds(Condition, if_none_match=st.booleans(), if_match=st.sampled_from(["", "x", "y"]), began_ms=st.sampled_from([0, 105])),
)
STAMPS = st.one_of(st.none(), st.tuples(st.integers(90, 120), st.sampled_from(["far", "here", "near"])))
PARTS = st.lists(st.integers(1, 4), min_size=1, max_size=3, unique=True)


async def outcome(call):
    """What a caller sees: the result or the error's code."""
    try:
        return await call
    except ApiError as fault:
        return fault.code


async def bytes_of(store, key, version, byte_range):
    found = await store.get(key, version)
    if found is None:
        return None
    fits = byte_range is not None and byte_range.last < found.metadata.size
    return found.metadata, b"".join([piece async for piece in found.body(byte_range if fits else None)])


class DiskAgainstMemory(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.loop = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory()
        self.ms = 100
        self.seed = 0

    @initialize()
    def open(self):
        self.memory = MemoryStore("here", lambda: self.ms)
        self.disk = self.loop.run(self.opened())

    async def opened(self):
        return await DiskStore.open(Path(self.folder.name), "here", lambda: self.ms)

    def both(self, ask):
        """Ask both engines the same; they must say the same."""
        left, right = self.loop.run(outcome(ask(self.memory))), self.loop.run(outcome(ask(self.disk)))
        assert left == right
        return left

    def bytes(self, size):
        self.seed += 1
        return bytes([self.seed % 256]) * size

    @rule(name=NAMES, version=VERSIONS, size=SIZES, etag=ETAGS, condition=CONDITIONS, stamp=STAMPS, marker=st.booleans())
    def put(self, name, version, size, etag, condition, stamp, marker):
        content = b"" if marker else self.bytes(size)
        given = None if stamp is None else Stamp(*stamp, version)
        known = ObjectMetadata(version=version, etag=etag, marker=marker, stamp=given)
        self.both(lambda store: store.put(Key("bucket", name), Body.of(content), lambda: known, condition))

    @rule(name=NAMES, version=VERSIONS, condition=CONDITIONS)
    def delete(self, name, version, condition):
        self.both(lambda store: store.delete(Key("bucket", name), version, condition))

    @rule(name=NAMES, version=VERSIONS, tag=st.sampled_from(["1", "2"]))
    def update_metadata(self, name, version, tag):
        self.both(lambda store: store.update_metadata(Key("bucket", name), version, lambda known: replace(known, tags={"t": tag})))

    @rule(part=st.integers(1, 4), size=SIZES)
    def upload(self, part, size):
        content = self.bytes(size)
        self.both(lambda store: store.put(Key("b!u", f"u/{part}"), Body.of(content), ObjectMetadata))

    @rule(name=NAMES, version=VERSIONS, parts=PARTS, condition=CONDITIONS)
    def join(self, name, version, parts, condition):
        keys = [Key("b!u", f"u/{part}") for part in parts]
        known = ObjectMetadata(version=version, etag="x")
        discard = Key("b!u", "u/")
        self.both(lambda store: store.join(Key("bucket", name), keys, known, discard=discard, condition=condition))

    @rule(bucket=st.sampled_from(["bucket", "b!u"]), prefix=st.sampled_from(["a", "a/", "u/", "\U0010ffff"]))
    def drop(self, bucket, prefix):
        self.both(lambda store: store.drop(Key(bucket, prefix)))

    @rule(name=NAMES, version=st.one_of(st.none(), VERSIONS), first=st.integers(0, 70_000), size=st.integers(1, 70_000))
    def read(self, name, version, first, size):
        byte_range = ByteRange(first, first + size - 1)
        self.both(lambda store: bytes_of(store, Key("bucket", name), version, byte_range))
        self.both(lambda store: store.head(Key("bucket", name), version))

    @rule(prefix=st.sampled_from(["", "a", "a/", "é"]), after=NAMES, version=st.one_of(st.none(), VERSIONS), limit=st.integers(0, 5))
    def scan(self, prefix, after, version, limit):
        mark = ScanCursor(after, version)
        self.both(lambda store: store.scan("bucket", prefix=prefix, after=mark, limit=limit))
        self.both(lambda store: store.scan("bucket", prefix=prefix, after=mark, limit=limit, versions=True))

    @rule(upto=st.integers(0, 30))
    def trim(self, upto):
        self.both(lambda store: store.trim("bucket", upto))

    @rule(ms=st.integers(95, 130))
    def time_passes(self, ms):
        self.ms = ms

    @rule()
    def reopen(self):
        self.loop.run(self.disk.close())
        assert list(check(Path(self.folder.name))) == []
        self.disk = self.loop.run(self.opened())

    @precondition(lambda self: hasattr(self, "disk"))
    @invariant()
    def everything_is_the_same(self):
        self.both(lambda store: store.scan("bucket", versions=True))
        assert self.feed(self.memory) == self.feed(self.disk)

    def feed(self, store):
        """Sequence numbers may differ by refused operations; order and content may not."""
        return [(change.name, change.version, change.kind) for change in self.loop.run(store.changes("bucket", 0))]

    def teardown(self):
        if hasattr(self, "disk"):
            self.loop.run(self.disk.close())
            assert list(check(Path(self.folder.name))) == []
        self.loop.close()
        self.folder.cleanup()


DiskAgainstMemory.TestCase.settings = settings(
    max_examples=40, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
TestDiskAgainstMemory = DiskAgainstMemory.TestCase
