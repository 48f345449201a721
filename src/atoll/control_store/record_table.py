"""A kind of record, and how its records become bytes and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

R = TypeVar("R", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True)
class Table(Generic[R]):
    """Records of one type (a frozen msgspec Struct) under string keys.

    Bodies are JSON, so that a person can read the file. Fields that a reader does not know are ignored, fields that are
    missing take their default: give every field that is added later a default, and never give an old name a new type.
    """

    name: str
    type: type[R]

    def encode(self, record: R) -> bytes:
        return msgspec.json.encode(record)

    def decode(self, body: bytes) -> R:
        """Raises Unreadable when a newer Atoll wrote something that this one cannot understand."""
        try:
            return msgspec.json.decode(body, type=self.type)
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            raise Unreadable(f"a record of {self.name}: {error}") from error


class Unreadable(Exception):
    """A record, or a whole state file, that this version of Atoll cannot read."""
