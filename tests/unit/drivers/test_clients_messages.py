"""Addresses, and the way between fields, JSON and protobuf."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from wirebench_proto.users_pb2 import CreateUserRequest, GetUserResponse, ListUsersResponse, UpdateUserRequest, User

from wirebench.drivers.clients import ClientError, connect
from wirebench.drivers.clients.messages import convert_json, encode_json, find_operation
from wirebench.errors import UsageError
from wirebench.model.address import Address, parse_address
from wirebench.system.tls import ClientTls, choose_tls, split_scheme

FULL: dict[str, Any] = {
    "id": 7,
    "name": "Žofie",
    "email": "z@example.com",
    "phone": "",
    "tags": ["a", "b"],
    "avatar": b"\x00\xff",
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("127.0.0.1:9000", Address("127.0.0.1", 9000)),
        ("staging.example.com:1", Address("staging.example.com", 1)),
        ("[::1]:65535", Address("::1", 65_535)),
    ],
)
def test_addresses(text: str, expected: Address) -> None:
    """Host and port; they are shown as they are written."""
    assert expected == parse_address(text)
    assert text == str(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://127.0.0.1:5000/", ("http", "127.0.0.1:5000")),
        ("https://127.0.0.1:5000", ("https", "127.0.0.1:5000")),
        ("tls://[::1]:9000", ("tls", "[::1]:9000")),
        ("127.0.0.1:5000", ("", "127.0.0.1:5000")),
        ("ftp://127.0.0.1:5000", ("", "ftp://127.0.0.1:5000")),
    ],
)
def test_schemes(text: str, expected: tuple[str, str]) -> None:
    """A URL is taken as well as a bare address; what isn't known stays, to be rejected as no address."""
    assert expected == split_scheme(text)


def test_who_speaks_tls() -> None:
    """The address decides and, where it says nothing, whether there is anything for TLS."""
    given = ClientTls(authority=Path("ca.crt"))

    assert [None, given] == [choose_tls(scheme, given) for scheme in ("http", "https")]
    assert [given, None] == [choose_tls("", given), choose_tls("", None)]
    assert ClientTls() == choose_tls("tls", None)


@pytest.mark.parametrize("transport", ["rest", "grpc", "socket"])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "host",
        "host:",
        ":1",
        "host:0",
        "host:65536",
        "host:-1",
        "host:1x",
        "::1:9000",
        "a b:1",
        "host:1/path",
        "https://host",
        "ftp://host:1",
    ],
)
def test_addresses_that_are_none(transport: str, text: str) -> None:
    """What isn't an address is rejected before anything is connected, and the next step shows one."""
    with pytest.raises(UsageError, match="is not an address") as caught:
        connect(transport, text)

    assert "127.0.0.1:9000" in caught.value.hint


def test_unknown_transports_and_operations() -> None:
    """What the contract doesn't have is named, with what it has."""
    with pytest.raises(ClientError, match="no transport 'smtp'"):
        connect("smtp", "127.0.0.1:25")
    with pytest.raises(ClientError, match=r"no operation 'users\.drop'") as caught:
        find_operation("users.drop")

    assert "users.create_batch" in caught.value.hint


def test_json_and_back() -> None:
    """JSON carries bytes as base64, and they come back as bytes."""
    encoded = orjson.loads(encode_json(FULL))

    assert {**FULL, "avatar": "AP8="} == encoded
    assert FULL == convert_json(encoded)
    assert [FULL] == convert_json([encoded])


def test_protobuf_and_back() -> None:
    """A message carries the fields that are set and no others; an empty optional one is set."""
    create, get = find_operation("users.create"), find_operation("users.get")
    request = CreateUserRequest.FromString(create.encode({"user": FULL}))
    response = GetUserResponse(success=True, message="ok", data=request.user)

    assert User(**FULL) == request.user
    assert ("ok", FULL) == get.decode(response.SerializeToString())


def test_updates_know_what_was_given() -> None:
    """An empty field that is given isn't one that is left out."""
    request = UpdateUserRequest.FromString(find_operation("users.update").encode({"id": 7, "phone": ""}))

    assert (True, False) == (request.HasField("phone"), request.HasField("bio"))


def test_an_empty_list_is_a_list() -> None:
    """No users is an empty list, not nothing."""
    response = ListUsersResponse(success=True, message="ok")

    assert ("ok", []) == find_operation("users.list").decode(response.SerializeToString())


@pytest.mark.parametrize("fields", [{"id": "x"}, {"id": 2**31}, {"id": 1.5}, {"nope": 1}])
def test_what_protobuf_can_not_say(fields: dict[str, object]) -> None:
    """Fields that no message can carry are the caller's mistake, and said so."""
    with pytest.raises(ClientError, match=r"can't be encoded as protobuf GetUserRequest: .+"):
        find_operation("users.get").encode(fields)


def test_what_json_can_not_say() -> None:
    """So are values that JSON doesn't have."""
    with pytest.raises(ClientError, match="can't be encoded as JSON"):
        encode_json({"name": "\ud800"})


@pytest.mark.parametrize("body", [b"\xff", b"\x0a\x05abc"])
def test_messages_that_are_none(body: bytes) -> None:
    """Bytes that are no message are no reply."""
    with pytest.raises(ValueError, match=r".+"):
        find_operation("users.get").decode(body)


def test_bytes_that_are_no_base64() -> None:
    """JSON whose bytes are no base64 is no reply."""
    with pytest.raises(ValueError, match=r".+"):
        convert_json({"payload": "***"})
