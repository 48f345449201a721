"""Does wire agree with botocore? What botocore writes is read equal, what wire writes botocore parses equal, for every operation.

Blind to root elements, namespaces, member order and header spelling (botocore ignores them): tests/aws_protocols covers those.
"""

import io
from datetime import UTC, datetime

import pytest
from botocore.awsrequest import HeadersDict, create_request_object, prepare_request_dict
from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.parsers import create_parser
from botocore.serialize import create_serializer

from atoll.aws_protocols.codec import codec
from atoll.domain.api_call import OperationOutput
from atoll.domain.http_message import Body, Request

SERVICES = "s3 s3control iam sts cloudfront globalaccelerator transfer s3files lambda route53 efs".split()
LOADER = Loader()
MODELS = {service: ServiceModel(LOADER.load_service_model(service, "service-2"), service) for service in SERVICES}
OPERATIONS = [(service, name) for service in SERVICES for name in MODELS[service].operation_names]
MOMENT = datetime(2026, 11, 30, 12, 0, 1, tzinfo=UTC)
DATE = "Mon, 30 Nov 2026 12:00:01 GMT"

# (service, operation) -> why botocore's request is not read as what it was.
NOT_READ = {
    ("s3", "PutBucketLifecycle"): "deprecated twin of PutBucketLifecycleConfiguration: the same place on the wire",
    ("s3", "GetBucketLifecycle"): "deprecated twin of GetBucketLifecycleConfiguration",
    ("s3", "PutBucketNotification"): "deprecated twin of PutBucketNotificationConfiguration",
    ("s3", "GetBucketNotification"): "deprecated twin of GetBucketNotificationConfiguration",
    ("s3", "ListDirectoryBuckets"): "GET / as ListBuckets: only the credential scope (s3express) tells them apart",
}
# (service, operation) -> why wire's response is not parsed as what it was.
NOT_WRITTEN = {
    ("s3", "SelectObjectContent"): "event stream: answered NotImplemented",
    ("s3", "GetBucketLocation"): "text in the root element: botocore parses it in a handler, not in its parser",
    ("s3", "GetBucketNotification"): "deprecated: two members claim the element Event",
    ("lambda", "InvokeWithResponseStream"): "event stream: answered NotImplemented",
}

TEXT = {"uri": "a b+é", "querystring": "a b&c=é+/", "header": "v-1", "headers": "v-1", "": "a&b <é> 'q\" ]]>\n c"}


def text(shape, location, name):
    if shape.enum:
        return shape.enum[0]
    if location == "uri" and name != "Bucket":
        return TEXT["uri"] + ("//c" if name == "Key" else "")
    return TEXT[location] if location != "uri" else "bucket"


def make(shape, full=True, location="", name="", seen=()):
    """A value with every member (full), or with the required ones, holding as little as the wire can carry."""
    match shape.type_name:
        case "structure":
            if shape.is_document_type:
                return {"a": [1, None]}
            return structure(shape, full, seen)
        case "list":
            item = make(shape.member, full, location, "", (*seen, shape.name))
            return [item] if item is not None and not full else [item, item] if item is not None else []
        case "map":
            return {make(shape.key, True, location): make(shape.value, full, location, "", seen)}
        case "integer" | "long":
            return max(7, shape.metadata.get("min", 0) or 0)
        case "float" | "double":
            return 1.5
        case "boolean":
            return True
        case "blob":
            return b"bl\x00\xffb"
        case "timestamp":
            return MOMENT
    return text(shape, location, name) if full or location or shape.enum else ""


def structure(shape, full, seen):
    if shape.name in seen:
        return None
    members = shape.members
    if shape.is_tagged_union or (seen and not full and not shape.required_members):
        members = dict(list(members.items())[:1])
    elif not full:
        members = {name: members[name] for name in shape.required_members}
    payload = shape.serialization.get("payload")
    out = {}
    for name, member in members.items():
        plain_payload = name == payload and member.type_name == "string"
        value = make(member, full or plain_payload, member.serialization.get("location", ""), name, (*seen, shape.name))
        if value is not None and not (value == [] and member.serialization.get("flattened")):
            out[name] = value
    return out


def plain(value):
    if isinstance(value, Body):
        return value.small
    if hasattr(value, "read"):
        return value.read()
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items() if k != "ResponseMetadata"}
    return [plain(v) for v in value] if isinstance(value, list) else value


def as_text(service, members):
    """`Expires` of S3 is text to us and a datetime to botocore."""
    return {k: DATE if service == "s3" and k == "Expires" else v for k, v in members.items()}


def sent(model, operation, params):
    """What botocore would put on the wire."""
    serializer = create_serializer(model.metadata["protocol"], include_validation=False)
    serialized = serializer.serialize_to_request(params, operation)
    serialized.setdefault("context", {})
    serialized.pop("host_prefix", None)
    prepare_request_dict(serialized, endpoint_url="http://127.0.0.1:4566")
    prepared = create_request_object(serialized).prepare()
    body = prepared.body.read() if hasattr(prepared.body, "read") else prepared.body or b""
    headers = {k.lower(): v.decode() if isinstance(v, bytes) else str(v) for k, v in prepared.headers.items()}
    target = prepared.url.removeprefix("http://127.0.0.1:4566")
    return Request(prepared.method, target, headers), body.encode() if isinstance(body, str) else body


def read_back(service, name, full):
    model = MODELS[service]
    operation = model.operation_model(name)
    params = make(operation.input_shape, full) if operation.input_shape else {}
    request, document = sent(model, operation, params)
    api = codec(service)
    route = api.route(request.method, request.path, request.query, request.headers, document)
    assert route.operation == name
    got = plain(api.read(route, request, document, Body.of(document)))
    meant = as_text(service, params)
    unsaid = {"Body": b"", "ContentLength": 0}  # an empty body is sent where none was meant
    return {k: v for k, v in got.items() if k in meant or k not in unsaid or v != unsaid[k]}, meant


@pytest.mark.parametrize(("service", "name"), [o for o in OPERATIONS if o not in NOT_READ])
def test_a_full_request_is_read_as_botocore_meant_it(service, name):
    got, meant = read_back(service, name, True)
    assert got == meant


@pytest.mark.parametrize(("service", "name"), [o for o in OPERATIONS if o not in NOT_READ])
def test_a_bare_request_is_read_as_botocore_meant_it(service, name):
    got, meant = read_back(service, name, False)
    assert got == meant


def parsed(service, name, members):
    model = MODELS[service]
    operation = model.operation_model(name)
    given = {n: Body.of(v) if streaming(operation, n) else v for n, v in members.items()}
    response = codec(service).write(name, OperationOutput(given), "request-1")
    body = response.body.small
    if body and "ContentLength" in members:
        response.headers["content-length"] = str(members["ContentLength"])  # the sender's business
    raw = {
        "status_code": response.status if response.status < 300 else 200,
        "headers": HeadersDict(response.headers),
        "body": io.BytesIO(body) if operation.has_streaming_output else body,
        "context": {"operation_name": name},
    }
    return plain(create_parser(model.metadata["protocol"]).parse(raw, operation.output_shape))


def streaming(operation, name):
    return operation.has_streaming_output and name == operation.output_shape.serialization.get("payload")


@pytest.mark.parametrize(("service", "name"), [o for o in OPERATIONS if o not in NOT_WRITTEN])
def test_a_full_answer_is_parsed_by_botocore_as_it_was(service, name):
    shape = MODELS[service].operation_model(name).output_shape
    members = make(shape) if shape else {}
    given = {**members, "Expires": DATE} if service == "s3" and "Expires" in members else members
    assert parsed(service, name, given) == members


@pytest.mark.parametrize(("service", "name"), [o for o in OPERATIONS if o not in NOT_WRITTEN])
def test_an_empty_answer_is_parsed_by_botocore(service, name):
    got = parsed(service, name, {})
    assert all(value in ({}, b"", "") or name in {"Status", "StatusCode"} for name, value in got.items()), got


def test_exceptions_are_operations_that_exist():
    assert set(NOT_READ) | set(NOT_WRITTEN) <= set(OPERATIONS)
