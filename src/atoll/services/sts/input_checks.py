"""Limits of members. Source: botocore's model of sts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec

from atoll.domain.errors import ApiError

_SESSION = re.compile(r"[\w+=,.@-]{2,64}", re.ASCII)
_EXTERNAL = re.compile(r"[\w+=,.@:/-]{2,1224}", re.ASCII)
_TAG_KEY, _TAG_VALUE = re.compile(r"[\w\s.:/=+\-@]{1,128}"), re.compile(r"[\w\s.:/=+\-@]{0,256}")
TAGS_MAX = 50
POLICY_MAX_CHARS = 2048  # STS API: AssumeRole, Policy
PACKED_MAX_BYTES = 4096  # of policy and tags in a token, so that tokens fit into a header; AWS names no figure for its own


def invalid(member: str, value: object, constraint: str) -> ApiError:
    return ApiError(
        "ValidationError",
        f"1 validation error detected: Value {str(value)[:64]!r} at '{member}' failed to satisfy constraint: Member must {constraint}",
    )


def session_name(value: str) -> str:
    return _matching("roleSessionName", value, _SESSION)


def external_id(value: str) -> str:
    return _matching("externalId", value, _EXTERNAL)


def duration(value: int, least: int, most: int) -> int:
    if not least <= value <= most:
        raise invalid("durationSeconds", value, f"have value between {least} and {most}")
    return value


def policy(text: str) -> str:
    if len(text) > POLICY_MAX_CHARS:
        raise invalid("policy", text, f"have length less than or equal to {POLICY_MAX_CHARS}")
    return text


def tags(given: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """[{Key, Value}] as a mapping. Keys differ by more than case."""
    pairs = [_tag(tag) for tag in given]
    if len(pairs) > TAGS_MAX:
        raise invalid("tags", len(pairs), f"have at most {TAGS_MAX} tags")
    if len({key.lower() for key, _ in pairs}) < len(pairs):
        raise invalid("tags", [key for key, _ in pairs], "have keys that differ without regard to case")
    return dict(pairs)


def _tag(given: Mapping[str, str]) -> tuple[str, str]:
    if "Value" not in given:
        raise invalid("tags", given.get("Key", ""), "have a Value")
    return _matching("tags", given.get("Key", ""), _TAG_KEY), _matching("tags", given["Value"], _TAG_VALUE)


def packed_percent(session_policy: str, session_tags: Mapping[str, str]) -> int:
    """PackedPolicySize. Raises PackedPolicyTooLarge."""
    size = len(msgspec.json.encode((session_policy, session_tags))) - len('["",{}]')
    if size > PACKED_MAX_BYTES:
        raise ApiError("PackedPolicyTooLarge", f"Policy and tags take {size} of {PACKED_MAX_BYTES} bytes in the session token.")
    return -(-100 * size // PACKED_MAX_BYTES)


def _matching(member: str, value: str, pattern: re.Pattern[str]) -> str:
    if not pattern.fullmatch(value):
        raise invalid(member, value, f"satisfy regular expression pattern: {pattern.pattern}")
    return value
