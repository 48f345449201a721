"""Reads the values of a form (AWS query protocol) as a shape.

`Tags.member.2.Key=a` is the Key of the second of Tags. Source: AWS query protocol, serialization of lists and maps.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

from atoll.aws_protocols import scalar_formats
from atoll.aws_protocols.service_models import Field, Model, Ref
from atoll.domain.errors import ApiError

FIELDS_MAX = 2000  # ours: IAM's largest call has some 200
DEPTH_MAX = 16  # ours: IAM's deepest call has 6 levels
INDEX_MAX_CHARS = 9  # ours: digits of an item's number; more items than FIELDS_MAX cannot be

Tree = dict[str, Any]  # name -> Tree, with the text of the name itself under ""

# What a form says besides the members: the call itself, and authentication in the query.
_ABOUT_THE_CALL = frozenset(
    {
        "Action",
        "Version",
        "AWSAccessKeyId",
        "Signature",
        "SignatureMethod",
        "SignatureVersion",
        "Timestamp",
        "Expires",
        "SecurityToken",
    }
)


def invalid(why: str) -> ApiError:
    return ApiError("ValidationError", why)


def pairs(text: str) -> list[tuple[str, str]]:
    """Names and values of a form or query. Raises ValidationError."""
    try:
        return parse_qsl(text, keep_blank_values=True, max_num_fields=FIELDS_MAX, errors="strict")
    except ValueError as error:
        raise invalid(f"The form cannot be read: {error}.") from error


def words(query: str, document: bytes) -> list[tuple[str, str]]:
    """The form in the document, or the query of a GET."""
    if not document:
        return pairs(query)
    try:
        return pairs(document.decode("utf-8").strip("\r\n"))
    except UnicodeDecodeError as error:
        raise invalid("The form is not UTF-8.") from error


def read(model: Model, ref: Ref | None, fields: list[tuple[str, str]]) -> dict[str, Any]:
    """The members of an operation's input. Raises ValidationError."""
    tree: Tree = {}
    for name, value in fields:
        if name not in _ABOUT_THE_CALL and not name.lower().startswith("x-amz-"):
            _insert(tree, name, value)
    if ref is None:
        if tree:
            raise invalid(f"The operation takes no parameter {next(iter(tree))!r}.")
        return {}
    return _structure(model, ref, tree, "")


def _insert(tree: Tree, name: str, value: str) -> None:
    steps = name.split(".")
    if len(steps) > DEPTH_MAX:
        raise invalid(f"{name[:100]!r} is nested too deeply.")
    if "" in steps:
        raise invalid(f"There is no parameter {name[:100] or '(without a name)'}.")
    for step in steps:
        tree = tree.setdefault(step, {})
    tree[""] = value


def _structure(model: Model, ref: Ref, tree: Tree, where: str) -> dict[str, Any]:
    members = model.members(ref)
    wires = {field.wire: (name, field) for name, field in members.items()}
    out: dict[str, Any] = {}
    for wire, branch in tree.items():
        if wire not in wires:
            raise invalid(f"There is no parameter {where}{wire or '(without a name)'}.")
        name, field = wires[wire]
        out[name] = _value(model, field, branch, f"{where}{wire}.")
    for name in model.shape(ref).required:
        if name not in out:
            raise invalid(f"The parameter {where}{members[name].wire} is missing.")
    return out


def _value(model: Model, field: Field, tree: Tree, where: str) -> Any:
    if field.type == "structure":
        return _structure(model, field.ref, tree, where)
    if field.type == "list":
        item = model.item(field.shape)
        branches = _numbered(tree, "" if field.flattened else item.wire, where)
        return [_value(model, item, branch, where) for branch in branches]
    if field.type == "map":
        key, value = model.entry(field.shape)
        branches = _numbered(tree, "" if field.flattened else "entry", where)
        pairs = [(b.get(key.wire, {}), b.get(value.wire, {})) for b in branches]
        return {_value(model, key, k, where): _value(model, value, v, where) for k, v in pairs}
    return _scalar(field, tree, where[:-1])


def _numbered(tree: Tree, word: str, where: str) -> list[Tree]:
    """The items of a list or map in their order; `word` stands before the numbers ("member"). `Tags=` is an empty list."""
    branches = {step: branch for step, branch in tree.items() if step}
    if word and branches:
        if set(branches) != {word}:
            raise invalid(f"{where[:-1]} holds items named {word}.")
        return _numbered(branches[word], "", where)
    if not all(step.isascii() and step.isdigit() and len(step) <= INDEX_MAX_CHARS for step in branches):
        raise invalid(f"{where[:-1]}: items are numbered, with {INDEX_MAX_CHARS} digits at most.")
    return [branches[step] for step in sorted(branches, key=int)]


def _scalar(field: Field, tree: Tree, where: str) -> Any:
    text = tree.get("")
    if text is None or len(tree) > 1:
        raise invalid(f"{where} has one value.")
    convert = scalar_formats.READ.get(field.type)
    try:
        return convert(text) if convert else text
    except (ValueError, OverflowError) as error:
        raise invalid(f"{where}: {error}.") from error
