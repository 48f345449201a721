"""Finds the S3 operation of a request, with its bucket and key.

Method, level (service, bucket, object) and one *sub-resource* of the query decide, and for copies a header. The tables come from
the model. A sub-resource that is known but has no operation for the method is refused: it must never fall through to
CreateBucket, PutObject or ListObjects (s3.md, traps).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from atoll.aws_protocols.model_patches import INSEPARABLE
from atoll.aws_protocols.route import Route
from atoll.aws_protocols.service_models import Model, Operation
from atoll.aws_protocols.uri_decoding import decoded, decoded_word
from atoll.domain.errors import ApiError, not_implemented
from atoll.domain.quotas import KEY_MAX_BYTES
from atoll.domain.resource_names import check_key

Level = Literal["service", "bucket", "object"]

Choices = Mapping[str, "list[Choice]"]  # method -> what it may mean, most specific first

_CHANGING = frozenset({"PUT", "POST", "DELETE"})
COPY_SOURCE = "x-amz-copy-source"
KEY_SURE_CHARACTERS = KEY_MAX_BYTES // 4  # that many are never too long: no character takes more than four bytes in UTF-8


@dataclass(frozen=True, slots=True)
class Choice:
    """One operation that a method and sub-resource may mean: the words of the query and the headers that it must have."""

    operation: str
    words: Mapping[str, str]
    headers: frozenset[str]

    def fits(self, words: Mapping[str, str], headers: Mapping[str, str]) -> bool:
        return self.words.keys() <= words.keys() and all(name in headers or name in words for name in self.headers)


@dataclass(slots=True)
class Table:
    """One level: operations without a sub-resource by method, and sub-resource -> method -> choices, most specific first."""

    plain: dict[str, list[Choice]] = field(default_factory=dict)
    subs: dict[str, dict[str, list[Choice]]] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)  # the value a sub-resource must have: list-type=2

    def add(self, method: str, sub: str, choice: Choice) -> None:
        methods = self.subs.setdefault(sub, {}) if sub else self.plain
        choices = methods.setdefault(method, [])
        choices.append(choice)
        choices.sort(key=lambda c: -len(c.words) - len(c.headers))


def _level(path: str) -> Level:
    if path == "/":
        return "service"
    return "object" if "{Key+}" in path else "bucket"


def _parts(uri: str) -> tuple[str, dict[str, str]]:
    path, _, query = uri.partition("?")
    words = dict(word.partition("=")[::2] for word in query.split("&") if word)
    return path, words


class S3Router:
    """Compiled from the model once; answers in a few microseconds."""

    def __init__(self, model: Model) -> None:
        self._tables: dict[Level, Table] = {"service": Table(), "bucket": Table(), "object": Table()}
        self._fixed: dict[tuple[str, str], str] = {}
        for operation in model.operations.values():
            if not operation.deprecated:
                self._add(model, operation)
        self._known = frozenset(name for table in self._tables.values() for name in table.subs)
        objects, buckets = self._tables["object"].plain, self._tables["bucket"].plain
        self._objects = {method: choices[-1].operation for method, choices in objects.items()}
        self._buckets = {method: choices[-1].operation for method, choices in buckets.items()}

    def _add(self, model: Model, operation: Operation) -> None:
        path, words = _parts(operation.http.request_uri)
        if operation.name == "ListDirectoryBuckets":
            return  # the same words as ListBuckets: the service in the credential scope decides
        if not path.startswith("/{") and path != "/":
            self._fixed[operation.http.method, path[1:]] = operation.name
            return
        bound = {name: f for name, f in model.members(operation.input).items() if f.ref.location in {"querystring", "header"}}
        required = model.shape(operation.input).required if operation.input else []
        needs = {bound[n].wire for n in required if n in bound and bound[n].ref.location == "querystring"}
        headers = {bound[n].wire.lower() for n in required if n in bound and bound[n].ref.location == "header"}
        sub = next(iter(words), "uploadId" if "uploadId" in needs else "")
        table = self._tables[_level(path)]
        if words.get(sub):
            table.values[sub] = words[sub]
        extra = dict.fromkeys([*words, *needs], "")
        extra.pop(sub, None)
        table.add(operation.http.method, sub, Choice(operation.name, extra, frozenset(headers & {COPY_SOURCE})))

    def route(self, method: str, path: str, query: str, headers: Mapping[str, str]) -> Route:
        """`path` is path-style and still encoded. Raises InvalidURI, InvalidArgument, KeyTooLongError, MethodNotAllowed or
        NotImplemented."""
        end = path.find("/", 1)
        if end < 0:
            bucket, key = path[1:], ""
        else:
            bucket, key = path[1:end], path[end + 1 :]
        if "%" in bucket or not bucket.isascii():
            bucket = decoded(bucket)
        if key:
            if not bucket:
                raise ApiError("InvalidBucketName", "The path names no bucket.", BucketName="")
            if "%" in key or not key.isascii():
                key = decoded(key)
            if len(key) > KEY_SURE_CHARACTERS:
                check_key(key)
            if query or COPY_SOURCE in headers:
                return Route(self._choose("object", method, query, headers), {"Bucket": bucket, "Key": key})
            operation = self._objects.get(method)
            if operation is None:
                raise _refused(method, "object", self._tables["object"].plain)
            return Route(operation, {"Bucket": bucket, "Key": key})
        return self._shallow(method, bucket, query, headers)

    def _shallow(self, method: str, bucket: str, query: str, headers: Mapping[str, str]) -> Route:
        """Service and bucket level."""
        if not bucket:
            operation = self._choose("service", method, query, headers)
            directory = "/s3express/" in headers.get("authorization", "") or "%2Fs3express%2F" in query
            return Route("ListDirectoryBuckets" if directory else operation, {})
        fixed = self._fixed.get((method, bucket))
        if fixed is not None:
            return Route(fixed, {})
        if query or method not in self._buckets:
            return Route(self._choose("bucket", method, query, headers), {"Bucket": bucket})
        return Route(self._buckets[method], {"Bucket": bucket})

    def _choose(self, level: Level, method: str, query: str, headers: Mapping[str, str]) -> str:
        words, sub = self._words(method, query)
        table = self._tables[level]
        if not sub:
            _complete(method, level, words)
            return _pick(table.plain, method, level, words, headers)
        if sub in table.values and table.values[sub] != words[sub]:
            raise ApiError("InvalidArgument", f"No operation has {sub}={words[sub]}.", ArgumentName=sub, ArgumentValue=words[sub])
        return _pick(table.subs.get(sub, {}), method, level, words, headers)

    def _words(self, method: str, query: str) -> tuple[dict[str, str], str]:
        """The query's names with their values, and the one that is a sub-resource."""
        words: dict[str, str] = {}
        sub, known = "", self._known
        for part in query.split("&"):
            name, given, value = part.partition("=")
            if "%" in name or "+" in name:
                name = decoded_word(name)
            words[name] = value
            if name in known:
                if sub and sub != name:
                    why = f"Conflicting query string parameters: {sub}, {name}"
                    raise ApiError("InvalidArgument", why, ArgumentName="ResourceType", ArgumentValue=sub)
                sub = name
            elif not given and name and method in _CHANGING:
                # A bare flag that we do not know must neither create nor delete. With a value it is somebody's note.
                raise not_implemented(f"the sub-resource {name!r}")
        return words, sub


def _complete(method: str, level: Level, words: Mapping[str, str]) -> None:
    """Refuses what has no sub-resource and is no plain operation either."""
    if level == "object":
        for name in words:
            missing = INSEPARABLE.get((method, name))
            if missing:
                raise ApiError("InvalidArgument", f"{name} needs {missing}.", ArgumentName=missing, ArgumentValue="")
    elif level == "bucket" and method == "POST":
        raise not_implemented("POST form upload (PostObject)")


def _pick(methods: Choices, method: str, level: Level, words: Mapping[str, str], headers: Mapping[str, str]) -> str:
    choices = methods.get(method)
    if choices is None:
        raise _refused(method, level, methods)
    if len(choices) > 1:
        for choice in choices:
            if choice.fits(words, headers):
                return choice.operation
    return choices[-1].operation  # what is missing is named when its members are read


def _refused(method: str, level: Level, methods: Mapping[str, object]) -> ApiError:
    return ApiError(
        "MethodNotAllowed",
        "The specified method is not allowed against this resource.",
        headers={"allow": ", ".join(sorted(methods))},
        Method=method,
        ResourceType=level.upper(),
    )
