"""The REST service on Flask: gunicorn "wirebench_services.rest.flask_app:create_app()"."""

from __future__ import annotations

import atexit
import time
from collections.abc import Iterator
from typing import Any

from flask import Flask, Response, current_app, g, request
from werkzeug.exceptions import BadRequest, HTTPException

from wirebench_services import metrics
from wirebench_services.application import ledger
from wirebench_services.application.errors import INTERNAL_MESSAGE, OperationError
from wirebench_services.application.operations import HANDLERS
from wirebench_services.application.stores import open_store
from wirebench_services.contract import BODY_BYTES_MAX, CODES, OPERATIONS, STREAM, Operation
from wirebench_services.rest import bodies
from wirebench_services.settings import RestSettings, read_settings


def create_app() -> Flask:
    """Create the WSGI application of a worker; the settings are environment variables."""
    app = Flask(__name__, static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = BODY_BYTES_MAX
    app.extensions["store"] = open_store(read_settings(RestSettings))
    atexit.register(app.extensions["store"].close)
    for operation in OPERATIONS.values():  # `request.endpoint` is its name: users.get, ledger.get_balance, …
        path = operation.path.translate(str.maketrans("{}", "<>"))
        view = stream_transactions if operation.name == STREAM else answer
        app.add_url_rule(path, operation.name, view, methods=[operation.method])
    app.before_request(start_timer)
    app.after_request(count_request)
    app.register_error_handler(OperationError, answer_operation_error)
    app.register_error_handler(HTTPException, answer_http_error)
    metrics.WORKERS.set(1)
    return app


def answer(**path: str) -> Response:
    """Carry out the operation of the route."""
    operation = OPERATIONS[request.endpoint or ""]
    fields = read_body(operation, path) if bodies.has_body(operation) else read_query(path)
    value = HANDLERS[operation.name](current_app.extensions["store"], fields)
    body, media_type = bodies.encode_success(operation, value, request.headers)
    return Response(body, operation.status, content_type=media_type)


def stream_transactions() -> Response:
    query = ledger.parse_stream(read_query({}))
    batches = ledger.stream_transactions(current_app.extensions["store"], query)
    return Response(generate_events(batches, g.started_s), headers=bodies.EVENT_HEADERS)


def read_query(path: dict[str, str]) -> dict[str, Any]:
    # Parsing costs time, and most requests have no query.
    return bodies.add_path(bodies.parse_integers(request.args) if request.query_string else {}, path)


def read_body(operation: Operation, path: dict[str, str]) -> dict[str, Any]:
    try:
        body = request.get_data(cache=False)
    except HTTPException:
        raise
    except Exception as error:  # of gunicorn, which parses a body in chunks while it is read
        raise BadRequest("The body could not be read.") from error
    if len(body) < (request.content_length or 0):  # gunicorn hands on what came before the client left
        raise BadRequest("The request ended before its body did.")
    return bodies.parse_body(operation, request.headers, body, path)


def generate_events(batches: Iterator[Any], started_s: float) -> Iterator[bytes]:
    """Yield the events of a stream; count it when it ends, or when gunicorn closes it because the client left."""
    code = "cancelled"
    try:
        for batch in batches:
            yield bodies.encode_events(batch)
        yield bodies.END_EVENT
        code = "ok"
    except Exception as error:  # noqa: BLE001 - every error is described, and an unexpected one is logged
        event, code = bodies.encode_error_event(error)
        yield event
    finally:
        metrics.count_request("rest", STREAM, code, time.perf_counter() - started_s)


def answer_operation_error(error: OperationError) -> Response:
    body, media_type = bodies.encode_failure(error.message, request.headers)
    return Response(body, bodies.STATUSES[error.code], content_type=media_type)


def answer_http_error(error: HTTPException) -> Response:
    """Reply to requests that Flask rejects, and to internal errors, which Flask has logged."""
    message = INTERNAL_MESSAGE if error.code == 500 else error.description or error.name  # noqa: PLR2004
    body, media_type = bodies.encode_failure(message, request.headers)
    headers = {**dict(error.get_headers()), "Content-Type": media_type}
    return Response(body, error.code, headers)


def start_timer() -> None:
    g.started_s = time.perf_counter()


def count_request(response: Response) -> Response:
    """Count the request if it is of an operation, and not a stream that has just begun."""
    if request.endpoint and not response.is_streamed:
        code = CODES.get(response.status_code, "invalid_argument")
        metrics.count_request("rest", request.endpoint, code, time.perf_counter() - g.started_s)
    return response
