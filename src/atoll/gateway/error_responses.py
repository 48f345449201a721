"""Error answers of processes that have no service of their own: in the form of the AWS API that the client asked."""

from __future__ import annotations

from atoll.aws_protocols.codec import codec
from atoll.domain.errors import ApiError
from atoll.domain.http_message import Request, Response
from atoll.rules.endpoint_hostnames import named, scope_of

HOST_ID = "YXRvbGw="  # x-amz-id-2: which host answered; the log knows more
SERVICES = frozenset(("s3", "s3control", "iam", "sts"))


def service_of(request: Request) -> str:
    """Whose error document the client reads; S3's for a service that is not built."""
    scope = scope_of(request.headers.get("authorization", ""), request.query)
    service = named(request.headers.get("host", ""), request.path, scope).service
    return service if service in SERVICES else "s3"


def refusal(request: Request, error: ApiError, request_id: str, service: str = "") -> Response:
    """The error document, with the headers of `error`."""
    response = codec(service or service_of(request)).fault(
        error, request_id=request_id, host_id=HOST_ID, resource=request.path, head=request.method == "HEAD"
    )
    response.headers.update(error.headers)
    return response
