"""Range, partNumber and x-amz-copy-source-range as S3 reads them (RFC 9110 §14)."""

from __future__ import annotations

import re

from atoll.domain.errors import ApiError
from atoll.domain.objects import ByteRange, ObjectMetadata
from atoll.domain.quotas import PARTS_MAX

_RANGE = re.compile(r"bytes=([0-9]{0,40})-([0-9]{0,40})", re.IGNORECASE)  # a longer number is no number: header ignored
_COPY_RANGE = re.compile(r"bytes=([0-9]{1,40})-([0-9]{1,40})")


def resolve_range(range_header: str | None, size: int) -> ByteRange | None:
    """The span that a Range header asks of an object of `size` bytes; None for the whole object.

    A header that does not parse, is reversed, has another unit or several ranges counts as absent: S3 answers 200.
    Raises InvalidRange (416) for a range that begins beyond the end.
    """
    match = _RANGE.fullmatch(range_header.strip()) if range_header else None
    if match is None:
        return None
    first, last = match.groups()
    if not first:
        return _suffix(match.group(), last, size) if last else None
    return _from(match.group(), int(first), int(last) if last else max(size - 1, int(first)), size)


def _from(asked: str, first: int, last: int, size: int) -> ByteRange | None:
    if last < first:
        return None
    if first >= size:
        raise _beyond(asked, size)
    return ByteRange(first, min(last, size - 1))


def _suffix(asked: str, last: str, size: int) -> ByteRange:
    count = min(int(last), size)
    if count == 0:
        raise _beyond(asked, size)
    return ByteRange(size - count, size - 1)


def _beyond(asked: str, size: int) -> ApiError:
    return ApiError(
        "InvalidRange",
        "The requested range is not satisfiable",
        headers={"content-range": f"bytes */{size}"},
        RangeRequested=asked,
        ActualObjectSize=str(size),
    )


def part_range(metadata: ObjectMetadata, number: int) -> ByteRange | None:
    """The bytes of one part; an object put in one piece is its own part 1. None for a part without bytes.

    Raises InvalidArgument outside 1..10,000, InvalidPartNumber (416) beyond the parts.
    """
    if not 1 <= number <= PARTS_MAX:
        raise ApiError(
            "InvalidArgument",
            f"Part number must be an integer between 1 and {PARTS_MAX}, inclusive",
            ArgumentName="partNumber",
            ArgumentValue=str(number),
        )
    first = 0
    pieces = [(part.number, part.size) for part in metadata.parts] or [(1, metadata.size)]
    for at, size in pieces:
        if at == number:
            return ByteRange(first, first + size - 1) if size else None
        first += size
    raise ApiError(
        "InvalidPartNumber",
        "The requested partnumber is not satisfiable",
        PartNumberRequested=str(number),
        ActualPartCount=str(len(pieces)),
    )


def copy_range(text: str, size: int) -> ByteRange:
    """x-amz-copy-source-range of UploadPartCopy: bytes=first-last, both given, inside the source of `size` bytes.

    Raises InvalidArgument (malformed, reversed, last byte beyond the source) or InvalidRequest (first byte beyond it).
    """
    match = _COPY_RANGE.fullmatch(text)
    if match is None or int(match[1]) > int(match[2]):
        raise _bad_copy_range("The x-amz-copy-source-range value must be of the form bytes=first-last", text)
    first, last = int(match[1]), int(match[2])
    if first >= size:
        raise ApiError("InvalidRequest", "The specified copy range is invalid for the source object size")
    if last >= size:
        raise _bad_copy_range(f"Range specified is not valid for source object of size: {size}", text)
    return ByteRange(first, last)


def _bad_copy_range(message: str, text: str) -> ApiError:
    return ApiError("InvalidArgument", message, ArgumentName="x-amz-copy-source-range", ArgumentValue=text)
