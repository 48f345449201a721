"""Limits of members. Source: botocore's model of iam, "pattern", "min" and "max" of each shape."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from atoll.domain.errors import ApiError
from atoll.services.iam.quotas import TAGS_MAX

_NAME = re.compile(r"[\w+=,.@-]+", re.ASCII)
_PATH = re.compile(r"/|/[\u0021-\u007e]+/")
_DOCUMENT = re.compile(r"[\t\n\r\u0020-\u00ff]+")
_DESCRIPTION = re.compile(r"[\t\n\r\u0020-\u007e\u00a1-\u00ff]*")
_TAG = re.compile(r"[\w\s.:/=+\-@]*")  # tagKeyType: letters, separators and numbers of any script
_KEY_MAX_CHARS, _VALUE_MAX_CHARS = 128, 256
PATH_MAX_CHARS = 512
DOCUMENT_MAX_CHARS = 131_072
DESCRIPTION_MAX_CHARS = 1000


def invalid(member: str, value: object, constraint: str) -> ApiError:
    return ApiError(
        "ValidationError",
        f"1 validation error detected: Value {str(value)!r} at '{member}' failed to satisfy constraint: Member must {constraint}",
    )


def name(member: str, value: str, most: int = 128) -> str:
    if not 1 <= len(value) <= most:
        raise invalid(member, value, f"have length between 1 and {most}")
    return _matching(member, value, _NAME)


def path(value: str) -> str:
    if len(value) > PATH_MAX_CHARS:
        raise invalid("path", value, f"have length less than or equal to {PATH_MAX_CHARS}")
    return _matching("path", value, _PATH)


def description(value: str) -> str:
    if len(value) > DESCRIPTION_MAX_CHARS:
        raise invalid("description", value, f"have length less than or equal to {DESCRIPTION_MAX_CHARS}")
    return _matching("description", value, _DESCRIPTION)


def between(member: str, value: int, least: int, most: int) -> int:
    if not least <= value <= most:
        raise invalid(member, value, f"have value between {least} and {most}")
    return value


def document(member: str, text: str, check: Callable[[str], object], most: int) -> str:
    """A policy's text. `most`: non-white characters. Raises MalformedPolicyDocument, LimitExceeded."""
    if not 1 <= len(text) <= DOCUMENT_MAX_CHARS:
        raise invalid(member, text[:32], f"have length between 1 and {DOCUMENT_MAX_CHARS}")
    _matching(member, text, _DOCUMENT)
    check_quota(policy_size(text), most, "characters in a policy document")
    check(text)
    return text


def policy_size(text: str) -> int:
    """Characters that count against quotas of policy size."""
    return sum(map(len, text.split()))


def check_quota(count: int, most: int, of_what: str) -> None:
    if count > most:
        raise ApiError("LimitExceeded", f"Cannot exceed the quota of {most} {of_what}.")


def tags(given: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """[{Key, Value}] as a mapping. Keys are unique without regard to case, as IAM has it."""
    found: dict[str, str] = {}
    for tag in given:
        key, value = tag.get("Key", ""), tag.get("Value")
        if value is None:
            raise invalid("tags", key, "have a Value")
        if not 1 <= len(key) <= _KEY_MAX_CHARS or len(value) > _VALUE_MAX_CHARS:
            raise invalid("tags", f"{key}={value}", f"have keys of 1 to {_KEY_MAX_CHARS}, values to {_VALUE_MAX_CHARS} characters")
        if key.lower() in map(str.lower, found):
            raise ApiError("InvalidInput", "Duplicate tag keys found. Please note that Tag keys are case insensitive.")
        found[_matching("tags", key, _TAG)] = _matching("tags", value, _TAG)
    check_quota(len(found), TAGS_MAX, "tags")
    return found


def _matching(member: str, value: str, pattern: re.Pattern[str]) -> str:
    if not pattern.fullmatch(value):
        raise invalid(member, value[:64], f"satisfy regular expression pattern: {pattern.pattern}")
    return value
