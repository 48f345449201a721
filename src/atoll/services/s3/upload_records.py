"""What is kept of a multipart upload in progress."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import cast

from atoll.domain.errors import ApiError
from atoll.domain.interfaces import Store
from atoll.domain.objects import ChecksumKind, Key, ObjectMetadata, Part, ScanCursor, ScanEntry
from atoll.domain.quotas import LIST_MAX_KEYS
from atoll.rules import checksum_algorithms, multipart_uploads


@dataclass(frozen=True, slots=True)
class Upload:
    """One upload. `algorithm` "" and `kind` "": none was declared; the object then gets CRC64NVME of all its bytes.

    `began_ms` is the stamp of the key's newest version, or the clock, when it began; `was_there`: the key had an object.
    """

    bucket: str
    id: str
    key: str
    algorithm: str
    kind: str
    began_ms: int
    was_there: bool
    metadata: ObjectMetadata

    def part(self, number: int) -> Key:
        """Where a part lies."""
        return multipart_uploads.part_key(self.bucket, self.id, number)

    @property
    def needed(self) -> str:
        """The algorithm of which every part must have a checksum."""
        return self.algorithm or checksum_algorithms.DEFAULT

    @property
    def needed_kind(self) -> ChecksumKind:
        return cast("ChecksumKind", self.kind or "FULL_OBJECT")


def notes(key: str, declared: tuple[str, ChecksumKind] | None, began_ms: int, *, was_there: bool) -> dict[str, str]:
    """As they lie in the store."""
    algorithm, kind = declared or ("", "")
    there = {"was_there": "yes"} if was_there else {}
    return {"key": key, "algorithm": algorithm, "kind": kind, "began_ms": str(began_ms), **there}


def read(bucket: str, upload_id: str, metadata: ObjectMetadata) -> Upload:
    kept = metadata.notes
    began_ms, was_there = int(kept["began_ms"]), "was_there" in kept
    return Upload(bucket, upload_id, kept["key"], kept["algorithm"], kept["kind"], began_ms, was_there, metadata)


async def find(store: Store, bucket: str, key: str, upload_id: str) -> Upload:
    """Raises NoSuchUpload for an unknown id, and for that of another key."""
    upload = await find_or_none(store, bucket, key, upload_id)
    if upload is None:
        raise no_such_upload(upload_id)
    return upload


async def find_or_none(store: Store, bucket: str, key: str, upload_id: str) -> Upload | None:
    if multipart_uploads.region_of_upload(upload_id) is None:
        return None
    metadata = await store.head(multipart_uploads.folder(bucket, upload_id))
    if metadata is None or metadata.notes.get("key") != key:
        return None
    return read(bucket, upload_id, metadata)


def no_such_upload(upload_id: str) -> ApiError:
    return ApiError(
        "NoSuchUpload",
        "The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or completed.",
        UploadId=upload_id,
    )


async def parts_of(store: Store, bucket: str, upload_id: str, *, after: int = 0) -> AsyncIterator[ScanEntry]:
    """The parts that are there, by rising number."""
    folder = multipart_uploads.folder(bucket, upload_id)
    cursor = ScanCursor(multipart_uploads.part_key(bucket, upload_id, after).name if after else folder.name)
    while True:
        batch = await store.scan(folder.bucket, prefix=folder.name, after=cursor, limit=LIST_MAX_KEYS)
        for entry in batch:
            yield entry
        if len(batch) < LIST_MAX_KEYS:
            return
        cursor = ScanCursor(batch[-1].name)


def part_of(entry: ScanEntry) -> Part:
    checksum = entry.metadata.checksum
    return Part(
        multipart_uploads.part_number(entry.name), entry.metadata.size, entry.metadata.etag, checksum.value if checksum else ""
    )


async def all_uploads(store: Store, bucket: str) -> AsyncIterator[Upload]:
    """Every upload in progress, in no useful order: parts lie behind their upload and are stepped over."""
    cursor = ScanCursor()
    while batch := await store.scan(multipart_uploads.uploads_area(bucket), after=cursor, limit=1):
        upload_id = batch[0].name.partition("/")[0]
        if batch[0].name.endswith("/"):
            yield read(bucket, upload_id, batch[0].metadata)
        cursor = ScanCursor(upload_id + "0")  # "0" follows "/": behind everything of this upload
