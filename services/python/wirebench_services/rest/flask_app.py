"""The REST service on Flask: gunicorn --config gunicorn.conf.py "wirebench_services.rest.flask_app:create_app()"."""

from __future__ import annotations

import atexit
import time
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

from flask import Blueprint, Flask, Response, current_app, g, request
from werkzeug.exceptions import BadRequest, HTTPException
from werkzeug.local import LocalProxy

from wirebench_services import metrics
from wirebench_services.application import echo, ledger, users
from wirebench_services.application.errors import OperationError
from wirebench_services.application.stores import Store, open_store
from wirebench_services.encoding import Value
from wirebench_services.rest import bodies
from wirebench_services.settings import RestSettings, read_settings

# `request.endpoint` is the operation: users.get, ledger.get_balance, …
users_api = Blueprint("users", __name__, url_prefix="/api/users")
ledger_api = Blueprint("ledger", __name__)
echo_api = Blueprint("echo", __name__)
store: Store = LocalProxy(lambda: current_app.extensions["store"])  # type: ignore[assignment]


def create_app() -> Flask:
    """Create the WSGI application of a worker; the settings are environment variables."""
    settings = read_settings(RestSettings)
    app = Flask(__name__, static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = settings.body_bytes_max
    app.extensions["store"] = open_store(settings)
    atexit.register(app.extensions["store"].close)
    for blueprint in (users_api, ledger_api, echo_api):
        app.register_blueprint(blueprint)
    app.add_url_rule("/healthz", "health", lambda: "ok\n")
    app.before_request(start_timer)
    app.after_request(count_request)
    app.register_error_handler(OperationError, answer_operation_error)
    app.register_error_handler(HTTPException, answer_http_error)
    metrics.WORKERS.set(1)
    return app


@users_api.get("", endpoint="list")
def list_users() -> Response:
    return reply(store.list_users(*users.parse_page(read_query())))


@users_api.post("")
def create() -> Response:
    return reply(store.add_user(users.parse_user(read_body())), HTTPStatus.CREATED)


@users_api.post("/batch")
def create_batch() -> Response:
    return reply(store.add_users(users.parse_batch(read_body())), HTTPStatus.CREATED)


@users_api.get("/<user_id>")
def get(user_id: str) -> Response:
    return reply(store.get_user(users.parse_id(read_query(id=user_id))))


@users_api.put("/<user_id>")
def update(user_id: str) -> Response:
    return reply(store.change_user(*users.parse_update(read_body(id=user_id))))


@users_api.delete("/<user_id>")
def delete(user_id: str) -> Response:
    return reply(store.remove_user(users.parse_id(read_query(id=user_id))))


@ledger_api.get("/accounts/<account_id>/balance")
def get_balance(account_id: str) -> Response:
    return reply(store.get_balance(ledger.parse_account_id(read_query(account_id=account_id))))


@ledger_api.get("/transactions/stream")
def stream_transactions() -> Response:
    list_page = current_app.extensions["store"].list_transactions
    batches = ledger.stream_transactions(list_page, ledger.parse_stream(read_query()))
    return Response(generate_events(batches, g.started_s), headers=bodies.EVENT_HEADERS)


@echo_api.post("/echo", endpoint="echo")
def echo_payload() -> Response:
    return reply(echo.echo(read_body()))


@echo_api.post("/upper")
def upper() -> Response:
    return reply(echo.upper(read_body()))


def read_query(**path: str) -> dict[str, int]:
    # Parsing costs time, and most requests have no query.
    return bodies.parse_integers({**request.args, **path} if request.query_string else path)


def read_body(**path: str) -> dict[str, Any]:
    body = request.get_data(cache=False)
    if len(body) < (request.content_length or 0):  # gunicorn hands on what came before the client left
        raise BadRequest("The request ended before its body did.")
    return bodies.parse_body(request.endpoint or "", request.headers, body, path)


def reply(value: Value, status: int = HTTPStatus.OK) -> Response:
    body, media_type = bodies.encode_success(request.endpoint or "", value, request.headers)
    return Response(body, status, content_type=media_type)


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


def answer_operation_error(error: OperationError) -> Response:
    body, media_type = bodies.encode_failure(error.message, request.headers)
    return Response(body, bodies.STATUSES[error.code], content_type=media_type)


def answer_http_error(error: HTTPException) -> Response:
    """Reply to requests that Flask rejects, and to internal errors, which Flask has logged."""
    body, media_type = bodies.encode_failure(error.description or error.name, request.headers)
    headers = {**dict(error.get_headers()), "Content-Type": media_type}
    return Response(body, error.code, headers)


def start_timer() -> None:
    g.started_s = time.perf_counter()


def count_request(response: Response) -> Response:
    """Count the request, unless it is a probe, or a stream that has just begun."""
    if request.endpoint == "health" or (response.is_streamed and request.method != "HEAD"):
        return response
    operation, code = request.endpoint or metrics.UNKNOWN, bodies.CODES.get(response.status_code, "invalid_argument")
    metrics.count_request("rest", operation, code, time.perf_counter() - g.started_s)
    return response
