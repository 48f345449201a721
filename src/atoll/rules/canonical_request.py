"""The canonical request and the string to sign, which SigV4 and SigV4A share."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import lru_cache
from urllib.parse import quote_from_bytes, unquote_to_bytes

UNSIGNED_PAYLOAD = "UNSIGNED-PAYLOAD"
EMPTY_SHA256 = hashlib.sha256(b"").hexdigest()
TERMINATOR = "aws4_request"  # SigV4: last section of every credential scope

_UNRESERVED = "-_.~"  # RFC 3986 section 2.3, besides letters and digits
# Text that decoding and strict encoding would leave as it is: most of what clients send. Escapes of unreserved characters
# and lower-case ones are not in it; nor is %2F in a path, which becomes a slash.
_ESCAPED = r"%(?:[0189A-F][0-9A-F]|2[0-9ABC]|3[A-F]|40|5[BCDE]|60|7[BCDF])"
_strict_name = re.compile(rf"(?:[A-Za-z0-9\-_.~]++|{_ESCAPED}|%2F)*+").fullmatch
_strict_path = re.compile(rf"/(?:[A-Za-z0-9\-_.~/]++|{_ESCAPED})*+").fullmatch
_match_amz_date = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})T([01][0-9]|2[0-3])([0-5][0-9])([0-5][0-9]|60)Z", re.ASCII).fullmatch
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_rfc1123 = re.compile(
    rf"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), )?([0-9]{{1,2}}) ({'|'.join(_MONTHS)}) ([0-9]{{4}}) ([0-9]{{2}}):([0-9]{{2}}):([0-9]{{2}}) (?:GMT|UTC|[+-]0000)"
).fullmatch
_blanks = re.compile(r"[ \t]+")  # not str.split(): latin-1 text of UTF-8 bytes may hold U+00A0 and U+0085
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_AMZ_DATES_CACHED = 1024  # clients sign many requests in one second


def decode(text: str) -> bytes:
    """Percent-decoding to bytes: keys need not be UTF-8. A plus stays a plus (SigV4, not HTML forms)."""
    return unquote_to_bytes(text.encode("latin-1"))


def decode_text(text: str, errors: str = "surrogateescape") -> str:
    """Percent-decoding of what should be text; bytes that are not UTF-8 keep their value as lone surrogates."""
    return decode(text).decode("utf-8", errors) if "%" in text else text


def encode(text: str) -> str:
    """One component of a query, decoded and encoded strictly."""
    return text if _strict_name(text) else quote_from_bytes(decode(text), safe=_UNRESERVED)


def pairs(query: str) -> Iterator[tuple[str, str]]:
    """Members of a query as sent, still encoded; a flag without "=" has the value ""."""
    for member in query.split("&"):
        if member:
            name, _, value = member.partition("=")
            yield name, value


def canonical_path(path: str, *, s3: bool, normalize: bool = True) -> str:
    """S3: decoded and encoded once, "//", "." and ".." stay. Others: dot segments removed, what is on the wire encoded again."""
    if s3:
        return path if _strict_path(path) else quote_from_bytes(decode(path or "/"), safe="/" + _UNRESERVED)
    return quote_from_bytes((_normalized(path) if normalize else path or "/").encode("latin-1"), safe="/" + _UNRESERVED)


def _normalized(path: str) -> str:
    """RFC 3986 section 5.2.4 with empty segments dropped."""
    kept: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            kept = kept[:-1]
        elif segment not in ("", "."):
            kept.append(segment)
    slash = "/" if kept and path.endswith(("/", "/.", "/..")) else ""
    return "/" + "/".join(kept) + slash


def canonical_query(query: str, *, without: str = "") -> str:
    """Strictly encoded, sorted by name then value. `without` (X-Amz-Signature) is dropped: pass it in the query form only,
    or an unsigned parameter of that name gets in."""
    if not query:
        return ""
    members = [(encode(name), encode(value)) for name, value in pairs(query)]
    members.sort()
    return "&".join([f"{name}={value}" for name, value in members if name != without])


def canonical_headers(headers: Mapping[str, str], names: Sequence[str]) -> str:
    """One line per signed header, inner blanks folded to one. Raises KeyError for a name that did not arrive."""
    lines = "".join([f"{name}:{headers[name]}\n" for name in names])
    return _blanks.sub(" ", lines) if "  " in lines or "\t" in lines else lines


def canonical_request(
    method: str, path: str, query: str, *, headers: str, names: str, payload: str
) -> str:
    """All parts in their canonical form; `names` joined by ";"."""
    return f"{method}\n{path}\n{query}\n{headers}\n{names}\n{payload}"


def string_to_sign(algorithm: str, amz_date: str, scope: str, canonical: str) -> bytes:
    """Header values are latin-1 text, so latin-1 gives back the bytes that the client hashed."""
    return f"{algorithm}\n{amz_date}\n{scope}\n{hashlib.sha256(canonical.encode('latin-1')).hexdigest()}".encode("latin-1")


@lru_cache(maxsize=_AMZ_DATES_CACHED)
def epoch(amz_date: str) -> int:
    """X-Amz-Date (yyyymmddThhmmssZ) in seconds since 1970. Raises ValueError."""
    found = _match_amz_date(amz_date)
    if found is None:
        raise ValueError(f"{amz_date!r} is not a date of the form yyyymmddThhmmssZ")
    year, month, day, hour, minute, second = map(int, found.groups())
    return (date(year, month, day).toordinal() - _EPOCH_DAY) * 86400 + hour * 3600 + minute * 60 + second


def stamp_of_date(text: str) -> str:
    """A Date header as X-Amz-Date writes it: RFC 1123 form (of UTC), or already ISO basic. What is neither is given back as
    it is, for `epoch` to refuse."""
    found = _rfc1123(text)
    if found is None:
        return text
    day, month, year, hour, minute, second = found.groups()
    return f"{year}{_MONTHS.index(month) + 1:02}{day:0>2}T{hour}{minute}{second}Z"


def amz_date(now: float) -> str:
    """The moment `now` (epoch seconds) as X-Amz-Date writes it."""
    days, rest = divmod(int(now), 86400)
    return f"{date.fromordinal(_EPOCH_DAY + days):%Y%m%d}T{rest // 3600:02}{rest // 60 % 60:02}{rest % 60:02}Z"


def iso(now: float) -> str:
    """The moment `now` as error documents write it (ServerTime)."""
    text = amz_date(now)
    return f"{text[:4]}-{text[4:6]}-{text[6:11]}:{text[11:13]}:{text[13:]}"
