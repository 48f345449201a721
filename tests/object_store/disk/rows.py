"""A disk store's database without its threads. Each statement commits itself: a refused write that had changed rows would show."""

from awscrt.checksums import crc64nvme

from atoll.domain.objects import ALWAYS, START, Key, ObjectMetadata, Stamp
from atoll.object_store.disk.index_reader import Reads
from atoll.object_store.disk.index_writer import Index
from atoll.object_store.disk.schema import open_reader, open_writer, signed
from atoll.object_store.disk.write_operations import Bytes, Put

KEY = Key("bucket", "k")
UPLOAD = Key("bucket!uploads", "u1/")


class Rows:
    """`index` writes, `reads` sees what is committed."""

    def __init__(self, folder):
        self.folder, self.ms, self._id = folder, 100, 0
        self.db = open_writer(folder)
        self.index = Index(self.db, "here", lambda: self.ms)
        self.reads = Reads(open_reader(folder))

    def apply(self, write):
        """The write's answer, and the files that nothing refers to after it."""
        return write.apply(self.index), write.gone

    def put(self, key=KEY, version="null", content=b"x", *, ms=None, condition=ALWAYS, file=False, **known):
        """Ids count from 1. `ms` gives the version a stamp of its own."""
        self._id += 1
        stamp = None if ms is None else Stamp(ms, "far", version)
        metadata = ObjectMetadata(version=version, stamp=stamp, **known)
        body = Bytes(len(content), signed(crc64nvme(content)), None if file else content)
        return self.apply(Put(self._id, key, metadata, body, condition))

    def versions(self, bucket="bucket", prefix="", after=START, limit=1000):
        return [(entry.name, entry.metadata.version, entry.latest) for entry in self.reads.versions(bucket, prefix, after, limit)]

    def kinds(self, bucket="bucket"):
        return [(change.version, change.kind) for change in self.reads.changes(bucket, 0, 1000)]

    def close(self):
        self.reads.close()
        self.db.close()
