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

from atoll.domain.arn import object_arn
from atoll.domain.call import Answer, Call
from atoll.domain.clock import Clock
from atoll.domain.errors import ApiError, Incomplete, Upstream, not_implemented
from atoll.domain.limits import DOCUMENT_MAX_BYTES
from atoll.domain.message import EMPTY, Request, Response
from atoll.gateway.authenticate import NOBODY, Authenticate, Known, settled
from atoll.gateway.authorize import Authority, Permit, authorize
from atoll.gateway.metrics import Metrics
from atoll.gateway.pace import Pace
from atoll.gateway.payload import NO_PAYLOAD, Payload, check_decoded_length, checked
from atoll.gateway.record import Recorder, RequestEvent, RequestIds
from atoll.gateway.refusal import HOST_ID
from atoll.gateway.slices import Slice, operate
from atoll.rules.accesspoint import check_operation
from atoll.rules.checksums import PayloadCheck, PayloadReader, has_nothing
from atoll.rules.copysource import parse as parse_copy_source
from atoll.rules.naming import Named, named, scope_of

QUERY_SERVICES = ("iam", "sts")  # the operation stands in the body, so the body is read first
UNSIGNED_PAYLOAD = "UNSIGNED-PAYLOAD"
FRAMED_MAX_BYTES = 2 * DOCUMENT_MAX_BYTES  # a document with its aws-chunked framing
FRAMING = frozenset(("content-length", "transfer-encoding"))
FORM_MAX_BYTES = 256 * 1024  # IAM: the largest document is a policy of 10 KB, percent-encoded
HASHED = frozenset(("PutObject", "UploadPart"))  # operations whose ETag is the MD5 of what they carry
DOUBTFUL = frozenset((403, 404))  # refusals that control state from a moment ago may be the reason of

Receive = Callable[[Call, str, str], Awaitable[Answer]]


class Exchange(msgspec.Struct):
    """One request on its way through the stages."""

    request: Request
    request_id: str
    now: float
    named: Named
    part: Slice | None = None
    known: Known = NOBODY
    operation: str = "-"
    bucket: str = ""
    key: str = ""
    permit: Permit | None = None
    check: PayloadCheck | None = None
    log: dict[str, Any] = {}


def nothing_newer() -> bool:
    """For a control state that nobody else changes."""
    return False


async def _as_it_is(_version: int) -> None:
    """For a control state that nobody else changes."""


def _unknown(_account: str, _params: Mapping[str, Any]) -> tuple[str, str]:
    """Nobody that is called so."""
    return "", ""


@dataclass(slots=True)
class Gateway:
    """A region's Handler. `receive` takes replicas from other regions; `named_point` gives the ARN of the access point that
    a control operation names, "" when there is none. `catch_up` returns when the control state is at least of a version.
    `refresh` looks for newer control state and tells whether there was some: a refusal is then judged once more, so that what
    was answered in another region a moment ago (a key, a policy, a bucket) holds here too. `named_identity` gives the ARN and the permissions boundary of the user or role of an account that an IAM call names."""

    region: str
    slices: Mapping[str, Slice]
    authenticate: Authenticate
    authority: Authority
    receive: Receive
    named_point: Callable[[Mapping[str, Any]], str]
    clock: Clock
    ids: RequestIds
    record: Recorder
    metrics: Metrics
    pace: Pace
    compat: str = "lenient"
    catch_up: Callable[[int], Awaitable[None]] = _as_it_is
    named_identity: Callable[[str, Mapping[str, Any]], tuple[str, str]] = _unknown
    refresh: Callable[[], bool] = nothing_newer

    async def __call__(self, request: Request) -> Response:
        x = self._begin(request)
        try:
            response = await self._answer(x)
        except Exception as error:  # noqa: BLE001 - every error becomes an answer, here and nowhere else
            response = self._told(x, error)
        if response.status in DOUBTFUL and request.body.unread and self.refresh():
            x, response = await self._again(request)
        self._log(x, response)
        return response

    async def _again(self, request: Request) -> tuple[Exchange, Response]:
        """Once more, on newer control state. What was refused has done nothing."""
        x = self._begin(request)
        try:
            return x, await self._answer(x)
        except Exception as error:  # noqa: BLE001 - as above
            return x, self._told(x, error)

    def _told(self, x: Exchange, error: Exception) -> Response:
        """Whose fault was it? The caller's, a peer's, or ours, of which the log has the trace and the client no word."""
        match error:
            case ApiError():
                return self._fault(x, error)
            case Incomplete():  # nothing else that an operation awaits is cut short: the request's own body was
                return self._fault(x, ApiError("IncompleteBody", str(error)))
            case Upstream():
                return self._fault(x, ApiError("ServiceUnavailable", f"{error}. Try again."))
        x.log["trace"] = "".join(traceback.format_exception(error))
        return self._fault(x, ApiError("InternalError", "We encountered an internal error. Please try again."))

    def _begin(self, request: Request) -> Exchange:
        return Exchange(request, self.ids.next(), self.clock.now(), _named(request))

    async def _answer(self, x: Exchange) -> Response:
        request = x.request
        if request.onward is not None:
            await self.catch_up(request.onward.state_version)
        if request.onward is not None and request.onward.replica:
            return await self._replica(x)
        part = x.part = self._slice(x.named)
        document = await self._form(x) if part.service in QUERY_SERVICES else b""
        x.known = self._who(x, document)
        if "+" in request.target:
            request = x.request = settled(request, x.known)
            x.named = _named(request)
        route = part.codec.route(request.method, x.named.path, request.query, request.headers, document)
        x.operation = route.operation
        part.operation(route.operation)
        if request.onward is not None and request.onward.access_point:
            check_operation(route.operation, self.compat)
        streams = part.codec.streams(route.operation)
        payload = await self._payload(x, streams=streams)
        if payload is not NO_PAYLOAD and not streams:
            document = await payload.document()
        params = part.codec.read(route, request, document, payload.body)
        part.check_members(route.operation, params)
        call, permit = self._call(x, params, payload)
        if self._asks_for_tags(x):
            await self._read_tags(x, permit, params)
        self._authorize(x, permit, params)
        answer = await operate(part, call, params)
        x.log.update(call.log)
        if self.pace.settings.paths:
            path = "mrap" if request.onward is not None and request.onward.access_point else "single"
            await self.pace.hold(x.operation, path, request.arrived)
        return self._write(x, part, answer)

    # -- name

    def _slice(self, name: Named) -> Slice:
        part = self.slices.get(name.service)
        if part is None:
            raise not_implemented(f"the service {name.service}")
        return part

    # -- authenticate

    async def _form(self, x: Exchange) -> bytes:
        return await x.request.body.read_small(FORM_MAX_BYTES)

    def _who(self, x: Exchange, document: bytes) -> Known:
        onward = x.request.onward
        if onward is not None and onward.caller is not None:
            return Known(onward.caller, onward.proof)
        digest = hashlib.sha256(document).hexdigest() if x.named.service in QUERY_SERVICES else None
        return self.authenticate(x.request, x.named, region=self.region, now=x.now, body_sha256=digest)

    # -- payload

    async def _payload(self, x: Exchange, *, streams: bool) -> Payload:
        """A stream is checked while the operation reads it, a document before anything is asked of it."""
        request, presented = x.request, x.known.presented
        if streams:
            _check_length(request)
        mode = presented.content_sha256 if presented else request.headers.get("x-amz-content-sha256", UNSIGNED_PAYLOAD)
        if x.named.service in QUERY_SERVICES or has_nothing(mode, request.headers):
            return NO_PAYLOAD
        trusted = request.onward is not None and request.onward.caller is not None
        reader = PayloadReader.of(
            request.headers,
            presented,
            x.known.secret,
            self.authenticate.cache,
            framed=not trusted,
            of_body=x.operation != "CompleteMultipartUpload",
            md5=x.operation in HASHED,
        )
        check_decoded_length(reader)
        x.check = reader.check
        if not streams:
            await request.body.read_small(FRAMED_MAX_BYTES)
        return checked(request.body, reader)

    # -- authorize

    def _call(self, x: Exchange, params: Mapping[str, Any], payload: Payload) -> tuple[Call, Permit]:
        x.bucket, x.key = params.get("Bucket") or "", params.get("Key") or ""
        permit = x.permit = Permit(
            self.authority,
            x.request,
            x.known.caller,
            x.known.proof,
            x.now,
            self.region,
            x.operation,
            params,
        )
        call = Call(
            x.named.service,
            x.operation,
            x.request,
            x.known.caller,
            x.now,
            self.region,
            x.known.caller.account,
            x.request_id,
            payload.body,
            permit.allow,
            permit.may,
            payload.check,
            x.log,
        )
        return call, permit

    async def _read_tags(self, x: Exchange, permit: Permit, params: Mapping[str, Any]) -> None:
        """Tags of the object that is named, for policies that ask for them."""
        permit.tagged = object_arn(x.bucket, x.key)
        permit.existing_tags = await self.authority.tags(x.bucket, x.key, params.get("VersionId"))

    def _asks_for_tags(self, x: Exchange) -> bool:
        point = x.request.onward.access_point if x.request.onward else ""
        return bool(x.key) and self.authority.asks_for_tags(x.known.caller, x.bucket, point)

    def _authorize(self, x: Exchange, permit: Permit, params: Mapping[str, Any]) -> None:
        copied = params.get("CopySource")
        source = parse_copy_source(copied) if isinstance(copied, str) else None
        identity = ""
        if x.named.service == "iam":
            identity, permit.boundary = self.named_identity(permit.account, params)
        authorize(
            permit,
            x.named.service,
            bucket=x.bucket,
            key=x.key,
            headers=x.request.headers,
            source=(source.bucket, source.key, source.version or "") if source else None,
            access_point=self.named_point(params) if x.named.service == "s3control" else "",
            identity=identity,
        )

    # -- copies from other regions

    async def _replica(self, x: Exchange) -> Response:
        x.part, x.operation = self.slices["s3"], "ReplicateObject"
        x.known = self._who(x, b"")
        route = x.part.codec.route("PUT", x.request.path, "", {})
        x.bucket, x.key = route.labels["Bucket"], route.labels["Key"]
        call, _ = self._call(x, {"Bucket": x.bucket, "Key": x.key}, Payload(x.request.body))
        answer = await self.receive(call, x.bucket, x.key)
        return Response(answer.status or 200, dict(answer.headers))

    # -- write, log

    def _write(self, x: Exchange, part: Slice, answer: Answer) -> Response:
        response = part.codec.write(x.operation, answer, x.request_id)
        response.headers["x-amz-request-id"] = x.request_id
        response.headers["x-amz-id-2"] = HOST_ID
        if x.request.method == "HEAD" and response.body.length:
            response.headers.setdefault("content-length", str(response.body.length))
            response.body = EMPTY
        return response

    def _fault(self, x: Exchange, error: ApiError) -> Response:
        part = x.part or self.slices["s3"]
        x.log["error"], x.log["message"] = error.code, error.message
        response = part.codec.fault(
            error, request_id=x.request_id, host_id=HOST_ID, resource=x.request.path, head=x.request.method == "HEAD"
        )
        response.headers.update(error.headers)
        if response.status == 403 and x.named.service == "s3":
            self._say_region(x, response)
        return response

    def _say_region(self, x: Exchange, response: Response) -> None:
        """A refusal tells where the bucket lives, so that clients that guessed wrong can ask again; never behind an
        access point (s3.md, "Defaults that surprise servers")."""
        guard = self.authority.bucket(x.named.bucket) if x.named.bucket else None
        if guard is not None and guard.region and not (x.request.onward and x.request.onward.access_point):
            response.headers.setdefault("x-amz-bucket-region", guard.region)

    def _log(self, x: Exchange, response: Response) -> None:
        request, onward = x.request, x.request.onward
        seconds = self.clock.monotonic() - request.arrived if request.arrived else 0.0
        size_in, size_out = _size_in(x), response.body.size or 0
        self.metrics.request(x.part.service if x.part else "-", x.operation, response.status, seconds, size_in, size_out)
        self.record.request(
            RequestEvent(
                self.record.process,
                x.now,
                x.request_id,
                x.named.service,
                x.operation,
                self.region,
                x.known.caller.arn or x.known.caller.kind,
                x.bucket,
                x.key,
                response.status,
                size_in,
                size_out,
                int(seconds * 1e6) / 1000,
                request.peer,
                x.permit.decided if x.permit is not None and x.permit.decided else (),
                onward.place if onward is not None else "",
                onward.request_id if onward is not None else "",
                onward.access_point if onward is not None else "",
                x.known.caller.account,
                x.permit.owner if x.permit is not None else "",
            ),
            x.log,
        )


def _named(request: Request) -> Named:
    """What a request addresses; an access point has chosen the bucket already."""
    headers, onward = request.headers, request.onward
    name = named(headers.get("host", ""), request.path, scope_of(headers.get("authorization", ""), request.query))
    if onward is not None and onward.bucket:
        return Named("s3", f"/{onward.bucket}{request.path}", onward.bucket, virtual=True, host=name.host)
    return name
def _size_in(x: Exchange) -> int:
    """Bytes of the request's body: announced, else as many as were read."""
    announced = x.request.body.length
    if announced is not None:
        return announced
    return x.check.size if x.check is not None else 0


def _check_length(request: Request) -> None:
    """By what the client said, not by what the process that carried it had to add."""
    if (request.onward is not None and request.onward.unframed) or FRAMING.isdisjoint(request.headers):
        raise ApiError("MissingContentLength", "You must provide the Content-Length HTTP header.")
