"""No number is too absurd for an answer: every scalar member of every operation, with texts that no number, date or size should be."""

import asyncio
import base64
import hashlib
import os
from urllib.parse import quote, urlencode

import pytest
from botocore.serialize import create_serializer

from atoll.control_store import ControlStore
from atoll.domain.http_message import Body, Request
from atoll.services.iam.id_generation import create_root_account
from atoll.services.iam.operations import OPERATIONS as IAM
from atoll.services.s3.operations import OPERATIONS as S3
from atoll.services.s3control.operations import OPERATIONS as S3CONTROL
from atoll.services.sts.operations import OPERATIONS as STS
from gateway.pipeline_setup import text
from promises.test_unprivileged import HOSTS, LOADER, Ground, sample
from s3world import ACCOUNT

NOW = 1_800_000_000.0
NUMBERS = ("integer", "long", "float", "double")
DEPTH_MAX = 6
# What botocore writes for a marked member, to be replaced by the text under test.
SIGNATURE_PARAMETERS = {"integer": 770077, "long": 770077, "float": 770077, "double": 770077, "blob": b"marked", "timestamp": "2031-07-07T07:07:07Z", "string": "zmarkedz"}
WRITTEN = ("770077", "zmarkedz", base64.b64encode(b"marked").decode(), "marked", "2031-07-07T07:07:07Z", "Mon, 07 Jul 2031 07:07:07 GMT")
# Beyond every range that AWS has: a numeric member is refused with one of them.
BEYOND = ("9" * 5000, "-" + "9" * 5000, "9" * 19, "-" + "9" * 19, "1" + "0" * 400, "1e999", "nan", "0x10", "1_0")
ODD = (*BEYOND, "9223372036854775807", "2147483648", "-1", "0", "", " ", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00", "Fri, 31 Dec 9999 23:59:59 GMT",
       "Mon, 01 Jan 0001 00:00:00 +9999", "999999999999", "-999999999999", "bytes=0-" + "9" * 5000, "bytes=-" + "9" * 40, "%FF", "[" * 5000, "{" * 5000)  # fmt: skip


def spots(shape, path=()):
    """Paths to every scalar of a shape; a list's item and a map's value are None."""
    if len(path) > DEPTH_MAX:
        return
    match shape.type_name:
        case "structure":
            for name, inner in shape.members.items():
                yield from spots(inner, (*path, name))
        case "list":
            yield from spots(shape.member, (*path, None))
        case "map":
            yield from spots(shape.value, (*path, None))
        case kind if kind in SIGNATURE_PARAMETERS:
            yield path, kind


def marked(shape, path, name=""):
    """The smallest value of a shape, with the marked scalar at `path`."""
    if not path:
        return SIGNATURE_PARAMETERS[shape.type_name]
    value = sample(shape, name)
    match shape.type_name:
        case "structure":
            return {**value, path[0]: marked(shape.members[path[0]], path[1:], path[0])}
        case "list":
            return [marked(shape.member, path[1:])]
    return {"a": marked(shape.value, path[1:])}


def replaced(written, odd):
    for mark in WRITTEN:
        written = written.replace(mark, odd)
    return written


def asked(service, operation, path, odd, index="1"):
    """The request that botocore would send, with the odd text where the marked scalar stands; `index`: of a form's items."""
    model = LOADER.get_service_model(service)
    shape = model.operation_model(operation)
    made = create_serializer(model.metadata["protocol"], include_validation=False).serialize_to_request(marked(shape.input_shape, path), shape)
    place, _, query = made["url_path"].partition("?")
    words = [f"{quote(str(name))}={quote(replaced(str(value), odd), safe='')}" for name, value in (made["query_string"] or {}).items()]
    data = _document(made["body"], odd, index)
    headers = {name.lower(): replaced(str(value), odd) for name, value in made["headers"].items()}
    headers |= {"host": HOSTS.get(service, "127.0.0.1")}
    headers.setdefault("content-length", str(len(data)))
    if service == "s3" and data:
        headers["content-md5"] = base64.b64encode(hashlib.md5(data).digest()).decode()
    if service == "s3control":
        headers["x-amz-account-id"] = ACCOUNT
    target = replaced(place, quote(odd, safe="")) + ("?" if query or words else "") + "&".join(filter(None, (query, *words)))
    return Request(made["method"], target, headers, Body.of(data))


def _document(body, odd, index):
    if isinstance(body, dict):
        words = {".".join(index if step == "1" else step for step in name.split(".")): replaced(str(value), odd) for name, value in body.items()}
        return urlencode(words).encode()
    return replaced(body if isinstance(body, str) else (body or b"").decode(), odd).encode()


def answers(folder, service, operation, cases):
    """Case (what `asked` takes) -> status and document; all of them in one world."""

    async def whole():
        state = ControlStore.memory()
        try:
            ground = Ground(folder, state, await create_root_account(state, account=ACCOUNT, random_bytes=os.urandom, now=NOW))
            await ground.prepare()
            result = {}
            for case in cases:
                response = await ground.send(asked(service, operation, *case), ground.root, service)
                result[case] = response.status, await text(response)
            return result
        finally:
            state.close()

    return asyncio.run(whole())


ALL = [(service, name) for service, names in (("s3", S3), ("iam", IAM), ("sts", STS), ("s3control", S3CONTROL)) for name in names]


def scalars_of(service, operation):
    shape = LOADER.get_service_model(service).operation_model(operation).input_shape
    return list(spots(shape)) if shape else []


@pytest.mark.parametrize(("service", "operation"), ALL)
def test_no_text_in_any_scalar_is_an_error_of_ours(tmp_path, service, operation):
    cases = [(path, odd) for path, _ in scalars_of(service, operation) for odd in ODD]
    failed = {(path, odd[:40]): result[:300] for (path, odd), (status, result) in answers(tmp_path, service, operation, cases).items() if status >= 500 and status != 501}
    assert not failed


@pytest.mark.parametrize(("service", "operation"), [one for one in ALL if any(kind in NUMBERS for _, kind in scalars_of(*one))])
def test_a_number_beyond_every_range_is_refused(tmp_path, service, operation):
    cases = [(path, odd) for path, kind in scalars_of(service, operation) if kind in NUMBERS for odd in BEYOND]
    taken = {(path, odd[:40]): result[:300] for (path, odd), (status, result) in answers(tmp_path, service, operation, cases).items() if status < 400}
    assert not taken


@pytest.mark.parametrize(("service", "operation"), [one for one in ALL if one[0] in HOSTS and any(None in path for path, _ in scalars_of(*one))])
@pytest.mark.parametrize("index", ["9" * 5000, "-1", "0x1", "1e9", "1" + "0" * 18, "\u0663", "", "1.1", "1.member.1"], ids=lambda index: index[:9])
def test_an_absurd_number_of_an_item_in_a_form_is_a_validation_error(tmp_path, service, operation, index):
    cases = [(path, "a", index) for path, _ in scalars_of(service, operation) if None in path]
    assert cases
    for status, result in answers(tmp_path, service, operation, cases).values():
        assert (status, "<Code>ValidationError</Code>" in result) == (400, True)
