"""The files that are read: gzip JSON of 128 to 714 bytes, as in the published experiment, the same for the same seed."""

from __future__ import annotations

import gzip
import hashlib
import json
import random
from dataclasses import dataclass

SMALLEST_BYTES, LARGEST_BYTES = 128, 714


@dataclass(frozen=True, slots=True)
class File:
    """A key and its bytes."""

    key: str
    content: bytes

    @property
    def md5(self) -> str:
        return hashlib.md5(self.content).hexdigest()


def gzipped(marker: str, size_bytes: int, rng: random.Random) -> bytes:
    """Gzip JSON of exactly `size_bytes`, telling `marker`. Digits that do not compress well fill it up."""
    noise = ""
    while True:
        content = _content(marker, noise)
        missing = size_bytes - len(content)
        if missing <= 0:
            return content if missing == 0 else _trimmed(marker, noise, size_bytes)
        noise += "".join(rng.choices("0123456789abcdef", k=max(1, missing)))


def _trimmed(marker: str, noise: str, size_bytes: int) -> bytes:
    """One digit less at a time; where compression skips a length, a file name in the header fills the gap."""
    while len(content := _content(marker, noise)) > size_bytes:
        noise = noise[:-1]
    return _padded(content, size_bytes - len(content))


def _padded(content: bytes, missing: int) -> bytes:
    """A file name of `missing - 1` letters in the gzip header (RFC 1952 section 2.3.1, FNAME), ended by a zero byte."""
    if missing == 0:
        return content
    header = content[:3] + bytes((content[3] | 0x08,)) + content[4:10]
    return header + b"x" * (missing - 1) + b"\0" + content[10:]


def _content(marker: str, noise: str) -> bytes:
    return gzip.compress(json.dumps({"marker": marker, "noise": noise}).encode(), mtime=0)


def make(count: int, seed: int) -> list[File]:
    """Sizes spread evenly from the smallest to the largest, in mixed order."""
    rng = random.Random(seed)
    step = (LARGEST_BYTES - SMALLEST_BYTES) / max(1, count - 1)
    sizes = [round(SMALLEST_BYTES + step * index) for index in range(count)]
    rng.shuffle(sizes)
    return [File(f"files/{index:04d}.json.gz", gzipped(f"file {index}", size, rng)) for index, size in enumerate(sizes)]
