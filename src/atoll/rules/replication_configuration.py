"""Parses and validates a bucket's replication configuration.

Schema V2 has `Filter` in the rule (or Replication Time Control), schema V1 has not; they treat delete markers differently.
Source: S3 API PutBucketReplication; user guide, "Replication configuration file elements"; ErrorResponses, replication.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from atoll.domain.arn import bucket_of
from atoll.domain.errors import ApiError, not_implemented
from atoll.domain.quotas import REPLICATION_RULES_MAX
from atoll.domain.resource_names import ACCOUNT

ID_MAX_CHARS = 255  # S3 API: ReplicationRule
PREFIX_MAX_CHARS = 1024  # S3 API: ReplicationRule
TIME_CONTROL_MINUTES = 15  # S3 API: ReplicationTimeValue, the only one allowed
# IAM API: roleNameType, pathType. The path is judged by its characters alone.
_ROLE = re.compile(r"arn:aws:iam::\d{12}:role/([\u0021-\u007e]+/)?[\w+=,.@-]{1,64}", re.ASCII)

Members = Mapping[str, Any]
Tag = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Filter:
    """Which objects a rule takes: the prefix and all of `tags`, and none of what is excluded."""

    prefix: str = ""
    tags: tuple[Tag, ...] = ()
    not_prefixes: tuple[str, ...] = ()
    not_tags: tuple[Tag, ...] = ()

    def matches_key(self, key: str) -> bool:
        return key.startswith(self.prefix) and not (self.not_prefixes and key.startswith(self.not_prefixes))

    def matches(self, key: str, tags: Mapping[str, str]) -> bool:
        return (
            self.matches_key(key)
            and all(tags.get(name) == value for name, value in self.tags)
            and not any(tags.get(name) == value for name, value in self.not_tags)
        )

    @property
    def uses_tags(self) -> bool:
        return bool(self.tags or self.not_tags)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `markers`: delete markers made by users go too. `account` is the owner that the rule expects, or "".
    `owner_override`: the copies become the destination bucket's owner's."""

    id: str
    destination: str
    enabled: bool = True
    priority: int = 0
    filter: Filter = Filter()
    markers: bool = False
    replica_modifications: bool = False
    time_control: bool = False
    metrics: bool = False
    account: str = ""
    owner_override: bool = False


@dataclass(frozen=True, slots=True)
class Rules:
    """A bucket's whole replication configuration. `role` is the ARN of the IAM role that the copies are made with."""

    role: str
    rules: tuple[Rule, ...]

    @property
    def destinations(self) -> tuple[str, ...]:
        """Every bucket that an enabled rule names, once, in the order of the rules."""
        return tuple(dict.fromkeys(rule.destination for rule in self.rules if rule.enabled))

    def still_applies(self, key: str, destination: str) -> bool:
        """Whether an enabled rule would carry this key there, whatever its tags are by now."""
        return any(r.enabled and r.destination == destination and r.filter.matches_key(key) for r in self.rules)


@dataclass(frozen=True, slots=True)
class BucketSettings:
    """What `check` must know of a bucket: its versioning (Enabled, Suspended or "") and its owner's account."""

    versioning: str
    owner: str = ""


def parse(configuration: Members) -> Rules:
    """From the members of PutBucketReplication's ReplicationConfiguration. Raises the ApiErrors of the API."""
    rules: Sequence[Members] = configuration.get("Rules") or ()
    if not 1 <= len(rules) <= REPLICATION_RULES_MAX:
        raise _malformed(f"A replication configuration has 1 to {REPLICATION_RULES_MAX} rules.")
    role = _role(configuration.get("Role") or "")
    parsed = tuple(_rule(rule, _generated(role, place)) for place, rule in enumerate(rules))
    _refuse_duplicates("IDs", (rule.id for rule in parsed))
    _refuse_duplicates("priorities", (rule["Priority"] for rule in rules if rule.get("Priority") is not None))
    return Rules(role, parsed)


def named(configuration: Members) -> dict[str, Any]:
    """The same members with an ID for each rule that came without: this is what GetBucketReplication shows."""
    role = configuration.get("Role") or ""
    rules = [
        rule if rule.get("ID") else {**rule, "ID": _generated(role, place)}
        for place, rule in enumerate(configuration.get("Rules") or ())
    ]
    return {**configuration, "Rules": rules}


def check(rules: Rules, bucket: str, source: BucketSettings, lookup: Callable[[str], BucketSettings | None]) -> None:
    """Judge the configuration against the buckets it joins. `lookup` gives a destination, None when it does not exist."""
    if source.versioning != "Enabled":
        raise ApiError("InvalidRequest", f"Versioning must be Enabled on {bucket} before it can replicate.")
    for rule in rules.rules:
        if rule.destination == bucket:
            raise ApiError("InvalidRequest", "The destination must be another bucket than the source.")
        _check_destination(rule, source, lookup(rule.destination))


def _check_destination(rule: Rule, source: BucketSettings, there: BucketSettings | None) -> None:
    if there is None:
        raise ApiError("InvalidRequest", f"The destination bucket {rule.destination} does not exist.")
    if there.versioning != "Enabled":
        raise ApiError("InvalidRequest", f"Versioning must be Enabled on the destination bucket {rule.destination}.")
    if rule.account and rule.account != there.owner:
        raise ApiError("InvalidArgument", f"The destination bucket does not belong to account {rule.account}.")
    if rule.owner_override and there.owner == source.owner:
        raise ApiError("InvalidRequest", "AccessControlTranslation is for a destination bucket of another account.")


def _rule(rule: Members, generated: str) -> Rule:
    _refuse_unsupported(rule)
    to: Members = _need(rule, "Destination")
    _check_time_control(to)
    chosen = _filter(rule)
    return Rule(
        id=_id(rule.get("ID") or generated),
        destination=bucket_of(_need(to, "Bucket")),
        enabled=_on(rule),
        priority=_priority(rule),
        filter=chosen,
        markers=_markers(rule, chosen),
        replica_modifications=_on_at(rule, "SourceSelectionCriteria", "ReplicaModifications"),
        time_control=_on_at(to, "ReplicationTime"),
        metrics=_on_at(to, "Metrics"),
        account=_account(to),
        owner_override=_owner_override(to),
    )


def _v2(rule: Members) -> bool:
    """The presence of Filter decides, even when it is empty. Source: user guide, "Backward compatibility"."""
    return rule.get("Filter") is not None or _at(rule, "Destination", "ReplicationTime") is not None


def _markers(rule: Members, chosen: Filter) -> bool:
    wish = rule.get("DeleteMarkerReplication")
    if not _v2(rule):
        if wish is not None:  # AWS refuses it too: InvalidRequest "cannot be used for this version of ... schema"
            raise ApiError("InvalidRequest", "DeleteMarkerReplication needs a Filter in the rule (schema V2).")
        return True
    if wish is None:
        raise ApiError("InvalidRequest", "A rule with Filter or ReplicationTime needs DeleteMarkerReplication.")
    if _on(wish) and chosen.uses_tags:
        raise ApiError("InvalidRequest", "A rule that filters by tags cannot replicate delete markers.")
    return _on(wish)


def _priority(rule: Members) -> int:
    given = rule.get("Priority")
    if given is None and _v2(rule):
        raise ApiError("InvalidRequest", "A rule with Filter or ReplicationTime needs a Priority.")
    if given is not None and given < 0:
        raise ApiError("InvalidArgument", "Priority is not negative.", ArgumentName="Priority", ArgumentValue=str(given))
    return given or 0


def _filter(rule: Members) -> Filter:
    outer = rule.get("Filter")
    if outer is None:
        return Filter(prefix=_prefix(rule.get("Prefix") or ""))
    if rule.get("Prefix") is not None:
        raise _malformed("Prefix and Filter exclude each other.")
    _at_most_one(outer, ("Prefix", "Tag", "And", "Not"))
    inner: Members = outer if outer.get("And") is None else outer["And"]
    tags = [outer["Tag"]] if outer.get("Tag") is not None else inner.get("Tags") or ()
    excluded = inner.get("Not") or {}
    return Filter(
        prefix=_prefix(inner.get("Prefix") or ""),
        tags=_tags(tags),
        not_prefixes=tuple(_excluding(p) for p in _one_or_many(excluded, "Prefix", "Prefixes")),
        not_tags=_tags(_one_or_many(excluded, "Tag", "Tags")),
    )


def _one_or_many(excluded: Members, one: str, many: str) -> Sequence[Any]:
    """What Not excludes of one kind: a single element, or the list inside Or."""
    _at_most_one(excluded, ("Prefix", "Tag", "Or"))
    if excluded.get(one) is not None:
        return (excluded[one],)
    return (excluded.get("Or") or {}).get(many) or ()


def _excluding(prefix: str) -> str:
    if not prefix:
        raise ApiError("InvalidRequest", "An empty Prefix inside Not would exclude every object.")
    return _prefix(prefix)


def _tags(tags: Iterable[Members]) -> tuple[Tag, ...]:
    return tuple((_need(tag, "Key"), tag.get("Value") or "") for tag in tags)


def _check_time_control(to: Members) -> None:
    """ReplicationTime and Metrics go in pairs. Metrics alone is accepted: the guide shows it so. [choice]"""
    time, metrics = to.get("ReplicationTime"), to.get("Metrics")
    _check_minutes(metrics, "EventThreshold")
    if time is None:
        return
    _check_minutes(time, "Time")
    _refuse_gaps(time, ("Status", "Time"), "ReplicationTime")
    if metrics is None:
        raise ApiError("InvalidRequest", "ReplicationTime needs Metrics.")
    _refuse_gaps(metrics, ("Status", "EventThreshold"), "Metrics")
    if _on(time) != _on(metrics):
        raise ApiError("InvalidRequest", "ReplicationTime and Metrics have the same Status.")


def _check_minutes(holder: Members | None, name: str) -> None:
    minutes = (holder or {}).get(name)
    if minutes is not None and minutes.get("Minutes") != TIME_CONTROL_MINUTES:
        raise ApiError("InvalidArgument", f"{name}.Minutes must be {TIME_CONTROL_MINUTES}.", ArgumentName="Minutes")


def _refuse_gaps(holder: Members, names: Sequence[str], what: str) -> None:
    for name in names:
        if holder.get(name) is None:
            raise ApiError("InvalidArgument", f"{what} needs {name}.", ArgumentName=name)


def _account(to: Members) -> str:
    account: str | None = to.get("Account")
    if account is None:
        return ""
    if not ACCOUNT.fullmatch(account):
        raise ApiError("InvalidArgument", "Account is a number of 12 digits.", ArgumentName="Account", ArgumentValue=account)
    return account


def _owner_override(to: Members) -> bool:
    """Source: S3 API: AccessControlTranslation, whose one value is Destination."""
    translation = to.get("AccessControlTranslation")
    if translation is None:
        return False
    if translation.get("Owner") != "Destination":
        raise _malformed("AccessControlTranslation has the Owner Destination.")
    if to.get("Account") is None:
        raise ApiError("InvalidRequest", "AccessControlTranslation needs Account.")
    return True


def _refuse_unsupported(rule: Members) -> None:
    """What Atoll does not do is named, never ignored."""
    if _on_at(rule, "ExistingObjectReplication"):
        raise ApiError("InvalidRequest", "ExistingObjectReplication is no longer supported by S3.")
    if _on_at(rule, "SourceSelectionCriteria", "SseKmsEncryptedObjects"):
        raise not_implemented("SseKmsEncryptedObjects")
    to: Members = rule.get("Destination") or {}
    if to.get("EncryptionConfiguration") is not None:
        raise not_implemented("Destination.EncryptionConfiguration")
    if (to.get("StorageClass") or "STANDARD") != "STANDARD":
        raise not_implemented(f"replication into storage class {to['StorageClass']}")


def _role(role: str) -> str:
    """Taken only as IAM writes it: a role is looked up by its ARN, so anything else could never be assumed."""
    if not _ROLE.fullmatch(role):
        raise ApiError("InvalidArgument", "Invalid Role ARN", ArgumentName="Role", ArgumentValue=role)
    return role



def _generated(role: str, place: int) -> str:
    """An ID for a rule without one: the same for the same place, so that reading a configuration twice agrees."""
    return base64.b64encode(hashlib.sha256(f"{role}#{place}".encode()).digest()).decode()


def _id(given: str) -> str:
    if not given.isascii() or len(given) > ID_MAX_CHARS:
        raise ApiError("InvalidArgument", f"ID has at most {ID_MAX_CHARS} ASCII characters.", ArgumentName="ID")
    return given


def _prefix(prefix: str) -> str:
    if len(prefix) > PREFIX_MAX_CHARS:
        raise ApiError("InvalidRequest", f"Prefix has at most {PREFIX_MAX_CHARS} characters.")
    return prefix


def _refuse_duplicates(what: str, values: Iterable[object]) -> None:
    seen = list(values)
    if len(set(seen)) != len(seen):
        raise ApiError("InvalidRequest", f"The rules' {what} must differ.")


def _at_most_one(holder: Members, names: Sequence[str]) -> None:
    if sum(holder.get(name) is not None for name in names) > 1:
        raise _malformed(f"At most one of {', '.join(names)} may be given.")


def _need(holder: Members, name: str) -> Any:
    if holder.get(name) in (None, "", {}):
        raise _malformed(f"{name} is missing.")
    return holder[name]


def _on(holder: Members) -> bool:
    if holder.get("Status") not in ("Enabled", "Disabled"):
        raise _malformed("Status is Enabled or Disabled.")
    return bool(holder["Status"] == "Enabled")


def _on_at(holder: Members, *path: str) -> bool:
    found = _at(holder, *path)
    return found is not None and _on(found)


def _at(holder: Members, *path: str) -> Members | None:
    found: Members | None = holder
    for name in path:
        found = (found or {}).get(name)
    return found


def _malformed(message: str) -> ApiError:
    return ApiError("MalformedXML", message)
