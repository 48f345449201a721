"""Upload ids, where parts lie, and whether they make an object."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from atoll.domain.errors import ApiError
from atoll.domain.objects import Key, Part
from atoll.domain.quotas import PART_MIN_BYTES, PARTS_MAX

UPLOAD_ID_BYTES = 24  # random bytes in an upload id


def uploads_area(bucket: str) -> str:
    """The internal bucket that holds the uploads in progress of `bucket`."""
    return f"{bucket}!uploads"


def upload_id(region: str, random_bytes: bytes) -> str:
    """Carries its region, so that a Multi-Region Access Point can send the parts after it (mrap.md, MULTIPART_PIN)."""
    return base64.urlsafe_b64encode(region.encode() + b"|" + random_bytes).decode().rstrip("=")


def region_of_upload(text: str) -> str | None:
    """The region in an upload id; None for an id that Atoll did not make."""
    try:
        raw = base64.b64decode(text.encode() + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
        region, bar, _ = raw.partition(b"|")
        return region.decode("ascii") if bar and region else None
    except (binascii.Error, ValueError):
        return None


def issued_by(text: str) -> str | None:
    """The region that can have issued this upload id; None for a text that no region can have issued."""
    region = region_of_upload(text)
    return region if region and len(text) == len(upload_id(region, bytes(UPLOAD_ID_BYTES))) else None


def folder(bucket: str, upload: str) -> Key:
    """The upload's own record, and at the same time the prefix of all that belongs to it."""
    return Key(uploads_area(bucket), f"{upload}/")


def part_key(bucket: str, upload: str, number: int) -> Key:
    return Key(uploads_area(bucket), f"{upload}/{number:05d}")


def check_number(number: int) -> int:
    """Raises InvalidArgument outside 1..10,000."""
    if not 1 <= number <= PARTS_MAX:
        raise ApiError(
            "InvalidArgument",
            f"Part number must be an integer between 1 and {PARTS_MAX}, inclusive",
            ArgumentName="partNumber",
            ArgumentValue=str(number),
        )
    return number


def part_number(name: str) -> int:
    return int(name.rpartition("/")[2])


@dataclass(frozen=True, slots=True)
class Claim:
    """One part as CompleteMultipartUpload lists it. `checksums` maps AWS's algorithm names to values."""

    number: int
    etag: str
    checksums: Mapping[str, str]


def check_order(claims: Sequence[Claim], upload: str) -> None:
    """Raises InvalidRequest for no parts, InvalidPartOrder unless numbers rise."""
    if not claims:
        raise ApiError("InvalidRequest", "You must specify at least one part")
    if any(a.number >= b.number for a, b in pairwise(claims)):
        raise _order(upload)


def _order(upload: str) -> ApiError:
    return ApiError(
        "InvalidPartOrder",
        "The list of parts was not in ascending order. The parts list must be specified in order by part number.",
        UploadId=upload,
    )


def check_numbering(claims: Sequence[Claim], upload: str) -> None:
    """Parts with an additional checksum are numbered from 1 without gaps. Source: model, CompletedPart$PartNumber."""
    if any(claim.number != at for at, claim in enumerate(claims, start=1)):
        raise _order(upload)


def select_parts(claims: Sequence[Claim], held: Mapping[int, Part], upload: str) -> list[Part]:
    """The parts that the claims name. Raises InvalidPart for an unknown number or ETag, EntityTooSmall."""
    parts = [_one(claim, held.get(claim.number), upload) for claim in claims]
    for part in parts[:-1]:
        if part.size < PART_MIN_BYTES:
            raise ApiError(
                "EntityTooSmall",
                "Your proposed upload is smaller than the minimum allowed size",
                ProposedSize=str(part.size),
                MinSizeAllowed=str(PART_MIN_BYTES),
                PartNumber=str(part.number),
                ETag=part.etag,
            )
    return parts


def _one(claim: Claim, part: Part | None, upload: str) -> Part:
    if part is None or part.etag != claim.etag:
        raise invalid_part(upload, claim)
    return part


def invalid_part(upload: str, claim: Claim) -> ApiError:
    return ApiError(
        "InvalidPart",
        "One or more of the specified parts could not be found. The part may not have been uploaded, "
        "or the specified entity tag may not match the part's entity tag.",
        UploadId=upload,
        PartNumber=str(claim.number),
        ETag=claim.etag,
    )
