"""Replication status of a version: the copies that a write needs, what becomes of each, when it is tried again.

A version remembers per destination bucket PENDING, COMPLETED or FAILED (`ObjectMetadata.replication`). Only versions born here owe
copies, and a change of tags only where it was made; an arrival owes nothing. That alone makes rings and meshes safe.
Source: S3 user guide, "What is replicated", "Getting replication status"; what AWS leaves open is marked [choice].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from atoll.domain.objects import NULL_VERSION, ObjectMetadata
from atoll.rules.replication_configuration import BucketSettings, Filter, Rule, Rules, check, named, parse

__all__ = [
    "COPIED",
    "LAG_MAX_S",
    "LAG_MIN_S",
    "RETRY_MAX_S",
    "RETRY_MIN_S",
    "RTC_THRESHOLD_S",
    "TRANSITIONS",
    "BucketSettings",
    "CopyTime",
    "Event",
    "FailureReason",
    "Filter",
    "Rule",
    "Rules",
    "State",
    "Step",
    "backoff",
    "check",
    "completed_destinations",
    "destinations",
    "draw_lag",
    "failed",
    "governing_rule",
    "has_later_tags",
    "is_conflict",
    "named",
    "next_state",
    "parse",
    "pending",
    "permanent_reason",
    "status",
    "with_changed_tags",
    "with_completed",
    "with_pending",
]

RETRY_MIN_S, RETRY_MAX_S = 1.0, 60.0  # [choice]
RTC_THRESHOLD_S = 900  # S3: Replication Time Control, fifteen minutes
LAG_MIN_S, LAG_MAX_S = 21.0, 24.0  # what profile aws must reproduce
COPIED = "replication-copied"  # note: the destinations that hold the bytes already and only lack a change of tags
FAILED_NOTE = "replication-failed>"  # note, followed by the destination: why it failed
BATCH = "replication-batch"  # note: queued afterwards, not by its own write

State = Literal["QUEUED", "COPYING", "RETRY", "DONE", "FAILED"]
Event = Literal["taken", "stored", "trouble", "refused", "amended"]
Step = Literal["object", "multipart", "marker", "tags"]
FailureReason = Literal[
    "AssumeRoleNotPermitted",
    "DstBucketNotFound",
    "DstBucketUnversioned",
    "DstDelObjNotPermitted",
    "DstMultipartInitNotPermitted",
    "DstPutObjectNotPermitted",
    "DstPutTaggingNotPermitted",
    "DstVersionNotFound",
    "SrcGetObjectNotPermitted",
    "SrcGetTaggingNotPermitted",
]

# A task's life. A pair that is not here cannot happen. "amended": the version changed while its copy was under way.
TRANSITIONS: Mapping[tuple[State, Event], State] = {
    ("QUEUED", "taken"): "COPYING",
    ("RETRY", "taken"): "COPYING",
    ("COPYING", "stored"): "DONE",
    ("COPYING", "trouble"): "RETRY",
    ("COPYING", "refused"): "FAILED",
    ("COPYING", "amended"): "QUEUED",
}

# What the destination's own judgement means. All other trouble passes and is tried again.
# Source: S3 user guide, "Amazon S3 replication failure reasons".
_REFUSALS: Mapping[tuple[str, Step], FailureReason] = {
    ("NoSuchBucket", "object"): "DstBucketNotFound",
    ("NoSuchBucket", "multipart"): "DstBucketNotFound",
    ("NoSuchBucket", "marker"): "DstBucketNotFound",
    ("NoSuchBucket", "tags"): "DstBucketNotFound",
    ("InvalidBucketState", "object"): "DstBucketUnversioned",
    ("InvalidBucketState", "multipart"): "DstBucketUnversioned",
    ("InvalidBucketState", "marker"): "DstBucketUnversioned",
    ("InvalidBucketState", "tags"): "DstBucketUnversioned",
    ("AccessDenied", "object"): "DstPutObjectNotPermitted",
    ("AccessDenied", "multipart"): "DstMultipartInitNotPermitted",
    ("AccessDenied", "marker"): "DstDelObjNotPermitted",
    ("AccessDenied", "tags"): "DstPutTaggingNotPermitted",
    ("NoSuchVersion", "tags"): "DstVersionNotFound",
}


def next_state(state: State, event: Event) -> State:
    """The next state. An illegal move is a bug of ours and raises KeyError."""
    return TRANSITIONS[state, event]


def destinations(
    rules: Rules, key: str, tags: Mapping[str, str], *, kind: Literal["object", "marker"], by_user: bool
) -> tuple[str, ...]:
    """The buckets that a new version goes to. `by_user` False: a marker that lifecycle made, which never travels."""
    best = _best(rules, key, tags)
    if kind == "object":
        return tuple(best)
    return tuple(name for name, rule in best.items() if by_user and rule.markers)


def governing_rule(rules: Rules, key: str, tags: Mapping[str, str], destination: str) -> Rule | None:
    """The rule that decides for this object and this destination."""
    return _best(rules, key, tags).get(destination)


def _best(rules: Rules, key: str, tags: Mapping[str, str]) -> dict[str, Rule]:
    """Per destination the matching rule of the highest priority; the first of equals (schema V1 has no priorities)."""
    best: dict[str, Rule] = {}
    for rule in rules.rules:
        if rule.enabled and rule.filter.matches(key, tags):
            rival = best.get(rule.destination)
            if rival is None or rule.priority > rival.priority:
                best[rule.destination] = rule
    return best


def pending(names: Sequence[str]) -> Mapping[str, str]:
    """`ObjectMetadata.replication` of a version at birth."""
    return dict.fromkeys(names, "PENDING")


def status(states: Mapping[str, str], *, replica: bool) -> str:
    """x-amz-replication-status, "" for none. A replica's own states are those of a tag change that travels back."""
    found = set(states.values())
    if "FAILED" in found:
        return "FAILED"
    if "PENDING" in found:
        return "PENDING"
    if replica:
        return "REPLICA"
    return "COMPLETED" if found else ""


def with_changed_tags(rules: Rules | None, key: str, metadata: ObjectMetadata, tags: Mapping[str, str], *, now_ms: int) -> ObjectMetadata:
    """`metadata` after a change of tags that was made here, with what that change owes.

    A version born here brings the change wherever it went or is going; a tag rule that begins to match afterwards does not
    count. A replica brings it back only by rules with ReplicaModifications.
    """
    pending_names = _pending_by_tags(rules, key, metadata, tags) if rules else ()
    replication = {**metadata.replication, **pending(pending_names)}
    copied = completed_destinations(metadata) | {d for d in pending_names if metadata.replica or metadata.replication[d] == "COMPLETED"}
    notes = {**metadata.notes, COPIED: " ".join(sorted(copied))} if copied else metadata.notes
    return replace(metadata, tags=tags, tags_ms=max(now_ms, metadata.tags_ms + 1), replication=replication, notes=notes)


def _pending_by_tags(rules: Rules, key: str, metadata: ObjectMetadata, tags: Mapping[str, str]) -> tuple[str, ...]:
    if metadata.replica:
        return tuple(name for name, rule in _best(rules, key, tags).items() if rule.replica_modifications)
    return tuple(d for d, state in metadata.replication.items() if state != "FAILED" and rules.still_applies(key, d))


def completed_destinations(metadata: ObjectMetadata) -> frozenset[str]:
    """The destinations that hold the bytes of this version already, as far as a change of tags noted it."""
    return frozenset(metadata.notes.get(COPIED, "").split())


def with_pending(metadata: ObjectMetadata, names: Sequence[str]) -> ObjectMetadata:
    """`metadata` with a full copy owed to `names` again: existing objects, and those that failed."""
    if metadata.version == NULL_VERSION or not names:
        return metadata
    stale = {COPIED, *(FAILED_NOTE + name for name in names)}
    notes = {name: value for name, value in metadata.notes.items() if name not in stale}
    left = completed_destinations(metadata) - set(names)
    notes |= {BATCH: "1"} | ({COPIED: " ".join(sorted(left))} if left else {})
    return replace(metadata, replication={**metadata.replication, **pending(names)}, notes=notes)


def with_completed(metadata: ObjectMetadata, destination: str, tags_ms: int) -> ObjectMetadata:
    """The same object when the tags changed since the copy began (`tags_ms`): then the copy is not complete."""
    if metadata.replication.get(destination) != "PENDING" or metadata.tags_ms != tags_ms:
        return metadata
    return replace(metadata, replication={**metadata.replication, destination: "COMPLETED"})


def failed(metadata: ObjectMetadata, destination: str, reason: FailureReason) -> ObjectMetadata:
    if metadata.replication.get(destination) != "PENDING":
        return metadata
    notes = {**metadata.notes, FAILED_NOTE + destination: reason}
    return replace(metadata, replication={**metadata.replication, destination: "FAILED"}, notes=notes)


def permanent_reason(code: str, kind: Step) -> FailureReason | None:
    """Why the destination's refusal is final; None for everything that passes by itself."""
    return _REFUSALS.get((code, kind))


def has_later_tags(mine: ObjectMetadata, theirs: ObjectMetadata) -> bool:
    """Whether an arriving change of tags wins: the later one, and of two in the same millisecond the same one everywhere."""
    return (theirs.tags_ms, sorted(theirs.tags.items())) > (mine.tags_ms, sorted(mine.tags.items()))


def is_conflict(current: ObjectMetadata | None, arrived: ObjectMetadata, region: str) -> bool:
    """Whether an arrival lands below a version born here: then the two were written without knowledge of each other."""
    if current is None or current.stamp is None or arrived.stamp is None:
        return False
    return current.stamp > arrived.stamp and current.stamp.origin_region == region


def backoff(attempt: int, uniform: float) -> float:
    """Seconds until the next try, after `attempt` failures (1, 2, ...). `uniform` in 0..1 spreads the upper half."""
    full = min(RETRY_MAX_S, RETRY_MIN_S * 2.0 ** min(attempt - 1, 16))
    return full * (0.5 + 0.5 * uniform)


def draw_lag(uniform: float, published: Sequence[float]) -> float:
    """Seconds from a write to its copy as AWS was measured: `uniform` in 0..1 between the published figures."""
    figures = sorted(published)
    place = uniform * (len(figures) - 1)
    low = int(place)
    high = min(low + 1, len(figures) - 1)
    lag = figures[low] + (figures[high] - figures[low]) * (place - low)
    assert LAG_MIN_S <= lag <= LAG_MAX_S, f"a lag of {lag} s was never published"
    return lag


class CopyTime:
    """How long will a copy of this size take? Learned from those before, so that it can start early and land on time."""

    _WEIGHT = 0.2  # of the newest observation
    _SMALL_BYTES = 64 * 1024  # up to here a copy is all round trip

    def __init__(self) -> None:
        self._base_s = 0.0
        self._s_per_byte = 0.0

    def observe(self, size: int, seconds: float) -> None:
        if size <= self._SMALL_BYTES:
            self._base_s = self._mix(self._base_s, seconds)
        else:
            self._s_per_byte = self._mix(self._s_per_byte, max(0.0, seconds - self._base_s) / size)

    def expected(self, size: int) -> float:
        return self._base_s + (self._s_per_byte * size if size > self._SMALL_BYTES else 0.0)

    def _mix(self, known: float, seen: float) -> float:
        return seen if known == 0.0 else known + self._WEIGHT * (seen - known)
