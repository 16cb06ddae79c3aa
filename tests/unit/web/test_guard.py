"""What holds for every answer, also where the application has failed; and who may ask: a foreign page may not."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest
from starlette.types import Receive, Scope, Send

from wirebench.errors import UsageError
from wirebench.web.guard import Guard, Hosts
from wirebench.web.server import listen


def ask(error: Exception, path: str) -> list[Any]:
    """Return what is sent where an application fails with this error."""

    async def fail(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise error

    async def receive() -> Any:  # noqa: ANN401 - ASGI's
        return {"type": "http.request"}

    sent: list[Any] = []

    async def send(message: Any) -> None:  # noqa: ANN401 - ASGI's
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b"",
             "headers": [(b"host", b"localhost:8400")]}  # fmt: skip
    asyncio.run(Guard(fail, Hosts())(scope, receive, send))
    return sent


def test_a_failure_of_ours_is_told_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """On the terminal; the client only learns that there was one, and still no script but ours may run."""
    start, body = ask(ValueError("secret detail"), "/api/v1/results")
    error = orjson.loads(body["body"])["error"]
    assert (500, "the server failed", None) == (start["status"], error["message"], error["parameter"])
    assert b"default-src 'self'" in dict(start["headers"])[b"content-security-policy"]
    assert "error: GET '/api/v1/results': ValueError: secret detail\n" == capsys.readouterr().err


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
    for name in ("", "example.com:80", "http://example.com", "*.example.com", "bad:80"):
        with pytest.raises(UsageError, match="not the name of a host"):
            Hosts.of("127.0.0.1", "127.0.0.1", [name])
    assert ALL.allow("Results.Example.org")
    assert Hosts.of("::1", "::1", ["[fe80::1]"]).allow("[fe80::1]:80")


def test_numeric_addresses_are_ours_where_all_are_listened_on() -> None:
    """No page of another site comes from an address of this machine; what counts is where the server listens."""
    with listen("0", 0) as listener:
        zero = Hosts.of("0", listener.getsockname()[0])
    for hosts in (ALL, zero):
        assert hosts.allow("10.0.0.7:8400")
        assert not hosts.allow("evil.example")
    assert Hosts.of("::", "::").allow("[fd00::7]:8400")
