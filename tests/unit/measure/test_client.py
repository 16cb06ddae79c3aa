"""Addresses of services, and whether they are connected to with TLS."""

from __future__ import annotations

from pathlib import Path

import pytest

from wirebench.errors import UsageError
from wirebench.measure.client import connect
from wirebench.system.tls import ClientTls, split_address

GIVEN = ClientTls(authority=Path("ca.crt"))


@pytest.mark.parametrize(
    ("text", "given", "expected"),
    [
        ("http://127.0.0.1:5000/", GIVEN, ("127.0.0.1:5000", None)),
        ("https://127.0.0.1:5000", GIVEN, ("127.0.0.1:5000", GIVEN)),
        ("tls://[::1]:9000", None, ("[::1]:9000", ClientTls())),
        ("127.0.0.1:5000", GIVEN, ("127.0.0.1:5000", GIVEN)),
        ("127.0.0.1:5000", None, ("127.0.0.1:5000", None)),
        ("ftp://127.0.0.1:5000", None, ("ftp://127.0.0.1:5000", None)),
    ],
)
def test_an_address_says_who_speaks_tls(
    text: str, given: ClientTls | None, expected: tuple[str, ClientTls | None]
) -> None:
    """A scheme decides; without one, what is given does. An unknown scheme stays, to be rejected as no address."""
    assert expected == split_address(text, given)


@pytest.mark.parametrize(
    "text",
    ["", "host", ":1", "host:0", "host:65536", "host:1x", "::1:9000", "a b:1", "host:1/path", "ftp://host:1"],
)
def test_addresses_that_are_none(text: str) -> None:
    """What isn't an address is rejected before anything is connected, and the next step shows one."""
    with pytest.raises(UsageError, match="is not an address") as caught, connect("rest", text):
        pass
    assert "127.0.0.1:9000" in caught.value.hint
