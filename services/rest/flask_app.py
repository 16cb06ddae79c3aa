"""The routes behind Flask."""

from __future__ import annotations

from collections.abc import Callable

import flask
from flask import Flask, Response
from werkzeug.exceptions import HTTPException

from services.rest import events
from services.rest.api import ENDPOINTS, Api, Endpoint, EventReply, Reply, Request


def create_app(api: Api) -> Flask:
    """Build the WSGI application of a worker."""
    app = Flask(__name__, static_folder=None)
    # The server answers what fails outside of an operation, among it a body that stops half-way.
    app.config["PROPAGATE_EXCEPTIONS"] = True
    app.url_map.merge_slashes = False
    for endpoint in ENDPOINTS:
        # Without methods a rule takes them all, so that the answer to the wrong one is ours.
        rule = endpoint.path.replace("{", "<").replace("}", ">")
        app.url_map.add(app.url_rule_class(rule, endpoint=endpoint.path))
        app.view_functions[endpoint.path] = _view(api, endpoint)

    app.register_error_handler(HTTPException, lambda _: _refuse_unknown(api))
    return app


def _view(api: Api, endpoint: Endpoint) -> Callable[..., Response]:
    def view(**path_values: str) -> Response:
        if flask.request.environ["PATH_INFO"].startswith("//"):  # which Flask takes for one slash
            return _refuse_unknown(api)
        reply = api.answer(endpoint, _request(api, path_values))
        return _event_response(api, reply) if isinstance(reply, EventReply) else _response(reply)

    return view


def _refuse_unknown(api: Api) -> Response:
    # WSGI carries bytes as Latin-1.
    path = flask.request.environ["PATH_INFO"].encode("latin-1").decode("utf-8", "replace")
    return _response(api.answer_unknown(_request(api, {}), path))


def _request(api: Api, path_values: dict[str, str]) -> Request:
    environ = flask.request.environ
    # WSGI gives each header its own name; asking for them here costs less than Flask's parsed headers.
    length = environ.get("CONTENT_LENGTH", "")
    has_body = length or "HTTP_TRANSFER_ENCODING" in environ
    return Request(
        environ["REQUEST_METHOD"],
        path_values,
        environ["QUERY_STRING"],
        environ.get("CONTENT_TYPE", ""),
        environ.get("HTTP_ACCEPT", ""),
        _body(environ["wsgi.input"].read, length, api.body_bytes_max + 1) if has_body else b"",
    )


def _body(read: Callable[[int], bytes], length: str, bytes_max: int) -> bytes:
    body = read(bytes_max)
    if length and len(body) < min(int(length), bytes_max):
        raise ConnectionAbortedError("the client left in the middle of the body")
    return body


def _event_response(api: Api, reply: EventReply) -> Response:
    leaves = events.watch_client(flask.request.environ["gunicorn.socket"])
    response = Response(api.events(reply, leaves), content_type=events.CONTENT_TYPE)
    response.headers["Cache-Control"] = events.CACHE_CONTROL
    return response


def _response(reply: Reply) -> Response:
    response = Response(reply.body, reply.status, content_type=reply.content_type)
    if reply.allow:
        response.headers["Allow"] = reply.allow
    return response
