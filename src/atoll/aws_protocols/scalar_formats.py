"""Numbers, booleans, timestamps and blobs as text, and back."""

from __future__ import annotations

import re
from base64 import b64encode
from binascii import Error, a2b_base64
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from math import isfinite
from typing import Any

INTEGER_BITS, LONG_BITS = 32, 64  # the types "integer" and "long" of AWS's models
INTEGER_MAX_CHARS = 20  # an int64 has at most 19 digits and a sign
NUMBER_MAX_CHARS = 400  # the longest double in full, 1.8e308, has 309 digits

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)  # an int64 has at most 19 digits
_SECONDS = re.compile(r"-?[0-9]{1,12}(\.[0-9]{1,9})?", re.ASCII)

# RFC 9110 §5.6.7: IMF-fixdate, RFC 850, asctime. The first also with a numeric zone, as old clients write it.
_DATE, _TIME = r"(\d{1,2})[ -]([A-Za-z]{3})[ -](\d{2,4})", r"(\d\d):(\d\d):(\d\d)"
_IMF = re.compile(rf"(?:[A-Za-z]{{3,9}}, )?{_DATE} {_TIME} (?:GMT|UTC|[+-]0000)", re.ASCII)
_ASCTIME = re.compile(r"[A-Za-z]{3} ([A-Za-z]{3}) ([ \d]\d) (\d\d):(\d\d):(\d\d) (\d{4})", re.ASCII)


def whole(value: int, bits: int) -> int:
    """`value` if it fits into a signed integer of AWS's models. Raises ValueError."""
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise ValueError("not within integer range")
    return value


def integer(text: str, bits: int = LONG_BITS) -> int:
    """Raises ValueError on everything but decimal digits with a sign, and beyond the range of `bits`."""
    if not _INTEGER.fullmatch(text):
        raise ValueError("not an integer" if len(text) <= INTEGER_MAX_CHARS else "not within integer range")
    return whole(int(text), bits)


def short(text: str) -> int:
    """The type "integer" of AWS's models."""
    return integer(text, INTEGER_BITS)


def number(text: str) -> float:
    """A finite one. Raises ValueError."""
    if len(text) > NUMBER_MAX_CHARS or not isfinite(value := float(text)):
        raise ValueError("not a number")
    return value


def boolean(text: str) -> bool:
    lowered = text.strip().lower()
    if lowered == "true":
        return True
    if lowered == "false":
        return False
    raise ValueError("neither true nor false")


def blob(text: str) -> bytes:
    try:
        return a2b_base64(text.encode("ascii"))
    except (Error, UnicodeEncodeError) as error:
        raise ValueError("not base64") from error


def timestamp(text: str) -> datetime:
    """Any of the three forms that AWS protocols use: ISO 8601, HTTP date, seconds since 1970. UTC where no zone is named.
    Raises ValueError, also for years that no calendar date can name."""
    text = text.strip()
    if _SECONDS.fullmatch(text):
        return moment_of(float(text))
    if text[:4].isdigit():
        return _iso_moment(text)
    return http_moment(text)


def moment_of(seconds: float) -> datetime:
    """Seconds since 1970. Raises ValueError."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError) as error:
        raise ValueError("not a date of the years 1 to 9999") from error


def _iso_moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("not a date of the years 1 to 9999") from error


def http_moment(text: str) -> datetime:
    """An HTTP date. Raises ValueError."""
    if found := _IMF.fullmatch(text):
        day, month, year, hour, minute, second = found.groups()
    elif found := _ASCTIME.fullmatch(text):
        month, day, hour, minute, second, year = found.groups()
    else:
        raise ValueError("not a date")
    return datetime(_year(year), _MONTHS.index(month.title()) + 1, int(day), int(hour), int(minute), int(second), tzinfo=UTC)


def _year(text: str) -> int:
    year = int(text)
    if len(text) > 2:
        return year
    return year + (1900 if year >= 70 else 2000)  # RFC 850 dates


READ: dict[str, Callable[[str], Any]] = {
    "integer": short,
    "long": integer,
    "float": number,
    "double": number,
    "boolean": boolean,
    "blob": blob,
    "timestamp": timestamp,
}


@lru_cache(maxsize=4096)
def http_date(moment: datetime) -> str:
    """IMF-fixdate: `Sun, 06 Nov 1994 08:49:37 GMT`."""
    m = moment.astimezone(UTC)
    return f"{_DAYS[m.weekday()]}, {m.day:02} {_MONTHS[m.month - 1]} {m.year:04} {m.hour:02}:{m.minute:02}:{m.second:02} GMT"


def iso_whole(moment: datetime) -> str:
    """Whole seconds written with milliseconds: what S3 lists, so that it equals the Last-Modified header."""
    return moment.isoformat()[:19] + ".000Z"


def iso_millis(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds")[:23] + "Z"


def iso_seconds(moment: datetime) -> str:
    return moment.isoformat()[:19] + "Z"


def epoch(moment: datetime) -> float | int:
    """Seconds since 1970, whole where they are."""
    seconds = moment.timestamp()
    return int(seconds) if seconds.is_integer() else seconds


def epoch_text(moment: datetime) -> str:
    return str(epoch(moment))


def truth(value: object) -> str:
    return "true" if value else "false"


def base64(value: bytes) -> str:
    return b64encode(value).decode("ascii")


_WRITE: dict[str, Callable[[Any], str]] = {"boolean": truth, "blob": base64}


_MOMENTS: dict[str, Callable[[datetime], str]] = {"rfc822": http_date, "unixTimestamp": epoch_text, "iso8601": iso_seconds}


def moment_writer(form: str, default: Callable[[datetime], str]) -> Callable[[datetime], str]:
    """The writer of a timestampFormat; `default` where the model leaves it open."""
    return _MOMENTS.get(form, default)


def text_writer(kind: str, form: str, default: Callable[[datetime], str]) -> Callable[[Any], str]:
    """Value -> text for a scalar of type `kind`."""
    if kind == "timestamp":
        return moment_writer(form, default)
    return _WRITE.get(kind, str)
