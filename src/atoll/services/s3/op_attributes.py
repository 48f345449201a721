"""What is an object made of? GetObjectAttributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from atoll.domain import objects
from atoll.domain.call import Answer, Call
from atoll.domain.errors import ApiError
from atoll.domain.objects import Facts, Part
from atoll.rules import listing
from atoll.services.s3.buckets import bucket_here
from atoll.services.s3.here import Here
from atoll.services.s3.op_uploads import part_marker
from atoll.services.s3.reading import modified
from atoll.services.s3.versions import check_version, present, shown
from atoll.services.s3.writing import checksum_members


async def GetObjectAttributes(
    here: Here,
    call: Call,
    *,
    Bucket: str,
    Key: str,
    ObjectAttributes: Sequence[str] = (),
    VersionId: str | None = None,
    MaxParts: int | None = None,
    PartNumberMarker: int | str | None = None,
    ExpectedBucketOwner: str | None = None,
) -> Answer:
    """Only what was asked for. The ETag has no quotes here, and a composite checksum no count."""
    record = bucket_here(here, call, Bucket, ExpectedBucketOwner)
    asked = _asked(ObjectAttributes)
    found = await here.store.head(objects.Key(Bucket, Key), check_version(record, VersionId))
    facts = present(call, record, Key, VersionId, found)
    size, after = listing.page_size(MaxParts, "max-parts"), part_marker(PartNumberMarker)
    members: dict[str, Any] = {"LastModified": modified(facts), **shown(record, facts.version)}
    for name in asked:
        value = _parts(facts, size, after) if name == "ObjectParts" else _SIMPLE[name](facts)
        if value is not None:
            members[name] = value
    return Answer(members)


def _checksum(facts: Facts) -> dict[str, str] | None:
    if facts.checksum is None:
        return None
    members = checksum_members(facts.checksum)
    return {name: value.partition("-")[0] if name != "ChecksumType" else value for name, value in members.items()}


_SIMPLE: dict[str, Callable[[Facts], Any]] = {
    "ETag": lambda facts: facts.etag,
    "Checksum": _checksum,
    "StorageClass": lambda facts: facts.storage_class,
    "ObjectSize": lambda facts: facts.size,
}


def _asked(listed: Sequence[str]) -> list[str]:
    """The header's list, which may hold blanks after its commas. Raises InvalidArgument."""
    names = [name.strip() for entry in listed for name in entry.split(",") if name.strip()]
    if not names or any(name != "ObjectParts" and name not in _SIMPLE for name in names):
        raise ApiError("InvalidArgument", "Invalid attribute name specified.", ArgumentName="x-amz-object-attributes")
    return names


def _parts(facts: Facts, size: int, after: int) -> dict[str, Any] | None:
    """Of multipart objects. S3 lists the parts only of those whose parts have checksums of their own (COMPOSITE)."""
    if not facts.parts:
        return None
    total = {"TotalPartsCount": len(facts.parts)}
    if facts.checksum is None or facts.checksum.kind != "COMPOSITE":
        return total
    rest = [part for part in facts.parts if part.number > after]
    page = rest[:size]
    return {
        **total,
        "PartNumberMarker": after,
        "NextPartNumberMarker": page[-1].number if page else 0,
        "MaxParts": size,
        "IsTruncated": 0 < len(page) < len(rest),
        "Parts": [_part(facts.checksum.algorithm, part) for part in page],
    }


def _part(algorithm: str, part: Part) -> dict[str, Any]:
    return {"PartNumber": part.number, "Size": part.size, f"Checksum{algorithm}": part.checksum}
