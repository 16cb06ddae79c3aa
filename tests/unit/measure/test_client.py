"""Addresses of services, and whether they are connected to with TLS."""

from __future__ import annotations

from pathlib import Path

import pytest

from wirebench.errors import UsageError
from wirebench.measure.client import connect
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


@pytest.mark.parametrize(
    "text",
    ["", "host", ":1", "host:0", "host:65536", "host:1x", "::1:9000", "a b:1", "host:1/path", "ftp://host:1"],
)
def test_addresses_that_are_none(text: str) -> None:
    """What isn't an address is rejected before anything is connected, and the next step shows one."""
    with pytest.raises(UsageError, match="is not an address") as caught, connect("rest", text):
        pass
    assert "127.0.0.1:9000" in caught.value.hint
