"""REST's replies below the frameworks."""

from __future__ import annotations

import json
import socket
from http.client import HTTPResponse

import pytest

from services.platform import settings as settings_module
from services.rest import wire
from services.rest.main import DEFAULTS
from services.rest.main import main as rest_main

SETTINGS = settings_module.parse(DEFAULTS, ["--read-timeout-s", "2.5"], {})


@pytest.mark.parametrize(
    ("reply", "status", "message"),
    [
        (wire.malformed(), 400, "Malformed HTTP request."),
        (wire.too_slow(SETTINGS), 408, "The request took longer than 2.5 s to arrive."),
        (wire.head_too_long(), 431, "The request's head is longer than 65536 bytes."),
        (wire.failure(), 500, "Internal error."),
    ],
)
def test_last_replies(reply: bytes, status: int, message: str) -> None:
    """They are whole HTTP replies with the envelope, and announce that the connection ends."""
    here, there = socket.socketpair()
    with here, there:
        here.sendall(reply)
        here.shutdown(socket.SHUT_WR)
        response = HTTPResponse(there)
        response.begin()
        body = response.read()

    assert (status, "application/json", "close") == (
        response.status,
        response.getheader("Content-Type"),
        response.getheader("Connection"),
    )
    assert {"success": False, "data": None, "message": message} == json.loads(body)
    assert str(len(body)) == response.getheader("Content-Length")


def test_the_command_refuses_a_runtime_of_another_transport(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong setting ends the command with status 2 and names the choices."""
    monkeypatch.setattr("sys.argv", ["wirebench-rest", "--runtime", "aio"])
    with pytest.raises(SystemExit) as caught:
        rest_main()

    assert 2 == caught.value.code
    assert "gunicorn-gthread, gunicorn-sync, uvicorn" in capsys.readouterr().err
