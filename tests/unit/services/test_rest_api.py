"""One REST request, from its parts to the parts of its reply, without a server."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import cast

import pytest
from wirebench_proto.users_pb2 import GetUserResponse

from services.domain.application import Application
from services.domain.errors import Code
from services.domain.stores.memory import MemoryStore
from services.domain.users import User
from services.platform import settings as settings_module
from services.platform.lifecycle import Worker
from services.platform.metrics import Recorder
from services.rest.api import ENDPOINTS, STATUSES, Api, Reply, Request
from services.rest.main import DEFAULTS
from services.rest.negotiation import JSON, PROTOBUF

PATHS = {endpoint.path: endpoint for endpoint in ENDPOINTS}


@dataclass
class Counts:
    """Stands in for the recorder."""

    in_flight: int = 0
    finished_as: list[tuple[str, str, int, int]] = field(default_factory=list)

    def started(self) -> float:
        """Count a request."""
        self.in_flight += 1
        return time.perf_counter()

    def finished(self, operation: str, code: str, duration_s: float, request_bytes: int, response_bytes: int) -> None:
        """Note how a request has ended."""
        assert duration_s >= 0
        self.in_flight -= 1
        self.finished_as.append((operation, code, request_bytes, response_bytes))


@pytest.fixture
def counts() -> Counts:
    """Return a recorder that remembers."""
    return Counts()


@pytest.fixture
def api(counts: Counts) -> Api:
    """Return an API over a store with one user, which takes bodies of 1024 bytes."""
    settings = settings_module.parse(DEFAULTS, ["--body-bytes-max", "1024"], {})
    store = MemoryStore([User(7, "Ada", "ada@example.com")])
    return Api(Worker(0, settings, Application.over(store), store, cast(Recorder, counts), lambda: None))


def ask(  # noqa: PLR0913 - the parts of a request
    api: Api,
    method: str,
    path: str,
    body: bytes = b"",
    *,
    content_type: str = "",
    accept: str = "",
) -> Reply:
    """Answer a request to a path of the table, which may have a user's id or a query."""
    path, _, query = path.partition("?")
    template = path if path in PATHS else "/api/users/{id}"
    values = {} if path in PATHS else {"id": path.rpartition("/")[2]}
    reply = api.answer(PATHS[template], Request(method, values, query, content_type, accept, body))
    assert isinstance(reply, Reply)
    return reply


def said(reply: Reply) -> tuple[int, str]:
    """Return the status and the message of a failure."""
    envelope = json.loads(reply.body)
    assert (False, None) == (envelope["success"], envelope["data"])
    return reply.status, envelope["message"]


def test_success(api: Api, counts: Counts) -> None:
    """A reply is the envelope, and the request is counted with its sizes."""
    reply = ask(api, "GET", "/api/users/7")
    expected = {
        "success": True,
        "data": {"id": 7, "name": "Ada", "email": "ada@example.com"},
        "message": "User retrieved successfully",
    }

    assert (200, JSON, "") == (reply.status, reply.content_type, reply.allow)
    assert expected == json.loads(reply.body)
    assert [("users.get", "ok", 0, len(reply.body))] == counts.finished_as
    assert 0 == counts.in_flight


def test_creating_has_its_own_status(api: Api) -> None:
    """201 says that there is something new."""
    assert 201 == ask(api, "POST", "/api/users", b'{"id": 8, "name": "x", "email": "y"}').status
    batch = b'{"users": [{"id": 9, "name": "x", "email": "y"}]}'
    assert 201 == ask(api, "POST", "/api/users/batch", batch).status


def test_protobuf_needs_no_body_to_name_the_user(api: Api) -> None:
    """An empty message has id 0, which is no contradiction to the path."""
    reply = ask(api, "GET", "/api/users/7", content_type=PROTOBUF)

    assert (200, PROTOBUF) == (reply.status, reply.content_type)
    assert "Ada" == GetUserResponse.FromString(reply.body).data.name


def test_failures_are_in_the_encoding_that_is_asked_for(api: Api) -> None:
    """A client that reads protobuf can read what went wrong."""
    reply = ask(api, "GET", "/api/users/8", accept=PROTOBUF)
    message = GetUserResponse.FromString(reply.body)

    assert (404, PROTOBUF) == (reply.status, reply.content_type)
    assert (False, "User not found.") == (message.success, message.message)


@pytest.mark.parametrize(
    ("request_line", "body", "status", "message", "counted_as"),
    [
        ("GET /api/users/abc", b"", 400, "Field 'id' must be an integer.", "users.get invalid_argument"),
        ("GET /api/users?limit=x", b"", 400, "Field 'limit' must be an integer.", "users.list invalid_argument"),
        ("GET /api/users?x=1", b"", 400, "Unknown fields: x.", "users.list invalid_argument"),
        ("GET /api/users/8", b"", 404, "User not found.", "users.get not_found"),
        (
            "PUT /api/users/7",
            b'{"id": 8}',
            400,
            "Field 'id' must be the one of the path.",
            "users.update invalid_argument",
        ),
        (
            "POST /api/users",
            b'{"id": 7, "name": "x", "email": "y"}',
            409,
            "User with id 7 already exists.",
            "users.create already_exists",
        ),
        ("POST /upper", b"x" * 1025, 413, "The body is longer than 1024 bytes.", "echo.upper resource_exhausted"),
    ],
)
def test_failures(  # noqa: PLR0913, PLR0917 - the columns of the table
    api: Api, counts: Counts, request_line: str, body: bytes, status: int, message: str, counted_as: str
) -> None:
    """Each failure has its status, its words, and its code in the metrics."""
    method, path = request_line.split()
    reply = ask(api, method, path, body)
    operation, code = counted_as.split()

    assert (status, message) == said(reply)
    assert [(operation, code, len(body), len(reply.body))] == counts.finished_as
    assert 0 == counts.in_flight


def test_a_body_of_another_type(api: Api) -> None:
    """The reply names the types that can be read."""
    reply = ask(api, "POST", "/upper", b"text=a", content_type="application/x-www-form-urlencoded")

    assert (415, "Content-Type must be application/json or application/x-protobuf.") == said(reply)


def test_a_method_that_is_not_there(api: Api, counts: Counts) -> None:
    """The reply says which methods are."""
    reply = ask(api, "PATCH", "/api/users/7")

    assert (405, "Method PATCH is not allowed for /api/users/{id}.") == said(reply)
    assert "DELETE, GET, HEAD, PUT" == reply.allow
    assert [("unknown", "unimplemented", 0, len(reply.body))] == counts.finished_as


@pytest.mark.parametrize("method", ["FOO", "PROPFIND"])
def test_a_method_that_http_does_not_know(api: Api, counts: Counts, method: str) -> None:
    """Servers that can't read it call the request malformed, and so does this, on every path."""
    replies = ask(api, method, "/api/users/7"), api.answer_unknown(Request(method, {}, "", "", "", b""), "/x")

    assert [(400, "Malformed HTTP request.")] * 2 == [said(reply) for reply in replies]
    assert ["unknown"] * 2 == [operation for operation, *_ in counts.finished_as]


def test_a_path_that_is_not_there(api: Api, counts: Counts) -> None:
    """Unknown paths are counted as one operation, however many there are."""
    reply = api.answer_unknown(Request("GET", {}, "", "", "", b""), "/x")

    assert (404, "No such endpoint: GET /x.") == said(reply)
    assert [("unknown", "not_found", 0, len(reply.body))] == counts.finished_as


def test_every_failure_has_a_status() -> None:
    """No code of the domain is left without one, but for that of a client which has gone and gets no reply."""
    assert set(Code) - {Code.OK, Code.CANCELLED} == set(STATUSES)
