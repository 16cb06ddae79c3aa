"""A server answers to its own names only: a foreign page can't reach it under its own."""

from __future__ import annotations

import pytest

from wirebench.web import Hosts, listen

LOOPBACK = Hosts.of("127.0.0.1", "127.0.0.1")
ALL = Hosts.of("0.0.0.0", "0.0.0.0", ["results.example.org"])  # noqa: S104 - what is tested


@pytest.mark.parametrize(
    "header", ["localhost", "localhost:8400", "LOCALHOST:1", "localhost.", "127.0.0.1:8400", "[::1]:8400", "[::1]"]
)
def test_names_of_loopback_are_ours(header: str) -> None:
    """Whatever the port: it may be forwarded."""
    assert LOOPBACK.allow(header)


@pytest.mark.parametrize(
    "header",
    ["", "evil.example", "evil.example:8400", "localhost.evil.example", "127.0.0.1.evil.example", "192.168.0.7",
     "localhost:8400:1", "user@localhost", "[::1", "localhost, evil.example", "[localhost]", "localhost/"],
)  # fmt: skip
def test_other_names_are_not(header: str) -> None:
    """Nor is anything that only looks like one of ours."""
    assert not LOOPBACK.allow(header)


def test_names_can_be_added() -> None:
    """By the address to listen on, and by --allowed-host."""
    assert Hosts.of("192.168.0.7", "192.168.0.7").allow("192.168.0.7:8400")
    assert ALL.allow("Results.Example.org")
    assert Hosts.of("::1", "::1", ["[fe80::1]"]).allow("[fe80::1]:80")


def test_numeric_addresses_are_ours_where_all_are_listened_on() -> None:
    """No page of another site comes from an address of this machine."""
    assert ALL.allow("10.0.0.7:8400")
    assert Hosts.of("::", "::").allow("[fd00::7]:8400")
    assert not ALL.allow("evil.example")


def test_all_addresses_have_other_names() -> None:
    """`--host 0` is one: what counts is where the server listens."""
    with listen("0", 0) as listener:
        hosts = Hosts.of("0", listener.getsockname()[0])
    assert hosts.allow("10.0.0.7:8400")
    assert not hosts.allow("evil.example")
