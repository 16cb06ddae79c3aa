"""What holds for every answer, also where the application has failed."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest
from starlette.types import Receive, Scope, Send

from wirebench.results.index import IndexUnusableError
from wirebench.web import Hosts
from wirebench.web.guard import Guard


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


def test_a_lost_index_is_asked_for_again() -> None:
    """After a while: it may be back."""
    start, _ = ask(IndexUnusableError("the index can't be used", "start it"), "/api/v1/results")
    assert (503, b"5") == (start["status"], dict(start["headers"])[b"retry-after"])


def test_pages_are_rejected_in_words() -> None:
    """No JSON for people."""
    start, body = ask(IndexUnusableError("the index <b>", "start it"), "/")
    assert b"text/html; charset=utf-8" == dict(start["headers"])[b"content-type"]
    assert b"<h1>The index &lt;b&gt;</h1>" in body["body"]
