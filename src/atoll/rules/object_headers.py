"""Headers that stay with an object, and how they are returned."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from atoll.domain.errors import ApiError, not_implemented
from atoll.domain.quotas import METADATA_MAX_BYTES
from atoll.rules.payload_verification import strip_aws_chunked

DEFAULT_TYPE = "binary/octet-stream"  # S3: when no Content-Type was sent

STORAGE_CLASSES = frozenset(
    {
        "STANDARD", "REDUCED_REDUNDANCY", "STANDARD_IA", "ONEZONE_IA", "INTELLIGENT_TIERING", "GLACIER", "DEEP_ARCHIVE",
        "OUTPOSTS", "GLACIER_IR", "SNOW", "EXPRESS_ONEZONE", "FSX_OPENZFS", "FSX_ONTAP",
    }
)  # fmt: skip


def user_metadata(metadata: Mapping[str, str] | None) -> dict[str, str]:
    """x-amz-meta-* as text under lower-case names. Raises MetadataTooLarge beyond 2 KiB of names and values."""
    meta = {name.lower(): _text(value) for name, value in (metadata or {}).items()}
    size = sum(len(name.encode()) + len(value.encode()) for name, value in meta.items())
    if size > METADATA_MAX_BYTES:
        raise ApiError(
            "MetadataTooLarge",
            "Your metadata headers exceed the maximum allowed metadata size",
            Size=str(size),
            MaxSizeAllowed=str(METADATA_MAX_BYTES),
        )
    return meta


def _text(value: str) -> str:
    """Header values arrive as latin-1; who sends UTF-8 means UTF-8."""
    try:
        return value.encode("latin-1").decode()
    except ValueError:
        return value


def response_metadata(meta: Mapping[str, str]) -> dict[str, str]:
    """The values as headers can carry them: text beyond ASCII as an encoded word (RFC 2047 §2)."""
    return {name: value if _fits(value) else _word(value) for name, value in meta.items()}


def _fits(value: str) -> bool:
    return value.isascii() and value.isprintable()


def _word(value: str) -> str:
    return f"=?UTF-8?B?{base64.b64encode(value.encode()).decode()}?="


def system_headers(given: Mapping[str, str | None]) -> dict[str, str]:
    """The stored standard headers; aws-chunked is framing and not of the object. `given` maps lower-case names to values."""
    kept = {name: value for name, value in given.items() if value}
    if "content-encoding" in kept:
        kept["content-encoding"] = strip_aws_chunked(kept["content-encoding"])
        if not kept["content-encoding"]:
            del kept["content-encoding"]
    return {"content-type": DEFAULT_TYPE, **kept}


def check_storage_class(name: str | None) -> None:
    """Atoll keeps everything in STANDARD. Raises InvalidStorageClass for no class of S3's, NotImplemented for the others."""
    if name is None or name == "STANDARD":
        return
    if name not in STORAGE_CLASSES:
        raise ApiError(
            "InvalidStorageClass", "The storage class you specified is not valid", StorageClassRequested=name
        )
    raise not_implemented(f"the storage class {name}")
