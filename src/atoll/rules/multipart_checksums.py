"""The checksum that a multipart upload promises, and that of the object made of its parts."""

from __future__ import annotations

from collections.abc import Sequence

from atoll.domain.errors import ApiError
from atoll.domain.objects import Checksum, ChecksumKind, Part
from atoll.rules import checksum_algorithms


def declared_checksum(name: str | None, kind: str | None) -> tuple[str, ChecksumKind] | None:
    """Algorithm and type of an upload; None when it declares none. Raises InvalidRequest for a pair that S3 has not."""
    if name is None:
        if kind is not None:
            raise ApiError(
                "InvalidRequest",
                "The x-amz-checksum-type header can only be used with the x-amz-checksum-algorithm header.",
            )
        return None
    known = checksum_algorithms.algorithm(name)
    for offered in known.kinds:
        if kind in (None, offered):
            return known.name, offered
    if kind not in ("COMPOSITE", "FULL_OBJECT"):
        raise ApiError("InvalidRequest", "Value for x-amz-checksum-type header is invalid.")
    raise ApiError(
        "InvalidRequest", f"The {kind} checksum type cannot be used with the {known.name.lower()} checksum algorithm."
    )


def object_checksum(name: str, kind: ChecksumKind, parts: Sequence[Part]) -> Checksum:
    """The object's checksum from those of its parts."""
    if kind == "COMPOSITE":
        return Checksum(name, kind, checksum_algorithms.composite(name, [part.checksum for part in parts]))
    return Checksum(name, kind, checksum_algorithms.combine(name, [(part.checksum, part.size) for part in parts]))


def etag(parts: Sequence[Part]) -> str:
    return checksum_algorithms.multipart_etag([part.etag for part in parts])
