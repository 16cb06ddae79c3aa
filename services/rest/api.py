"""One request, from its parts to the parts of its reply, counted: what all frameworks share."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from http import HTTPMethod, HTTPStatus
from typing import NamedTuple

from services.domain.errors import Code, InvalidArgument
from services.operations import OPERATIONS, JsonEnvelopeCodec, Operation, Outcome, run, run_async
from services.platform.lifecycle import Worker
from services.rest import echo, users
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


ENDPOINTS = _endpoints(users.ROUTES, echo.ROUTES)


class Api:
    """Answers what a worker is asked; safe from any thread."""

    def __init__(self, worker: Worker) -> None:
        self.body_bytes_max = worker.settings.body_bytes_max
        #: Whether requests are for `answer_async`.
        self.asynchronous = worker.application.asynchronous
        self._application = worker.application
        self._recorder = worker.recorder

    def answer(self, endpoint: Endpoint, request: Request) -> Reply:
        """Carry out a request to an endpoint."""
        begun_s = self._recorder.started()
        exchange = negotiate(request.content_type, request.accept)
        due = self._check(endpoint, exchange, request)
        if isinstance(due, _Call):
            due = due.result(run(self._application, due.operation, exchange.codec, request.body, due.fields))
        return self._finish(begun_s, request, exchange, due)

    async def answer_async(self, endpoint: Endpoint, request: Request) -> Reply:
        """Do the same over an asynchronous store."""
        begun_s = self._recorder.started()
        exchange = negotiate(request.content_type, request.accept)
        due = self._check(endpoint, exchange, request)
        if isinstance(due, _Call):
            outcome = await run_async(self._application, due.operation, exchange.codec, request.body, due.fields)
            due = due.result(outcome)
        return self._finish(begun_s, request, exchange, due)

    def answer_unknown(self, request: Request, path: str) -> Reply:
        """Refuse a request to a path that isn't there."""
        begun_s = self._recorder.started()
        exchange = negotiate(request.content_type, request.accept)
        if request.method not in _METHODS:
            return self._finish(begun_s, request, exchange, _NO_METHOD)
        message = f"No such endpoint: {request.method} {path}."
        refusal = _Result(UNKNOWN, HTTPStatus.NOT_FOUND, Outcome(Code.NOT_FOUND, message))
        return self._finish(begun_s, request, exchange, refusal)

    def _check(self, endpoint: Endpoint, exchange: Exchange, request: Request) -> _Call | _Result:
        """Return what is to be carried out, or why it won't be."""
        route = endpoint.routes.get(request.method)
        if route is None:
            if request.method not in _METHODS:
                return _NO_METHOD
            message = f"Method {request.method} is not allowed for {endpoint.path}."
            refusal = Outcome(Code.UNIMPLEMENTED, message)
            return _Result(UNKNOWN, HTTPStatus.METHOD_NOT_ALLOWED, refusal, endpoint.allow)
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
        return _Call(route, OPERATIONS[operation], fields)

    def _finish(self, begun_s: float, request: Request, exchange: Exchange, result: _Result) -> Reply:
        operation, status, (code, message, body), allow = result
        if code is not Code.OK:
            body = exchange.codec.encode_failure(message)
        self._recorder.finished(operation, code, time.perf_counter() - begun_s, len(request.body), len(body))
        return Reply(status, exchange.content_type, body, allow)
