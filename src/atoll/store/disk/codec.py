"""How do facts and segments become bytes in a row, and back? MessagePack by msgspec: 0.9 us out, 1.3 us in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from atoll.domain.objects import Facts, Stamp


class Segment(NamedTuple):
    """A run of bytes of a version: the blob that holds it, its size, whether the bytes are in the blob's row, and its
    CRC64NVME, signed."""

    id: int
    size: int
    inline: bool
    crc: int


_encoder = msgspec.msgpack.Encoder()
_facts = msgspec.msgpack.Decoder(Facts)
_segments = msgspec.msgpack.Decoder(list[Segment])

encode = _encoder.encode
decode = _facts.decode
decode_segments = _segments.decode


def encode_segments(segments: Sequence[Segment]) -> bytes:
    return _encoder.encode(segments)


def stamped(facts: Facts, stamp: Stamp, size: int) -> Facts:
    """`facts` with a stamp and the size that was counted. By position, because dataclasses.replace takes twice as long."""
    return Facts(
        facts.version,
        size,
        facts.etag,
        facts.modified_ms,
        stamp,
        facts.marker,
        facts.headers,
        facts.meta,
        facts.tags,
        facts.tags_ms,
        facts.checksum,
        facts.parts,
        facts.replication,
        facts.replica,
        facts.storage_class,
        facts.owner,
        facts.notes,
    )
