"""Addresses, and the way between fields, JSON and protobuf."""

from __future__ import annotations

from pathlib import Path

import pytest

from wirebench.drivers.clients import ClientError, connect
from wirebench.drivers.clients.messages import encode_json, find_operation
from wirebench.errors import UsageError
from wirebench.model.address import Address, parse_address
from wirebench.system.tls import ClientTls, choose_tls, split_scheme


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
        ":1",
        "host:0",
        "host:65536",
        "host:1x",
        "::1:9000",
        "a b:1",
        "host:1/path",
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
