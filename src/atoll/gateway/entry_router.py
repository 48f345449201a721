"""Routes a request that enters at a place to the region that answers it, and says for whom it goes on.

An access point ends here: the signature is verified in the caller's own place, the nearest healthy active copy is chosen,
and the request goes on over a warm connection. Anything else is carried to its region as it is; the region verifies it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from atoll.aws_protocols.codec import Codec
from atoll.domain.arn import access_point_arn
from atoll.domain.caller import ForwardedContext
from atoll.domain.clock import Clock
from atoll.domain.errors import ApiError, Incomplete, Unreachable, Upstream
from atoll.domain.http_message import Body, Request, Response
from atoll.domain.interfaces import Handler
from atoll.gateway.authenticate import Authenticate, Authenticated, settled
from atoll.gateway.error_responses import HOST_ID, SERVICES, refusal
from atoll.gateway.metrics import Metrics
from atoll.gateway.payload import check_decoded_length, checked
from atoll.gateway.request_log import RequestIds, RequestLog
from atoll.gateway.request_pipeline import nothing_to_refresh
from atoll.rules import signature_verification
from atoll.rules.endpoint_hostnames import RequestTarget, Scope, named, scope_of
from atoll.rules.multipart_uploads import region_of_upload
from atoll.rules.payload_verification import PayloadReader
from atoll.rules.region_selection import Candidate, Choice

# RFC 9110 section 7.6.1: what one connection says to the next hop only. Framing is made anew on the next connection; Expect
# goes on, because the region decides whether it wants the body (RFC 9110 section 10.1.1).
HOP_HEADERS = frozenset(
    ("connection", "keep-alive", "proxy-connection", "proxy-authorization", "proxy-authenticate", "te", "trailer", "upgrade")
)
FRAMING = frozenset(("transfer-encoding", "content-length"))
GLOBAL_REGION = "us-east-1"  # who answers names without a region (clients.md, section 2)


class Mrap(Protocol):
    """An access point as the data plane needs it."""

    @property
    def alias(self) -> str: ...
    @property
    def account(self) -> str: ...
    @property
    def serving(self) -> bool: ...
    @property
    def members(self) -> Mapping[str, str]: ...  # region -> bucket
    @property
    def traffic_dials(self) -> Mapping[str, int]: ...  # region -> 0 or 100


class Routing(Protocol):
    """One place's view of the regions: measured round trips, health, and the choice (rules/region_selection)."""

    def healthy(self, region: str) -> bool: ...
    def lost(self, region: str) -> None: ...
    def candidates(self, mrap: Mrap) -> list[Candidate]: ...
    def choose(self, alias: str, candidates: list[Candidate]) -> Choice: ...


UNKNOWN = frozenset(("InvalidAccessKeyId", "NoSuchMultiRegionAccessPoint"))  # what newer control state may know


@dataclass(frozen=True, slots=True)
class EntryRouter:
    """One place's Handler. `nearest` are the world's regions from here, nearest first; `bucket_region` tells where a bucket
    lives; `peers` carry requests to the regions over this place's links."""

    place: str
    nearest: tuple[str, ...]
    home: str
    peers: Mapping[str, Handler]
    mraps: Callable[[str], Mrap | None]
    bucket_region: Callable[[str], str | None]
    routing: Routing
    authenticate: Authenticate
    codec: Codec
    clock: Clock
    ids: RequestIds
    request_log: RequestLog
    metrics: Metrics
    compat: str = "lenient"
    refresh: Callable[[], bool] = nothing_to_refresh

    async def __call__(self, request: Request) -> Response:
        log: dict[str, Any] = {}
        request_id = self.ids.next()
        scope = scope_of(request.headers.get("authorization", ""), request.query)
        name = named(request.headers.get("host", ""), request.path, scope)
        try:
            response = await self._authorize_and_answer(request, request_id, name, scope, log)
        except ApiError as error:
            response = self._fault(request, request_id, name, error, log)
        except Upstream as error:
            log["message"] = str(error)
            unanswered = ApiError("ServiceUnavailable", f"{log.get('region', 'The region')} does not answer ({error}). Try again.")
            response = self._fault(request, request_id, name, unanswered, log)
        self._log(request, request_id, response, log)
        return response

    async def _authorize_and_answer(
        self, request: Request, request_id: str, name: RequestTarget, scope: Scope | None, log: dict[str, Any]
    ) -> Response:
        """The answer; what this place does not know (a key, an access point) is looked for once more in newer state."""
        try:
            return await self._answer(request, request_id, name, scope, log)
        except ApiError as error:
            if error.code not in UNKNOWN or not request.body.unread or not self.refresh():
                raise
        return await self._answer(request, request_id, name, scope, log)

    async def _answer(
        self, request: Request, request_id: str, name: RequestTarget, scope: Scope | None, log: dict[str, Any]
    ) -> Response:
        alias = self._alias(name)
        if alias:
            return await self._through_mrap(request, request_id, name, alias, log)
        region = log["region"] = self.region_for(name, scope)
        forwarded = ForwardedContext(request.peer, request.secure, place=self.place, request_id=request_id, unframed=_unframed(request))
        return await self._forward(region, request, forwarded, request.target)

    # -- which region

    def region_for(self, name: RequestTarget, scope: Scope | None) -> str:
        """Where a name leads (clients.md, section 2). Raises AccessDenied for a region that is not in the world."""
        wanted = name.host.region if name.host and name.host.region else scope.region if scope else ""
        if name.service != "s3":
            return self.live(wanted)
        if (name.host and not name.host.region) or not wanted:
            located = self.bucket_region(name.bucket) if name.bucket else None
            return located or self.live(wanted or (self.home if name.host else self.nearest[0]))
        if wanted not in self.nearest:
            raise ApiError(
                "AccessDenied", f"{wanted} is not a region of this world. It has {', '.join(sorted(self.nearest))}."
            )
        return wanted

    def live(self, wanted: str) -> str:
        """The wanted region ("": of global names) if it is there and answers, else the nearest that does."""
        first = wanted or self.home
        order = [first, *self.nearest] if first in self.nearest else list(self.nearest)
        return next((region for region in order if self.routing.healthy(region)), order[0])

    # -- access points

    def _alias(self, name: RequestTarget) -> str:
        if name.service != "s3":
            return ""
        if name.host is None:
            return name.bucket if self.compat == "lenient" and name.bucket.endswith(".mrap") else ""
        if name.host.kind == "access-point":
            return name.host.alias
        if name.host.kind == "access-point-path" and self.compat == "strict":
            raise ApiError("NoSuchMultiRegionAccessPoint", "Path style is served with compat = lenient only.")
        if name.host.kind == "access-point-path" or (self.compat == "lenient" and name.bucket.endswith(".mrap")):
            return name.bucket
        return ""

    async def _through_mrap(
        self, request: Request, request_id: str, name: RequestTarget, alias: str, log: dict[str, Any]
    ) -> Response:
        mrap = self.mraps(alias)
        if mrap is None or not mrap.serving:
            raise ApiError("NoSuchMultiRegionAccessPoint", f"There is no access point {alias} that serves requests.")
        arn = log["access_point"] = access_point_arn(mrap.account, alias)
        authenticated = self._authenticate(request, name)
        request = settled(request, authenticated)
        log["caller"], log["account"], log["owner"] = authenticated.caller.arn, authenticated.caller.account, mrap.account
        choice = self._choose(_upload_id(request.query), mrap, log)
        if authenticated.request_signature is not None:
            signature_verification.check_region(authenticated.request_signature, choice.region, any_region=self.compat == "lenient")
        body = request.body if _unframed(request) else self._checked_body(request, authenticated)
        forwarded = self._forwarded(request, request_id, authenticated, arn, mrap, choice)
        target = request.target if name.virtual else _without_bucket(request.target)
        inner = Request(request.method, target, request.headers, body, request.peer, request.secure, request.arrived)
        return await self._forward(choice.region, inner, forwarded, target)

    def _checked_body(self, request: Request, authenticated: Authenticated) -> Body:
        """Without its aws-chunked framing, which only the signature that was given here can prove."""
        reader = PayloadReader.of(
            request.headers,
            authenticated.request_signature,
            authenticated.secret,
            self.authenticate.cache,
            of_body=not (_upload_id(request.query) and request.method == "POST"),
            md5=False,
        )
        check_decoded_length(reader)
        payload = checked(request.body, reader)
        payload.raise_deferred()
        return payload.body

    def _authenticate(self, request: Request, name: RequestTarget) -> Authenticated:
        authenticated = self.authenticate(request, name, region="", now=self.clock.now())
        if authenticated.request_signature is None:
            raise ApiError("AccessDenied", "Access points take signed requests only.")
        if authenticated.request_signature.algorithm == "AWS":
            raise ApiError("InvalidRequest", "Access points take AWS4-ECDSA-P256-SHA256 or AWS4-HMAC-SHA256 signatures.")
        return authenticated

    def _choose(self, upload: str, mrap: Mrap, log: dict[str, Any]) -> Choice:
        """The nearest healthy active copy; parts of an upload follow the region that the upload id names (lenient)."""
        candidates = self.routing.candidates(mrap)
        log["candidates"] = [f"{c.region}:{c.rtt_ms:.1f}ms:{'active' if c.active else 'passive'}{'' if c.healthy else ':down'}" for c in candidates]
        pinned = region_of_upload(upload) if upload and self.compat == "lenient" else None
        if pinned is not None and pinned in mrap.members:
            choice = Choice(pinned, mrap.members[pinned], "the upload began there")
        else:
            choice = self.routing.choose(mrap.alias, candidates)
        log["region"], log["bucket"], log["reason"] = choice.region, choice.bucket, choice.reason
        return choice

    def _forwarded(
        self, request: Request, request_id: str, authenticated: Authenticated, arn: str, mrap: Mrap, choice: Choice
    ) -> ForwardedContext:
        return ForwardedContext(
            request.peer,
            request.secure,
            place=self.place,
            caller=authenticated.caller,
            authentication=authenticated.authentication,
            access_point=arn,
            access_point_account=mrap.account,
            bucket=choice.bucket,
            request_id=request_id,
            unframed=_unframed(request),
        )

    # -- carrying

    async def _forward(self, region: str, request: Request, forwarded: ForwardedContext, target: str) -> Response:
        try:
            response = await self.peers[region](without_local_fields(request, forwarded, target))
        except Unreachable:
            self.routing.lost(region)  # the next request goes elsewhere; this one is not tried on another bucket
            raise
        return incoming(request, response)

    # -- errors, log

    def _fault(self, request: Request, request_id: str, name: RequestTarget, error: ApiError, log: dict[str, Any]) -> Response:
        log["error"] = error.code
        log.setdefault("message", error.message)
        return refusal(request, error, request_id, name.service if name.service in SERVICES else "s3")

    def _log(self, request: Request, request_id: str, response: Response, log: Mapping[str, Any]) -> None:
        seconds = self.clock.monotonic() - request.arrived if request.arrived else 0.0
        self.metrics.request("entry", request.method, response.status, seconds)
        self.request_log.event(
            {
                "time": self.clock.now(),
                "event": "entry",
                "request_id": request_id,
                "place": self.place,
                "method": request.method,
                "host": request.headers.get("host", ""),
                "status": response.status,
                "upstream_request_id": response.headers.get("x-amz-request-id", ""),
                "ms": round(seconds * 1000, 3),
                "peer": request.peer,
                **log,
            }
        )


def without_local_fields(request: Request, forwarded: ForwardedContext, target: str) -> Request:
    """A client's request as it travels on to another process."""
    headers = {name: value for name, value in request.headers.items() if name not in HOP_HEADERS and name not in FRAMING}
    if request.body.length == 0 and "content-length" in request.headers:
        headers["content-length"] = "0"  # it may be signed; a request without a body is not given one on the way
    return Request(request.method, target, headers, _client_body(request.body), arrived=request.arrived, forwarded=forwarded)


def incoming(request: Request, response: Response) -> Response:
    """What another process answered, as the client gets it."""
    kept = {name: value for name, value in response.headers.items() if name.lower() not in HOP_HEADERS}
    if request.method != "HEAD":
        kept = {name: value for name, value in kept.items() if name.lower() not in FRAMING}
    return Response(response.status, kept, response.body)
def _unframed(request: Request) -> bool:
    return FRAMING.isdisjoint(request.headers)


def _client_body(body: Body) -> Body:
    """A body whose breaking off is the caller's fault, and so never taken for the region's."""
    return body if body.small is not None else Body(_whole_or_error(body), body.length)


async def _whole_or_error(body: Body) -> AsyncIterator[bytes]:
    try:
        async for piece in body:
            yield piece
    except Incomplete as cut:
        raise ApiError("IncompleteBody", str(cut)) from cut


def _without_bucket(target: str) -> str:
    """/alias/key?query -> /key?query."""
    path, separator, query = target.partition("?")
    return f"/{path.removeprefix('/').partition('/')[2]}{separator}{query}"


def _upload_id(query: str) -> str:
    for pair in query.split("&"):
        name, _, value = pair.partition("=")
        if name == "uploadId":
            return value
    return ""


def refuse_foreign_hosts(codec: Codec, ids: RequestIds, regions: tuple[str, ...]) -> Handler:
    """The Handler behind a CONNECT to a name that is not ours: a refusal that a client can show (clients.md, section 2)."""

    async def refuse(request: Request) -> Response:
        error = ApiError(
            "AccessDenied",
            f"{request.headers.get('host', '')} is not a name of this world (regions: {', '.join(regions)}); "
            "nothing is passed on to the outside.",
        )
        return codec.fault(error, request_id=ids.next(), host_id=HOST_ID, resource=request.path, head=request.method == "HEAD")

    return refuse
