"""What only REST has: statuses, the envelope, paths, content negotiation, and bodies that are none."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from wirebench_proto.echo_pb2 import EchoRequest, EchoResponse
from wirebench_proto.users_pb2 import CreateUserRequest, CreateUserResponse, GetUserResponse, User

from tests.contract.services import GUNICORN_SYNC, REST_KINDS, Service, exchange, receive_all, started
from wirebench.clients import RestClient, connect
from wirebench.clients.rest import Response

JSON = {"Content-Type": "application/json"}
PROTOBUF = {"Content-Type": "application/x-protobuf"}
BODY_BYTES_MAX = 4 * 1024 * 1024
HEAD_BYTES_MAX = 64 * 1024

pytestmark = pytest.mark.parametrize("service", REST_KINDS, ids=str, indirect=True)


def said(response: Response) -> tuple[int, object]:
    """Return status and envelope."""
    assert "application/json" == response.headers["content-type"]
    return response.status, json.loads(response.body)


def refusal(message: str) -> dict[str, object]:
    """Return the envelope of a refusal."""
    return {"success": False, "data": None, "message": message}


def send(client: RestClient, method: str, path: str, value: object = None) -> tuple[int, object]:
    """Send JSON and return status and envelope."""
    body = None if value is None else json.dumps(value).encode()
    return said(client.request(method, path, body, JSON if body else {}))


def test_a_users_life(client: RestClient, user_id: int) -> None:
    """Every reply is the envelope, with the statuses and messages of the contract."""
    user = {"id": user_id, "name": "Ada", "email": "ada@example.com"}
    path = f"/api/users/{user_id}"

    def ok(verb: str, data: object) -> dict[str, object]:
        return {"success": True, "data": data, "message": f"User {verb} successfully"}

    assert (201, ok("created", user)) == send(client, "POST", "/api/users", user)
    assert (409, refusal(f"User with id {user_id} already exists.")) == send(client, "POST", "/api/users", user)
    assert (200, ok("retrieved", user)) == send(client, "GET", path)
    changed = {**user, "email": "new@example.com"}
    assert (200, ok("updated", changed)) == send(client, "PUT", path, {"email": "new@example.com"})
    assert (200, ok("deleted", changed)) == send(client, "DELETE", path)
    assert (404, refusal("User not found.")) == send(client, "GET", path)


def test_the_examples_of_the_contract(client: RestClient) -> None:
    """Missing fields are named, and user 999 isn't there."""
    assert (400, refusal("Missing required fields: id, email.")) == send(client, "POST", "/api/users", {"name": "x"})
    assert (404, refusal("User not found.")) == send(client, "GET", "/api/users/999999")


def test_lists_and_batches(client: RestClient, user_id: int) -> None:
    """Lists take their page from the query; a batch is an object with its users."""
    users = [{"id": user_id, "name": "Ada", "email": "ada@example.com"}]

    created = {"success": True, "data": users, "message": "Users created successfully"}
    assert (201, created) == send(client, "POST", "/api/users/batch", {"users": users})
    listed = {"success": True, "data": users, "message": "Users retrieved successfully"}
    assert (200, listed) == send(client, "GET", f"/api/users?limit=1&after_id={user_id - 1}")


def test_bytes_are_base64(client: RestClient) -> None:
    """JSON has no bytes: they are base64 text."""
    expected = {"success": True, "data": {"payload": "AAH/"}, "message": "Payload echoed successfully"}

    assert (200, expected) == send(client, "POST", "/echo", {"payload": "AAH/"})
    for wrong in ("AAH", "****", "AA H/", 7):
        assert (400, refusal("Field 'payload' must be base64 text.")) == send(
            client, "POST", "/echo", {"payload": wrong}
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
        ("tags", "tag", "Field 'tags' must be a list of strings."),
        ("tags", [1], "Field 'tags' must be a list of strings."),
        ("avatar", 7, "Field 'avatar' must be base64 text."),
        ("nickname", "x", "Unknown fields: nickname."),
    ],
)
def test_wrong_types(client: RestClient, field: str, value: object, expected: str) -> None:
    """A value of the wrong type is refused, by the name of its field."""
    user = {"id": 999_999, "name": "Ada", "email": "ada@example.com", field: value}

    assert (400, refusal(expected)) == send(client, "POST", "/api/users", user)


@pytest.mark.parametrize("body", [b"[]", b'"text"', b"7", b"null"])
def test_bodies_that_are_no_object(client: RestClient, body: bytes) -> None:
    """JSON that is no object is refused."""
    expected = (400, refusal("The body must be a JSON object."))

    assert expected == said(client.request("POST", "/api/users", body, JSON))


@pytest.mark.parametrize(
    "body",
    [b"{", b'{"id": 1', b'{"name": "\xff\xfe"}', b'{"id": NaN}', b"\x00", b"[" * 100_000],
    ids=["brace", "cut", "utf8", "nan", "nul", "deep"],
)
def test_bodies_that_are_no_json(client: RestClient, body: bytes) -> None:
    """What isn't JSON, or isn't UTF-8, is refused as such."""
    status, envelope = said(client.request("POST", "/api/users", body, JSON))

    assert 400 == status
    assert isinstance(envelope, dict)
    assert envelope["message"].startswith("The body is not valid JSON: ")


@pytest.mark.parametrize("given", ["abc", "1.0", "0x7", " ", "99999999999999999999999", "٣"])
def test_path_ids_that_are_none(client: RestClient, given: str) -> None:
    """An id in a path has to be an integer."""
    expected = (400, refusal("Field 'id' must be an integer."))

    assert expected == send(client, "GET", f"/api/users/{quote(given)}")


@pytest.mark.parametrize("given", ["0", "-1", "2147483648", "-99999999999"])
def test_path_ids_out_of_range(client: RestClient, given: str) -> None:
    """An id in a path has to be an int32 over 0."""
    expected = (400, refusal("Field 'id' must be between 1 and 2147483647."))

    assert expected == send(client, "GET", f"/api/users/{given}")


def test_the_path_decides_whose_user_is_changed(client: RestClient) -> None:
    """Another id in the body is a contradiction, and refused."""
    expected = (400, refusal("Field 'id' must be the one of the path."))

    assert expected == send(client, "PUT", "/api/users/1000001", {"id": 1_000_002, "name": "x"})
    status, _ = send(client, "PUT", "/api/users/1000001", {"id": 1_000_001, "name": "User 1000001"})
    assert 200 == status


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("limit=x", "Field 'limit' must be an integer."),
        ("limit=", "Field 'limit' must be an integer."),
        ("limit=-1", "Field 'limit' must be between 0 and 1000000."),
        ("page=2", "Unknown fields: page."),
    ],
)
def test_queries(client: RestClient, query: str, expected: str) -> None:
    """Parameters of the query are validated like fields of a body."""
    assert (400, refusal(expected)) == send(client, "GET", f"/api/users?{query}")


@pytest.mark.parametrize(
    "path", ["/", "/nope", "/api/users/", "/api/users/7/name", "//api/users", "/API/users", "/livez"]
)
def test_unknown_paths(client: RestClient, path: str) -> None:
    """A path that isn't there is named, in the envelope."""
    assert (404, refusal(f"No such endpoint: GET {path}.")) == send(client, "GET", path)


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/api/users", {"GET", "HEAD", "POST"}),
        ("PATCH", "/api/users/7", {"GET", "HEAD", "PUT", "DELETE"}),
        ("POST", "/api/users/7", {"GET", "HEAD", "PUT", "DELETE"}),
        ("PUT", "/api/users/batch", {"POST"}),
        ("GET", "/echo", {"POST"}),
    ],
)
def test_methods_that_are_not_allowed(client: RestClient, method: str, path: str, allowed: set[str]) -> None:
    """405 says which methods there are."""
    response = client.request(method, path, b"{}", JSON)

    status, envelope = said(response)
    assert 405 == status
    assert isinstance(envelope, dict)
    assert f"Method {method} is not allowed for " in envelope["message"]
    assert allowed <= set(response.headers["allow"].split(", "))


@pytest.mark.parametrize("method", ["FOO", "PROPFIND", "get"])
@pytest.mark.parametrize("path", ["/api/users", "/nope"])
def test_methods_that_http_does_not_know(service: Service, method: str, path: str) -> None:
    """A request with a method that nobody has defined is malformed, on every runtime."""
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

    received = exchange(service.address, head.encode(), half_close=False)

    assert received.startswith(b"HTTP/1.1 400 ")
    assert refusal("Malformed HTTP request.") == json.loads(received.partition(b"\r\n\r\n")[2])


def with_head_of(size: int, *, in_line: bool) -> bytes:
    """Return a request whose first line and headers are so many bytes."""
    start = b"GET /api/users/1000001%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s\r\n"
    name, end = (b"?x=", b"") if in_line else (b"X: ", b"\r\n")
    filling = name + b"a" * (size - len(start % (name, end))) + end
    return start % ((filling, b"") if in_line else (b"", filling))


@pytest.mark.parametrize(
    ("size", "in_line", "status"),
    [
        (HEAD_BYTES_MAX, False, 200),
        (HEAD_BYTES_MAX, True, 400),  # the parameter isn't known
        (HEAD_BYTES_MAX + 1, False, 431),
        (HEAD_BYTES_MAX + 1, True, 431),
        (70_000, False, 431),
    ],
)
@pytest.mark.parametrize("piece", [1_000_000, 10_000])
def test_heads_at_the_limit(service: Service, size: int, in_line: bool, status: int, piece: int) -> None:  # noqa: FBT001
    """First line and headers are read up to a limit, the same on every runtime, however they arrive."""
    head = with_head_of(size, in_line=in_line)
    assert size == len(head)

    received = exchange(
        service.address, *(head[start : start + piece] for start in range(0, size, piece)), half_close=False
    )

    assert received.startswith(b"HTTP/1.1 %d " % status)
    if status == 431:
        expected = refusal(f"The request's head is longer than {HEAD_BYTES_MAX} bytes.")
        assert expected == json.loads(received.partition(b"\r\n\r\n")[2])


def test_many_headers(service: Service) -> None:
    """Their number makes no difference."""
    headers = b"".join(b"X-%d: a\r\n" % number for number in range(1000))
    head = b"GET /api/users/1000001 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + headers + b"\r\n"

    assert exchange(service.address, head, half_close=False).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("count", [10, 3000])
def test_pipelining(service: Service, count: int) -> None:
    """Requests may follow each other; together they may be longer than one head, on runtimes that keep connections."""
    if service.kind == GUNICORN_SYNC:
        pytest.skip("closes after each reply")
    request = b"GET /api/users/1000001 HTTP/1.1\r\nHost: x\r\n\r\n"
    last = b"GET /api/users/1000001 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

    received = exchange(service.address, request * (count - 1) + last, half_close=False)

    assert count == received.count(b"HTTP/1.1 200 ")


def test_long_bodies_behind_a_request(service: Service) -> None:
    """A body isn't part of any head, nor is what comes before one."""
    if service.kind == GUNICORN_SYNC:
        pytest.skip("closes after each reply")
    body = json.dumps({"text": "a" * 300_000}).encode()
    request = b"POST /upper HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n%s\r\n%s"

    received = exchange(
        service.address, request % (len(body), b"", body), request % (len(body), b"Connection: close\r\n", body),
        half_close=False,
    )  # fmt: skip

    assert 2 == received.count(b"HTTP/1.1 200 ")


def test_head(client: RestClient) -> None:
    """HEAD is GET without the body."""
    response = client.request("HEAD", "/api/users/1000001")

    assert (200, b"") == (response.status, response.body)
    assert int(response.headers["content-length"]) > 0


@pytest.mark.parametrize("content_type", ["text/plain", "application/xml", "multipart/form-data; boundary=x"])
def test_media_types_that_are_not_read(client: RestClient, content_type: str) -> None:
    """A body in another encoding is refused unread."""
    response = client.request("POST", "/api/users", b"{}", {"Content-Type": content_type})

    expected = refusal("Content-Type must be application/json or application/x-protobuf.")
    assert (415, expected) == said(response)


@pytest.mark.parametrize("content_type", ["application/json", "application/json; charset=utf-8", "Application/JSON"])
def test_media_types_that_are_json(client: RestClient, content_type: str) -> None:
    """Case and parameters of a media type make no difference."""
    response = client.request("POST", "/upper", b'{"text": "a"}', {"Content-Type": content_type})

    assert 200 == response.status


def test_json_is_the_default(client: RestClient) -> None:
    """A body without Content-Type is JSON."""
    assert 200 == client.request("POST", "/upper", b'{"text": "a"}').status


def test_protobuf_both_ways(client: RestClient, user_id: int) -> None:
    """A client that sends protobuf gets protobuf, with the envelope in its message, also when it is refused."""
    user = User(id=user_id, name="Ada", email="ada@example.com", tags=["x"], avatar=b"\x00\xff")
    request = CreateUserRequest(user=user).SerializeToString()

    created = client.request("POST", "/api/users", request, PROTOBUF)
    again = client.request("POST", "/api/users", request, PROTOBUF)

    assert (201, "application/x-protobuf") == (created.status, created.headers["content-type"])
    expected = CreateUserResponse(success=True, message="User created successfully", data=user)
    assert expected == CreateUserResponse.FromString(created.body)
    assert (409, "application/x-protobuf") == (again.status, again.headers["content-type"])
    expected = CreateUserResponse(success=False, message=f"User with id {user_id} already exists.")
    assert expected == CreateUserResponse.FromString(again.body)


def test_protobuf_one_way(client: RestClient) -> None:
    """What is sent and what is accepted may differ."""
    got = client.request("GET", "/api/users/1000001", None, {"Accept": "application/x-protobuf"})
    echoed = client.request(
        "POST", "/echo", EchoRequest(payload=b"\xff").SerializeToString(), {**PROTOBUF, "Accept": "application/json"}
    )
    back = client.request("POST", "/echo", b'{"payload": "/w=="}', {**JSON, "Accept": "application/x-protobuf"})

    assert "User 1000001" == GetUserResponse.FromString(got.body).data.name
    assert "/w==" == json.loads(echoed.body)["data"]["payload"]
    assert b"\xff" == EchoResponse.FromString(back.body).data.payload


def test_protobuf_that_is_none(client: RestClient) -> None:
    """Bytes that are no message of the operation are refused, in its words."""
    response = client.request("POST", "/echo", b"\xff\xff", {**PROTOBUF, "Accept": "application/json"})

    assert (400, refusal("The body is not a valid EchoRequest.")) == said(response)


def test_bodies_at_the_limit(client: RestClient) -> None:
    """A body of exactly the limit is read; one byte more is refused, and the next request is answered."""
    head, tail = b'{"text": "', b'"}'
    fits = head + b"a" * (BODY_BYTES_MAX - len(head) - len(tail)) + tail

    assert 200 == client.request("POST", "/upper", fits, JSON).status
    expected = refusal(f"The body is longer than {BODY_BYTES_MAX} bytes.")
    assert (413, expected) == said(client.request("POST", "/upper", fits + b" ", JSON))
    assert 200 == client.request("GET", "/api/users/1000001").status


def test_chunked_bodies(service: Service) -> None:
    """A body without a length, in chunks, is read like another."""
    head = b"POST /upper HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"

    received = exchange(service.address, head, b'8\r\n{"text":\r\n', b'4\r\n"a"}\r\n', b"0\r\n\r\n", half_close=False)

    assert received.startswith(b"HTTP/1.1 200 ")
    assert b'"data":{"text":"A"}' in received


@pytest.mark.parametrize(
    "garbage", [b"\x00\x01\x02\x03\r\n\r\n", b"GET\r\n\r\n", b"WB1J\r\n\r\n", b"\x16\x03\x01\x00\xa5\r\n\r\n"]
)
def test_garbage(service: Service, client: RestClient, garbage: bytes) -> None:
    """What is no HTTP is refused with 400, in the envelope, and harms nobody else."""
    received = exchange(service.address, garbage)

    assert received.startswith(b"HTTP/1.1 400 ")
    assert refusal("Malformed HTTP request.") == json.loads(received.partition(b"\r\n\r\n")[2])
    assert 200 == client.request("GET", "/api/users/1000001").status


def test_a_client_that_hangs_up_in_a_body(service: Service, client: RestClient) -> None:
    """Half a body is carried out by nobody, and harms nobody else."""
    with socket.create_connection(service.address) as connection:
        connection.sendall(b'POST /api/users HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"id": 999998')

    assert 404 == client.request("GET", "/api/users/999998").status


@pytest.fixture(scope="module")
def impatient(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Return a service of the same kind that waits for no slow client for long."""
    folder: Path = tmp_path_factory.mktemp("impatient")
    with started(service.kind, folder, "--read-timeout-s", 1, "--threads", 1) as running:
        yield running


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (b"", b""),
        (b"POST /upper HT", b"HTTP/1.1 408 "),
        (b"POST /upper HTTP/1.1\r\nHost: x\r\nContent-Le", b"HTTP/1.1 408 "),
        (b'POST /upper HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"te', b"HTTP/1.1 408 "),
    ],
    ids=["nothing", "line", "headers", "body"],
)
def test_slow_clients_are_given_up(impatient: Service, sent: bytes, expected: bytes) -> None:
    """A client that stops half-way is told so after the time-out; one that sent nothing is closed."""
    before = time.monotonic()

    received = exchange(impatient.address, sent, half_close=False)

    assert received.startswith(expected)
    assert 0.5 < time.monotonic() - before < 10


def test_a_slow_client_keeps_nobody_waiting_for_long(impatient: Service) -> None:
    """With one thread only, another client gets its answer at the latest when the slow one is given up."""
    with socket.create_connection(impatient.address) as slow:
        slow.sendall(b"POST /upper HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        with impatient.connect() as client:
            assert client.call("users.get", {"id": 1_000_001}).ok
        assert receive_all(slow).startswith(b"HTTP/1.1 408 ")


def test_our_client_speaks_protobuf_as_it_speaks_json(service: Service, user_id: int) -> None:
    """The same calls get the same replies in both codecs, failures too."""
    user = {"id": user_id, "name": "Ada", "email": "ada@example.com", "avatar": b"\x00\xff"}
    calls: list[tuple[str, dict[str, object]]] = [
        ("users.create", {"user": user}),
        ("users.create", {"user": user}),
        ("users.update", {"id": user_id, "bio": "b"}),
        ("users.list", {"after_id": user_id - 1, "limit": 1}),
        ("users.list", {"limit": -1}),
        ("users.create_batch", {"users": [user]}),
        ("users.delete", {"id": user_id}),
        ("users.get", {"id": user_id}),
    ]
    address = str(service.address)
    with (
        contextlib.closing(connect("rest", address)) as json_client,
        contextlib.closing(connect("rest", address, codec="protobuf")) as protobuf_client,
    ):
        assert [json_client.call(*each) for each in calls] == [protobuf_client.call(*each) for each in calls]
