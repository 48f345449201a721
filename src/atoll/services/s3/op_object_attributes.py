"""GetObjectAttributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from atoll.domain import objects
from atoll.domain.api_call import Call, OperationOutput
from atoll.domain.errors import ApiError
from atoll.domain.objects import ObjectMetadata, Part
from atoll.rules import list_pages
from atoll.services.s3.bucket_lookup import local_bucket
from atoll.services.s3.dependencies import Dependencies
from atoll.services.s3.new_version import checksum_members
from atoll.services.s3.object_response import modified
from atoll.services.s3.op_list_uploads import part_marker
from atoll.services.s3.version_lookup import check_version, existing, version_members


async def GetObjectAttributes(
    deps: Dependencies,
    call: Call,
    *,
    Bucket: str,
    Key: str,
    ObjectAttributes: Sequence[str] = (),
    VersionId: str | None = None,
    MaxParts: int | None = None,
    PartNumberMarker: int | str | None = None,
    ExpectedBucketOwner: str | None = None,
) -> OperationOutput:
    """Only what was asked for. The ETag has no quotes here, and a composite checksum no count."""
    record = local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    asked = _asked(ObjectAttributes)
    found = await deps.store.head(objects.Key(Bucket, Key), check_version(record, VersionId))
    metadata = existing(call, record, Key, VersionId, found)
    size, after = list_pages.page_size(MaxParts, "max-parts"), part_marker(PartNumberMarker)
    members: dict[str, Any] = {"LastModified": modified(metadata), **version_members(record, metadata.version)}
    for name in asked:
        value = _parts(metadata, size, after) if name == "ObjectParts" else _SIMPLE[name](metadata)
        if value is not None:
            members[name] = value
    return OperationOutput(members)


def _checksum(metadata: ObjectMetadata) -> dict[str, str] | None:
    if metadata.checksum is None:
        return None
    members = checksum_members(metadata.checksum)
    return {name: value.partition("-")[0] if name != "ChecksumType" else value for name, value in members.items()}


_SIMPLE: dict[str, Callable[[ObjectMetadata], Any]] = {
    "ETag": lambda metadata: metadata.etag,
    "Checksum": _checksum,
    "StorageClass": lambda metadata: metadata.storage_class,
    "ObjectSize": lambda metadata: metadata.size,
}


def _asked(listed: Sequence[str]) -> list[str]:
    """The header's list, which may hold blanks after its commas. Raises InvalidArgument."""
    names = [name.strip() for entry in listed for name in entry.split(",") if name.strip()]
    if not names or any(name != "ObjectParts" and name not in _SIMPLE for name in names):
        raise ApiError("InvalidArgument", "Invalid attribute name specified.", ArgumentName="x-amz-object-attributes")
    return names


def _parts(metadata: ObjectMetadata, size: int, after: int) -> dict[str, Any] | None:
    """Of multipart objects. S3 lists the parts only of those whose parts have checksums of their own (COMPOSITE)."""
    if not metadata.parts:
        return None
    total = {"TotalPartsCount": len(metadata.parts)}
    if metadata.checksum is None or metadata.checksum.kind != "COMPOSITE":
        return total
    rest = [part for part in metadata.parts if part.number > after]
    page = rest[:size]
    return {
        **total,
        "PartNumberMarker": after,
        "NextPartNumberMarker": page[-1].number if page else 0,
        "MaxParts": size,
        "IsTruncated": 0 < len(page) < len(rest),
        "Parts": [_part(metadata.checksum.algorithm, part) for part in page],
    }


def _part(algorithm: str, part: Part) -> dict[str, Any]:
    return {"PartNumber": part.number, "Size": part.size, f"Checksum{algorithm}": part.checksum}
