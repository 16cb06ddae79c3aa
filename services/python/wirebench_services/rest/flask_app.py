"""The REST service on Flask: gunicorn --config gunicorn.conf.py "wirebench_services.rest.flask_app:create_app()"."""

import atexit
import time
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

from flask import Flask, Response, g, request
from werkzeug.exceptions import HTTPException

from wirebench_services import metrics
from wirebench_services.application.errors import OperationError
from wirebench_services.application.ledger import stream_transactions
from wirebench_services.application.stores import open_store
from wirebench_services.operations import OPERATIONS
from wirebench_services.rest import bodies
from wirebench_services.settings import RestSettings, read_settings

app = Flask(__name__, static_folder=None)


def create_app() -> Flask:
    """Prepare the WSGI application of a worker; the settings are environment variables."""
    settings = read_settings(RestSettings)
    app.config["MAX_CONTENT_LENGTH"] = settings.body_bytes_max
    app.extensions["store"] = open_store(settings)
    atexit.register(app.extensions["store"].close)
    metrics.WORKERS.set(1)
    return app


# An endpoint is an operation: what it does stands in operations.py.
@app.get("/api/users", endpoint="users.list")
@app.get("/api/users/<id>", endpoint="users.get")
@app.delete("/api/users/<id>", endpoint="users.delete")
@app.get("/accounts/<account_id>/balance", endpoint="ledger.get_balance")
def answer_query(**path: str) -> Response:
    return answer(read_query(path))


@app.post("/api/users", endpoint="users.create")
@app.post("/api/users/batch", endpoint="users.create_batch")
@app.put("/api/users/<id>", endpoint="users.update")
@app.post("/echo", endpoint="echo.echo")
@app.post("/upper", endpoint="echo.upper")
def answer_body(**path: str) -> Response:
    return answer(bodies.parse_body(request.endpoint or "", request.headers, request.get_data(cache=False), path))


@app.get("/transactions/stream", endpoint="ledger.stream_transactions")
def stream() -> Response:
    query = OPERATIONS["ledger.stream_transactions"].handle(None, read_query({}))
    batches = stream_transactions(app.extensions["store"], query)
    return Response(generate_events(batches, g.started_s), headers=bodies.EVENT_HEADERS)


@app.get("/healthz")
def health() -> str:
    return "ok\n"


def read_query(path: Mapping[str, str]) -> dict[str, int]:
    # Parsing costs time, and most requests have no query.
    return bodies.parse_integers({**request.args, **path} if request.query_string else path)


def answer(fields: Mapping[str, Any]) -> Response:
    name = request.endpoint or ""
    value = OPERATIONS[name].handle(app.extensions["store"], fields)
    body, media_type = bodies.encode_success(name, value, request.headers)
    return Response(body, bodies.SUCCESSES.get(name, HTTPStatus.OK), content_type=media_type)


def generate_events(batches: Iterator[Any], started_s: float) -> Iterator[bytes]:
    """Yield the events of a stream; count it when it ends, or when gunicorn closes it because the client left."""
    code = "cancelled"
    try:
        for batch in batches:
            yield bodies.encode_events(batch)
        yield bodies.END_EVENT
        code = "ok"
    except OperationError as error:
        code = error.code
        yield bodies.encode_error_event(error)
    finally:
        metrics.count_request("rest", "ledger.stream_transactions", code, time.perf_counter() - started_s)


@app.errorhandler(OperationError)
def answer_operation_error(error: OperationError) -> Response:
    body, media_type = bodies.encode_failure(error.message, request.headers)
    return Response(body, bodies.STATUSES[error.code], content_type=media_type)


@app.errorhandler(HTTPException)
def answer_http_error(error: HTTPException) -> Response:
    """Reply to requests that Flask rejects, and to internal errors, which Flask has logged."""
    body, media_type = bodies.encode_failure(error.description or error.name, request.headers)
    headers = {**dict(error.get_headers()), "Content-Type": media_type}
    return Response(body, error.code, headers)


@app.before_request
def start_timer() -> None:
    g.started_s = time.perf_counter()


@app.after_request
def count_request(response: Response) -> Response:
    """Count the request, unless it is a probe, or a stream that has just begun."""
    if request.endpoint == "health" or (response.is_streamed and request.method != "HEAD"):
        return response
    operation, code = request.endpoint or metrics.UNKNOWN, bodies.CODES.get(response.status_code, "invalid_argument")
    metrics.count_request("rest", operation, code, time.perf_counter() - g.started_s)
    return response
