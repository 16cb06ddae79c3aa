"""`wirebench run --serve`: the page's server, from before the run to its end."""

from __future__ import annotations

import http.client
import os
import socket
import sys
from pathlib import Path
from unittest.mock import patch
from urllib.parse import urlsplit

import psutil
import pytest

from tests.support.command_line import reject
from tests.support.waiting import TIMEOUT_S
from wirebench.cli.serving import ServedPages, serve_page
from wirebench.system import processes


def test_the_page_is_served_with_the_least_priority_and_ends_with_the_run(tmp_path: Path) -> None:
    """It answers before the run begins, and nothing is left of it."""
    with serve_page(tmp_path / "out", 0, "20260101T000000Z-x") as page:
        assert page.url.endswith("/runs/20260101T000000Z-x")
        address = urlsplit(page.url)
        connection = http.client.HTTPConnection(address.netloc, timeout=TIMEOUT_S)
        connection.request("GET", "/api/v1/health")
        assert 200 == connection.getresponse().status
        connection.close()
        process = psutil.Process(page.child.pid)
        assert 19 == process.nice()
        assert {os.SCHED_IDLE} == {os.sched_getscheduler(thread.id) for thread in process.threads()}
    assert not process.is_running()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((address.hostname, address.port), timeout=TIMEOUT_S)
    assert not page.child.log.exists()


def test_a_port_that_is_taken_is_rejected_before_anything_starts(tmp_path: Path) -> None:
    """One line that names it, and no folder of a run."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = reject("run", "quick", "--serve", "--serve-port", port, "--out", tmp_path)
    assert f"can't listen on 127.0.0.1, port {port}: address already in use" in said
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize(("screen", "opened"), [({}, False), ({"DISPLAY": ":0"}, True), ({"DISPLAY": ""}, False)])
def test_a_browser_opens_only_on_a_screen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], screen: dict[str, str], *, opened: bool
) -> None:
    """The address is said in any case."""
    launched: list[list[str]] = []
    monkeypatch.setattr(processes, "launch", launched.append)
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in screen.items():
        monkeypatch.setenv(name, value)
    ServedPages("http://127.0.0.1:1/runs/x", None).open()  # type: ignore[arg-type]
    assert "page: http://127.0.0.1:1/runs/x\n" == capsys.readouterr().err
    assert ([[sys.executable, "-m", "webbrowser", "http://127.0.0.1:1/runs/x"]] if opened else []) == launched


def test_at_a_terminal_it_stays_until_the_server_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Or until Ctrl-C, which the browser's tests press."""
    child = processes.start("sleep", ["sleep", "0.3"], tmp_path / "log")
    with patch.object(sys, "stdin") as stdin:
        stdin.isatty.return_value = True
        ServedPages("http://x/", child).stay()
    assert child.process.poll() is not None
    assert "http://x/ until Ctrl-C" in capsys.readouterr().err
