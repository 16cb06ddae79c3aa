"""What only REST has: statuses, the envelope, paths, content negotiation, and invalid bodies."""

from __future__ import annotations

import contextlib
import json
import re
import socket
from pathlib import Path

import pytest
from wirebench_proto.users_pb2 import CreateUserRequest, CreateUserResponse, User

from tests.support.services import NET_HTTP, REST_KINDS, HttpReply, Service, exchange, started
from tests.support.waiting import TIMEOUT_S, run_program
from wirebench.system.paths import ROOT

JSON = {"Content-Type": "application/json"}
PROTOBUF = {"Content-Type": "application/x-protobuf"}
pytestmark = pytest.mark.parametrize("service", REST_KINDS, ids=str, indirect=True)


def said(response: HttpReply) -> tuple[int, object]:
    """Return status and envelope."""
    assert "application/json" == response.headers["content-type"]
    return response.status, json.loads(response.body)


def make_envelope(message: str) -> dict[str, object]:
    """Return the envelope of an error."""
    return {"success": False, "data": None, "message": message}


def is_failure(envelope: object) -> bool:
    """Return whether an envelope says that a request failed, and in some words why."""
    match envelope:
        case {"success": False, "data": None, "message": str(message)}:
            return bool(message)
    return False


def send(service: Service, method: str, path: str, value: object = None) -> tuple[int, object]:
    """Send JSON and return status and envelope."""
    body = None if value is None else json.dumps(value).encode()
    return said(service.request(method, path, body, JSON if body else {}))


def test_curl_prints_what_the_page_says(service: Service, tmp_path: Path) -> None:
    """Create, list, get, update, a duplicate, a missing field, delete, not found: each reply and its status."""
    calls = re.findall(r"(?m)^\$ (curl .+)\n(.+\n)", (ROOT / "docs/services.md").read_text("utf-8"))
    assert ["201", "200", "200", "200", "409", "400", "200", "404"] == [reply.split()[-1] for _, reply in calls]
    with started(service.kind, tmp_path) as fresh:
        for call, reply in calls:
            here = call.replace("127.0.0.1:5000", str(fresh.address))
            assert reply == run_program(["bash", "-c", here], check=True).stdout, call


def test_bytes_are_base64(service: Service) -> None:
    """JSON has no bytes: they are base64 text."""
    expected = {"success": True, "data": {"payload": "AAH/"}, "message": "Payload echoed successfully"}

    assert (200, expected) == send(service, "POST", "/echo", {"payload": "AAH/"})
    for wrong in ("AAH", "****", "AA H/", 7):
        assert (400, make_envelope("Field 'payload' must be base64 text.")) == send(
            service, "POST", "/echo", {"payload": wrong}
        )


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("id", "7", "Field 'id' must be an integer."),
        ("id", 7.0, "Field 'id' must be an integer."),
        ("id", True, "Field 'id' must be an integer."),
        ("id", 2**31, "Field 'id' must be between 1 and 2147483647."),
        ("name", 7, "Field 'name' must be a string."),
        ("email", ["a"], "Field 'email' must be a string."),
        ("phone", {}, "Field 'phone' must be a string."),
        ("address", [], "Field 'address' must be a string."),
        ("tags", "tag", "Field 'tags' must be a list of strings."),
        ("tags", [1], "Field 'tags' must be a list of strings."),
        ("avatar", 7, "Field 'avatar' must be base64 text."),
        ("nickname", "x", "Unknown fields: nickname."),
        ("NAME", "x", "Unknown fields: NAME."),
        ("\u017fame", "x", "Unknown fields: \u017fame."),
    ],
)
def test_wrong_types(service: Service, field: str, value: object, expected: str) -> None:
    """A value of the wrong type is rejected, by the name of its field."""
    user = {"id": 999_999, "name": "Ada", "email": "ada@example.com", field: value}

    assert (400, make_envelope(expected)) == send(service, "POST", "/api/users", user)


@pytest.mark.parametrize("body", [b"[]", b'"text"', b"7", b"null"])
def test_bodies_that_are_no_object(service: Service, body: bytes) -> None:
    """JSON that is no object is rejected."""
    expected = (400, make_envelope("The body must be a JSON object."))

    assert expected == said(service.request("POST", "/api/users", body, JSON))


@pytest.mark.parametrize(
    "body",
    [b"{", b'{"id": 1', b'{"name": "\xff\xfe"}', b'{"name": "\\ud800"}', b'{"id": NaN}', b"\x00", b"[" * 100_000],
    ids=["brace", "cut", "utf8", "surrogate", "nan", "nul", "deep"],
)
def test_bodies_that_are_no_json(service: Service, body: bytes) -> None:
    """What isn't JSON, or isn't UTF-8, is rejected as such."""
    status, envelope = said(service.request("POST", "/api/users", body, JSON))

    assert 400 == status
    assert isinstance(envelope, dict)
    assert envelope["message"].startswith("The body is not valid JSON: ")


def test_the_path_decides_whose_user_is_changed(service: Service) -> None:
    """Another id in the body or the query is a contradiction, and rejected; a query beside a body isn't read."""
    expected = (400, make_envelope("Field 'id' must be the one of the path."))

    assert expected == send(service, "GET", "/api/users/1000001?id=1000002")
    assert 200 == send(service, "GET", "/api/users/1000001?id=1000001")[0]
    assert 200 == send(service, "POST", "/upper?text=%zz", {"text": "a"})[0]
    assert expected == send(service, "PUT", "/api/users/1000001", {"id": 1_000_002, "name": "x"})
    status, _ = send(service, "PUT", "/api/users/1000001", {"id": 1_000_001, "name": "User 1000001"})
    assert 200 == status


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("limit=x", "Field 'limit' must be an integer."),
        ("limit=", "Field 'limit' must be an integer."),
        ("limit=-1", "Field 'limit' must be between 0 and 1000000."),
        ("page=2", "Unknown fields: page."),
        ("limit=-1&limit=1", "Field 'limit' must be between 0 and 1000000."),
    ],
)
def test_queries(service: Service, query: str, expected: str) -> None:
    """Parameters of the query are validated like fields of a body."""
    assert (400, make_envelope(expected)) == send(service, "GET", f"/api/users?{query}")


@pytest.mark.parametrize("query", ["limit=%zz", "limit=1;x=2"])
def test_queries_that_are_none(service: Service, query: str) -> None:
    """They are rejected, and not read as no query."""
    assert 400 == send(service, "GET", f"/api/users?{query}")[0]


@pytest.mark.parametrize("body", [b"zz\r\n{}\r\n0\r\n\r\n", b"2\r\n{}XX0\r\n\r\n", b"-1\r\n{}\r\n0\r\n\r\n"])
def test_malformed_chunks(service: Service, body: bytes) -> None:
    """A body in chunks that can't be read is the client's mistake."""
    head = b"POST /upper HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"

    assert exchange(service.address, head + body).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/nope", 404),
        ("GET", "/api/users/7/name", 404),
        ("DELETE", "/api/users", 405),
        ("PATCH", "/api/users/7", 405),
    ],
)
def test_what_is_no_operation(service: Service, method: str, path: str, expected: int) -> None:
    """An unknown path is 404 and another method 405, in the framework's words; net/http's are plain text."""
    response = service.request(method, path)

    assert expected == response.status
    assert method not in response.headers.get("allow", "").split(", ")
    if service.kind != NET_HTTP:
        assert is_failure(json.loads(response.body))


def test_protobuf_both_ways(service: Service, user_id: int) -> None:
    """A client that sends protobuf gets protobuf, with the envelope in its message, also when it is rejected."""
    user = User(id=user_id, name="Ada", email="ada@example.com", tags=["x"], avatar=b"\x00\xff")
    request = CreateUserRequest(user=user).SerializeToString()

    created = service.request("POST", "/api/users", request, PROTOBUF)
    again = service.request("POST", "/api/users", request, PROTOBUF)

    assert (201, "application/x-protobuf") == (created.status, created.headers["content-type"])
    expected = CreateUserResponse(success=True, message="User created successfully", data=user)
    assert expected == CreateUserResponse.FromString(created.body)
    assert (409, "application/x-protobuf") == (again.status, again.headers["content-type"])
    expected = CreateUserResponse(success=False, message=f"User with id {user_id} already exists.")
    assert expected == CreateUserResponse.FromString(again.body)


def test_a_client_that_hangs_up_in_a_body(service: Service) -> None:
    """Half a body isn't carried out, and affects no other client."""
    with socket.create_connection(service.address) as connection:
        # It is whole JSON, though not all that was promised.
        body = b'{"id": 999998, "name": "Ada", "email": "ada@example.com"}'
        head = b"POST /api/users HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"
        connection.sendall(head + body)
        connection.shutdown(socket.SHUT_WR)
        connection.settimeout(TIMEOUT_S)
        with contextlib.suppress(ConnectionError):
            while connection.recv(4096):  # a server may reply, and may not
                pass

    assert 404 == service.request("GET", "/api/users/999998").status
