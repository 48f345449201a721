"""What happens to every API request of a region, as one visible list.

name -> authenticate -> route -> payload -> read -> authorize -> operate -> write -> log

A stage either adds to the Exchange or raises ApiError; the error is written once, here, in the service's own form.
"""

from __future__ import annotations

import hashlib
import traceback
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from atoll.domain.api_call import Call, OperationOutput
from atoll.domain.arn import object_arn
from atoll.domain.clock import Clock
from atoll.domain.errors import ApiError, Incomplete, Upstream, not_implemented
from atoll.domain.http_message import EMPTY, Request, Response
from atoll.domain.quotas import DOCUMENT_MAX_BYTES
from atoll.gateway.authenticate import UNAUTHENTICATED, Authenticate, Authenticated, settled
from atoll.gateway.authorize import Authorization, PolicyLookup, authorize
from atoll.gateway.bound_service import BoundService, call_operation
from atoll.gateway.error_responses import HOST_ID
from atoll.gateway.metrics import Metrics
from atoll.gateway.payload import NO_PAYLOAD, Payload, check_decoded_length, checked
from atoll.gateway.request_log import RequestEvent, RequestIds, RequestLog
from atoll.gateway.service_time_emulation import ServiceTimeDelay
from atoll.rules.copy_source import parse as parse_copy_source
from atoll.rules.endpoint_hostnames import RequestTarget, named, scope_of
from atoll.rules.multi_region_access_point import check_operation
from atoll.rules.payload_verification import PayloadCheck, PayloadReader, has_nothing

QUERY_SERVICES = ("iam", "sts")  # the operation stands in the body, so the body is read first
UNSIGNED_PAYLOAD = "UNSIGNED-PAYLOAD"
FRAMED_MAX_BYTES = 2 * DOCUMENT_MAX_BYTES  # a document with its aws-chunked framing
FRAMING = frozenset(("content-length", "transfer-encoding"))
FORM_MAX_BYTES = 256 * 1024  # IAM: the largest document is a policy of 10 KB, percent-encoded
HASHED = frozenset(("PutObject", "UploadPart"))  # operations whose ETag is the MD5 of what they carry
DOUBTFUL = frozenset((403, 404))  # refusals that control state from a moment ago may be the reason of

Receive = Callable[[Call, str, str], Awaitable[OperationOutput]]


class Exchange(msgspec.Struct):
    """One request on its way through the stages."""

    request: Request
    request_id: str
    now: float
    named: RequestTarget
    part: BoundService | None = None
    authenticated: Authenticated = UNAUTHENTICATED
    operation: str = "-"
    bucket: str = ""
    key: str = ""
    authorization: Authorization | None = None
    check: PayloadCheck | None = None
    log: dict[str, Any] = {}


def nothing_to_refresh() -> bool:
    """For a control state that nobody else changes."""
    return False


async def _no_catch_up(_version: int) -> None:
    """For a control state that nobody else changes."""


def _no_identity(_account: str, _params: Mapping[str, Any]) -> tuple[str, str]:
    """Nobody that is called so."""
    return "", ""


@dataclass(slots=True)
class Gateway:
    """A region's Handler. `receive` takes replicas from other regions; `named_mrap` gives the ARN of the access point that
    a control operation names, "" when there is none. `catch_up` returns when the control state is at least of a version.
    `refresh` looks for newer control state and tells whether there was some: a refusal is then judged once more, so that what
    was answered in another region a moment ago (a key, a policy, a bucket) holds here too. `named_identity` gives the ARN and the permissions boundary of the user or role of an account that an IAM call names."""

    region: str
    services: Mapping[str, BoundService]
    authenticate: Authenticate
    policy_lookup: PolicyLookup
    receive: Receive
    named_mrap: Callable[[Mapping[str, Any]], str]
    clock: Clock
    ids: RequestIds
    request_log: RequestLog
    metrics: Metrics
    service_time: ServiceTimeDelay
    compat: str = "lenient"
    catch_up: Callable[[int], Awaitable[None]] = _no_catch_up
    named_identity: Callable[[str, Mapping[str, Any]], tuple[str, str]] = _no_identity
    refresh: Callable[[], bool] = nothing_to_refresh

    async def __call__(self, request: Request) -> Response:
        exchange = self._new_exchange(request)
        try:
            response = await self._answer(exchange)
        except Exception as error:  # noqa: BLE001 - every error becomes an answer, here and nowhere else
            response = self._error_response(exchange, error)
        if response.status in DOUBTFUL and request.body.unread and self.refresh():
            exchange, response = await self._retry_after_refresh(request)
        self._log(exchange, response)
        return response

    async def _retry_after_refresh(self, request: Request) -> tuple[Exchange, Response]:
        """Once more, on newer control state. What was refused has done nothing."""
        exchange = self._new_exchange(request)
        try:
            return exchange, await self._answer(exchange)
        except Exception as error:  # noqa: BLE001 - as above
            return exchange, self._error_response(exchange, error)

    def _error_response(self, exchange: Exchange, error: Exception) -> Response:
        """Whose fault was it? The caller's, a peer's, or ours, of which the log has the trace and the client no word."""
        match error:
            case ApiError():
                return self._api_error_response(exchange, error)
            case Incomplete():  # nothing else that an operation awaits is cut short: the request's own body was
                return self._api_error_response(exchange, ApiError("IncompleteBody", str(error)))
            case Upstream():
                return self._api_error_response(exchange, ApiError("ServiceUnavailable", f"{error}. Try again."))
        exchange.log["trace"] = "".join(traceback.format_exception(error))
        return self._api_error_response(exchange, ApiError("InternalError", "We encountered an internal error. Please try again."))

    def _new_exchange(self, request: Request) -> Exchange:
        return Exchange(request, self.ids.next(), self.clock.now(), _named(request))

    async def _answer(self, exchange: Exchange) -> Response:
        request = exchange.request
        if request.forwarded is not None:
            await self.catch_up(request.forwarded.state_version)
        if request.forwarded is not None and request.forwarded.replica:
            return await self._receive_replica(exchange)
        part = exchange.part = self._service(exchange.named)
        document = await self._read_form(exchange) if part.service in QUERY_SERVICES else b""
        exchange.authenticated = self._authenticate(exchange, document)
        if "+" in request.target:
            request = exchange.request = settled(request, exchange.authenticated)
            exchange.named = _named(request)
        route = part.codec.route(request.method, exchange.named.path, request.query, request.headers, document)
        exchange.operation = route.operation
        part.operation(route.operation)
        if request.forwarded is not None and request.forwarded.access_point:
            check_operation(route.operation, self.compat)
        streams = part.codec.streams(route.operation)
        payload = await self._payload_reader(exchange, streams=streams)
        if payload is not NO_PAYLOAD and not streams:
            document = await payload.document()
        params = part.codec.read(route, request, document, payload.body)
        part.check_members(route.operation, params)
        call, authorization = self._new_call(exchange, params, payload)
        if self._asks_for_tags(exchange):
            await self._read_tags(exchange, authorization, params)
        self._authorize(exchange, authorization, params)
        output = await call_operation(part, call, params)
        exchange.log.update(call.log)
        if self.service_time.settings.paths:
            path = "mrap" if request.forwarded is not None and request.forwarded.access_point else "single"
            await self.service_time.delay_response(exchange.operation, path, request.arrived)
        return self._write_output(exchange, part, output)

    # -- name

    def _service(self, name: RequestTarget) -> BoundService:
        part = self.services.get(name.service)
        if part is None:
            raise not_implemented(f"the service {name.service}")
        return part

    # -- authenticate

    async def _read_form(self, exchange: Exchange) -> bytes:
        return await exchange.request.body.read_small(FORM_MAX_BYTES)

    def _authenticate(self, exchange: Exchange, document: bytes) -> Authenticated:
        forwarded = exchange.request.forwarded
        if forwarded is not None and forwarded.caller is not None:
            return Authenticated(forwarded.caller, forwarded.authentication)
        digest = hashlib.sha256(document).hexdigest() if exchange.named.service in QUERY_SERVICES else None
        return self.authenticate(exchange.request, exchange.named, region=self.region, now=exchange.now, body_sha256=digest)

    # -- payload

    async def _payload_reader(self, exchange: Exchange, *, streams: bool) -> Payload:
        """A stream is checked while the operation reads it, a document before anything is asked of it."""
        request, request_signature = exchange.request, exchange.authenticated.request_signature
        if streams:
            _check_length(request)
        mode = request_signature.content_sha256 if request_signature else request.headers.get("x-amz-content-sha256", UNSIGNED_PAYLOAD)
        if exchange.named.service in QUERY_SERVICES or has_nothing(mode, request.headers):
            return NO_PAYLOAD
        trusted = request.forwarded is not None and request.forwarded.caller is not None
        reader = PayloadReader.of(
            request.headers,
            request_signature,
            exchange.authenticated.secret,
            self.authenticate.cache,
            framed=not trusted,
            of_body=exchange.operation != "CompleteMultipartUpload",
            md5=exchange.operation in HASHED,
        )
        check_decoded_length(reader)
        exchange.check = reader.check
        if not streams:
            await request.body.read_small(FRAMED_MAX_BYTES)
        return checked(request.body, reader)

    # -- authorize

    def _new_call(self, exchange: Exchange, params: Mapping[str, Any], payload: Payload) -> tuple[Call, Authorization]:
        exchange.bucket, exchange.key = params.get("Bucket") or "", params.get("Key") or ""
        authorization = exchange.authorization = Authorization(
            self.policy_lookup,
            exchange.request,
            exchange.authenticated.caller,
            exchange.authenticated.authentication,
            exchange.now,
            self.region,
            exchange.operation,
            params,
        )
        call = Call(
            exchange.named.service,
            exchange.operation,
            exchange.request,
            exchange.authenticated.caller,
            exchange.now,
            self.region,
            exchange.authenticated.caller.account,
            exchange.request_id,
            payload.body,
            authorization.allow,
            authorization.may,
            payload.check,
            exchange.log,
        )
        return call, authorization

    async def _read_tags(self, exchange: Exchange, authorization: Authorization, params: Mapping[str, Any]) -> None:
        """Tags of the object that is named, for policies that ask for them."""
        authorization.tagged = object_arn(exchange.bucket, exchange.key)
        authorization.existing_tags = await self.policy_lookup.tags(exchange.bucket, exchange.key, params.get("VersionId"))

    def _asks_for_tags(self, exchange: Exchange) -> bool:
        mrap = exchange.request.forwarded.access_point if exchange.request.forwarded else ""
        return bool(exchange.key) and self.policy_lookup.asks_for_tags(exchange.authenticated.caller, exchange.bucket, mrap)

    def _authorize(self, exchange: Exchange, authorization: Authorization, params: Mapping[str, Any]) -> None:
        copied = params.get("CopySource")
        source = parse_copy_source(copied) if isinstance(copied, str) else None
        identity = ""
        if exchange.named.service == "iam":
            identity, authorization.boundary = self.named_identity(authorization.account, params)
        authorize(
            authorization,
            exchange.named.service,
            bucket=exchange.bucket,
            key=exchange.key,
            headers=exchange.request.headers,
            source=(source.bucket, source.key, source.version or "") if source else None,
            access_point=self.named_mrap(params) if exchange.named.service == "s3control" else "",
            identity=identity,
        )

    # -- copies from other regions

    async def _receive_replica(self, exchange: Exchange) -> Response:
        exchange.part, exchange.operation = self.services["s3"], "ReplicateObject"
        exchange.authenticated = self._authenticate(exchange, b"")
        route = exchange.part.codec.route("PUT", exchange.request.path, "", {})
        exchange.bucket, exchange.key = route.labels["Bucket"], route.labels["Key"]
        call, _ = self._new_call(exchange, {"Bucket": exchange.bucket, "Key": exchange.key}, Payload(exchange.request.body))
        output = await self.receive(call, exchange.bucket, exchange.key)
        return Response(output.status or 200, dict(output.headers))

    # -- write, log

    def _write_output(self, exchange: Exchange, part: BoundService, output: OperationOutput) -> Response:
        response = part.codec.write(exchange.operation, output, exchange.request_id)
        response.headers["x-amz-request-id"] = exchange.request_id
        response.headers["x-amz-id-2"] = HOST_ID
        if exchange.request.method == "HEAD" and response.body.length:
            response.headers.setdefault("content-length", str(response.body.length))
            response.body = EMPTY
        return response

    def _api_error_response(self, exchange: Exchange, error: ApiError) -> Response:
        part = exchange.part or self.services["s3"]
        exchange.log["error"], exchange.log["message"] = error.code, error.message
        response = part.codec.fault(
            error, request_id=exchange.request_id, host_id=HOST_ID, resource=exchange.request.path, head=exchange.request.method == "HEAD"
        )
        response.headers.update(error.headers)
        if response.status == 403 and exchange.named.service == "s3":
            self._add_region_header(exchange, response)
        return response

    def _add_region_header(self, exchange: Exchange, response: Response) -> None:
        """A refusal tells where the bucket lives, so that clients that guessed wrong can ask again; never behind an
        access point (s3.md, "Defaults that surprise servers")."""
        protection = self.policy_lookup.bucket(exchange.named.bucket) if exchange.named.bucket else None
        if protection is not None and protection.region and not (exchange.request.forwarded and exchange.request.forwarded.access_point):
            response.headers.setdefault("x-amz-bucket-region", protection.region)

    def _log(self, exchange: Exchange, response: Response) -> None:
        request, forwarded = exchange.request, exchange.request.forwarded
        seconds = self.clock.monotonic() - request.arrived if request.arrived else 0.0
        size_in, size_out = _size_in(exchange), response.body.size or 0
        self.metrics.request(exchange.part.service if exchange.part else "-", exchange.operation, response.status, seconds, size_in, size_out)
        self.request_log.request(
            RequestEvent(
                self.request_log.process,
                exchange.now,
                exchange.request_id,
                exchange.named.service,
                exchange.operation,
                self.region,
                exchange.authenticated.caller.arn or exchange.authenticated.caller.kind,
                exchange.bucket,
                exchange.key,
                response.status,
                size_in,
                size_out,
                int(seconds * 1e6) / 1000,
                request.peer,
                exchange.authorization.decided if exchange.authorization is not None and exchange.authorization.decided else (),
                forwarded.place if forwarded is not None else "",
                forwarded.request_id if forwarded is not None else "",
                forwarded.access_point if forwarded is not None else "",
                exchange.authenticated.caller.account,
                exchange.authorization.owner if exchange.authorization is not None else "",
            ),
            exchange.log,
        )


def _named(request: Request) -> RequestTarget:
    """What a request addresses; an access point has chosen the bucket already."""
    headers, forwarded = request.headers, request.forwarded
    name = named(headers.get("host", ""), request.path, scope_of(headers.get("authorization", ""), request.query))
    if forwarded is not None and forwarded.bucket:
        return RequestTarget("s3", f"/{forwarded.bucket}{request.path}", forwarded.bucket, virtual=True, host=name.host)
    return name
def _size_in(exchange: Exchange) -> int:
    """Bytes of the request's body: announced, else as many as were read."""
    announced = exchange.request.body.length
    if announced is not None:
        return announced
    return exchange.check.size if exchange.check is not None else 0


def _check_length(request: Request) -> None:
    """By what the client said, not by what the process that carried it had to add."""
    if (request.forwarded is not None and request.forwarded.unframed) or FRAMING.isdisjoint(request.headers):
        raise ApiError("MissingContentLength", "You must provide the Content-Length HTTP header.")
