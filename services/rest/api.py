"""One request, from its parts to the parts of its reply, counted: what all frameworks share."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from http import HTTPMethod, HTTPStatus
from typing import NamedTuple

from services.domain.errors import Code, InvalidArgument
from services.operations import (
    OPERATIONS,
    STREAMS,
    JsonEnvelopeCodec,
    Operation,
    Outcome,
    Stream,
    open_stream,
    run,
    run_async,
)
from services.operations.stream import batches
from services.platform.lifecycle import Worker
from services.rest import echo, events, ledger, users
from services.rest.negotiation import JSON, PROTOBUF, Exchange, negotiate
from services.rest.routes import Route

#: The operation that requests without one are counted as.
UNKNOWN = "unknown"

STATUSES = {
    Code.INVALID_ARGUMENT: HTTPStatus.BAD_REQUEST,
    Code.NOT_FOUND: HTTPStatus.NOT_FOUND,
    Code.ALREADY_EXISTS: HTTPStatus.CONFLICT,
    Code.RESOURCE_EXHAUSTED: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    Code.UNIMPLEMENTED: HTTPStatus.METHOD_NOT_ALLOWED,
    Code.DEADLINE_EXCEEDED: HTTPStatus.GATEWAY_TIMEOUT,
    Code.UNAVAILABLE: HTTPStatus.SERVICE_UNAVAILABLE,
    Code.INTERNAL: HTTPStatus.INTERNAL_SERVER_ERROR,
}


class Request(NamedTuple):
    """What a framework has read; headers that are missing are empty."""

    method: str
    path_values: Mapping[str, str]
    query: str
    content_type: str
    accept: str
    #: To be read no further than one byte over the limit, which is enough to refuse it.
    body: bytes


class Reply(NamedTuple):
    """What a framework has to send."""

    status: int
    content_type: str
    body: bytes
    #: The value of the header Allow, if it is due.
    allow: str = ""


class EventReply(NamedTuple):
    """What a framework has to send bit by bit: the events of a stream, which is counted when they end."""

    stream: Stream
    begun_s: float
    request_bytes: int


#: What is said of a request that is none, as is one whose method HTTP doesn't know: some servers read it, others don't.
MALFORMED = "Malformed HTTP request."
_METHODS = frozenset(HTTPMethod)

#: To a request that failed outside of an operation.
FAILURE = Reply(HTTPStatus.INTERNAL_SERVER_ERROR, JSON, JsonEnvelopeCodec().encode_failure("Internal error."))


class _Result(NamedTuple):
    operation: str
    status: int
    outcome: Outcome
    allow: str = ""
    #: Of the reply, if it isn't the one that was negotiated.
    content_type: str = ""


class _Call(NamedTuple):
    """A request that is fit to be carried out."""

    route: Route
    operation: Operation
    fields: Mapping[str, object]

    def result(self, outcome: Outcome) -> _Result:
        status = self.route.status if outcome.code is Code.OK else STATUSES[outcome.code]
        return _Result(self.operation.name, status, outcome)


_NO_METHOD = _Result(UNKNOWN, HTTPStatus.BAD_REQUEST, Outcome(Code.INVALID_ARGUMENT, MALFORMED))


class Endpoint:
    """A path and its routes by method."""

    def __init__(self, path: str, routes: Iterable[Route]) -> None:
        self.path = path
        self.routes = {route.method: route for route in routes}
        if "GET" in self.routes:
            self.routes["HEAD"] = self.routes["GET"]  # servers leave out the body
        self.allow = ", ".join(sorted(self.routes))


def _endpoints(*groups: Iterable[Route]) -> tuple[Endpoint, ...]:
    routes = [route for group in groups for route in group]
    # A dictionary, for its keys come in the order of the table: a fixed path before one that would match it too.
    paths = dict.fromkeys(route.path for route in routes)
    return tuple(Endpoint(path, [route for route in routes if route.path == path]) for path in paths)


ENDPOINTS = _endpoints(users.ROUTES, ledger.ROUTES, echo.ROUTES)


def _refuse_method(endpoint: Endpoint, method: str) -> _Result:
    if method not in _METHODS:
        return _NO_METHOD
    refusal = Outcome(Code.UNIMPLEMENTED, f"Method {method} is not allowed for {endpoint.path}.")
    return _Result(UNKNOWN, HTTPStatus.METHOD_NOT_ALLOWED, refusal, endpoint.allow)


class Api:
    """Answers what a worker is asked; safe from any thread."""

    def __init__(self, worker: Worker) -> None:
        self.body_bytes_max = worker.settings.body_bytes_max
        self.stopping = worker.stopping
        #: Whether requests are for `answer_async`.
        self.asynchronous = worker.application.asynchronous
        self._application = worker.application
        self._recorder = worker.recorder

    def answer(self, endpoint: Endpoint, request: Request) -> Reply | EventReply:
        """Carry out a request to an endpoint."""
        begun_s = self._recorder.started()
        exchange = negotiate(request.content_type, request.accept)
        due = self._check(endpoint, exchange, request)
        if isinstance(due, _Call):
            due = due.result(run(self._application, due.operation, exchange.codec, request.body, due.fields))
        return self._reply(begun_s, request, exchange, due)

    async def answer_async(self, endpoint: Endpoint, request: Request) -> Reply | EventReply:
        """Do the same over an asynchronous store."""
        begun_s = self._recorder.started()
        exchange = negotiate(request.content_type, request.accept)
        due = self._check(endpoint, exchange, request)
        if isinstance(due, _Call):
            outcome = await run_async(self._application, due.operation, exchange.codec, request.body, due.fields)
            due = due.result(outcome)
        return self._reply(begun_s, request, exchange, due)

    def answer_unknown(self, request: Request, path: str) -> Reply:
        """Refuse a request to a path that isn't there."""
        begun_s = self._recorder.started()
        exchange = negotiate(request.content_type, request.accept)
        if request.method not in _METHODS:
            return self._finish(begun_s, request, exchange, _NO_METHOD)
        message = f"No such endpoint: {request.method} {path}."
        refusal = _Result(UNKNOWN, HTTPStatus.NOT_FOUND, Outcome(Code.NOT_FOUND, message))
        return self._finish(begun_s, request, exchange, refusal)

    def events(self, reply: EventReply, client_leaves: Callable[[float], bool]) -> Iterator[bytes]:
        """Yield the body of a stream's reply, in the thread that sends it; `client_leaves` as of `batches`."""
        try:
            for items in batches(reply.stream, self.stopping, client_leaves):
                yield b"".join(items)
            yield self.last_event(reply)
        finally:
            self.count(reply)

    def last_event(self, reply: EventReply) -> bytes:
        """Return what is to be sent when a stream has ended: nothing to a client that has left."""
        outcome = reply.stream.outcome
        if outcome is None or outcome.code is Code.CANCELLED:
            return b""
        event = events.encode_end(outcome)
        reply.stream.sent_bytes += len(event)
        return event

    def count(self, reply: EventReply) -> None:
        """Count a stream that is over."""
        reply.stream.count(self._recorder, reply.begun_s, reply.request_bytes)

    def _check(self, endpoint: Endpoint, exchange: Exchange, request: Request) -> _Call | Stream | _Result:
        """Return what is to be carried out, or has begun, or why it won't be."""
        route = endpoint.routes.get(request.method)
        if route is None:
            return _refuse_method(endpoint, request.method)
        operation = route.operation
        if not exchange.readable:
            refusal = Outcome(Code.INVALID_ARGUMENT, f"Content-Type must be {JSON} or {PROTOBUF}.")
            return _Result(operation, HTTPStatus.UNSUPPORTED_MEDIA_TYPE, refusal)
        if len(request.body) > self.body_bytes_max:
            refusal = Outcome(Code.RESOURCE_EXHAUSTED, f"The body is longer than {self.body_bytes_max} bytes.")
            return _Result(operation, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, refusal)
        try:
            fields = route.fields(request.path_values, request.query)
        except InvalidArgument as error:
            return _Result(operation, HTTPStatus.BAD_REQUEST, Outcome(error.code, error.message))
        if operation in STREAMS:
            return self._begin(_Call(route, STREAMS[operation], fields), exchange, request)
        return _Call(route, OPERATIONS[operation], fields)

    def _begin(self, call: _Call, exchange: Exchange, request: Request) -> Stream | _Result:
        operation = call.operation
        opened = open_stream(self._application, operation, exchange.codec, request.body, call.fields)
        if isinstance(opened, Outcome):
            return call.result(opened)
        if request.method == "HEAD":  # the head of what GET would get
            return call.result(Outcome(Code.OK, ""))._replace(content_type=events.CONTENT_TYPE)
        return Stream(operation, opened, events.encoder(operation), time.monotonic())

    def _reply(self, begun_s: float, request: Request, exchange: Exchange, due: Stream | _Result) -> Reply | EventReply:
        if isinstance(due, Stream):
            return EventReply(due, begun_s, len(request.body))
        return self._finish(begun_s, request, exchange, due)

    def _finish(self, begun_s: float, request: Request, exchange: Exchange, result: _Result) -> Reply:
        operation, status, (code, message, body), allow, content_type = result
        if code is not Code.OK:
            body = exchange.codec.encode_failure(message)
        self._recorder.finished(operation, code, time.perf_counter() - begun_s, len(request.body), len(body))
        return Reply(status, content_type or exchange.content_type, body, allow)
