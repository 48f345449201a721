"""What a raw "+" in a request target means: the reading that the client signed (docs/decisions/0012).

HTML forms write a blank as "+", RFC 3986 does not. AWS reads it as a blank in the path of an object, and in a query as
whichever of the two was signed. A target is settled once, before anything is routed, by writing every "+" as the escape that
it means; so what is executed cannot differ from what was signed.
"""

from __future__ import annotations

PLUS, BLANK = "%2B", "%20"


def readings(target: str, *, s3: bool, strict: bool) -> tuple[str, ...]:
    """The targets that a signed one may mean, none with a raw "+", in the order in which they are tried; the last one is what
    AWS shows as its canonical request. At most four. `strict`: a plus in a path of S3 is a blank and nothing else, as at AWS;
    other services take paths as they are written."""
    if "+" not in target:
        return (target,)
    path, mark, query = target.partition("?")
    paths = _find_version(path, (PLUS,) if not s3 else (BLANK,) if strict else (PLUS, BLANK))
    return tuple(f"{one}{mark}{two}" for one in paths for two in _find_version(query, (PLUS, BLANK)))


def _find_version(text: str, escapes: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(text.replace("+", escape) for escape in escapes) if "+" in text else (text,)


def unsigned(target: str) -> str:
    """What a target means that nobody signed: blanks, as AWS reads path and query."""
    return target.replace("+", BLANK)
