"""The admin port of the Python services, without a server behind it."""

from __future__ import annotations

import contextlib
import http.client
import os
from pathlib import Path

from wirebench_services.admin import forget_dead_workers, serve_admin
from wirebench_services.settings import SocketSettings, read_settings

from tests.support.waiting import TIMEOUT_S, wait_until
from wirebench.system.ports import accepts_connections, reserve_ports


def fetch(port: int, path: str) -> tuple[int, str]:
    """Return the status and the text, once the port listens."""
    wait_until(lambda: accepts_connections("127.0.0.1", port), "the port listens")
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)) as connection:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode()


def test_a_metrics_file_that_is_being_created_is_no_fault(tmp_path: Path) -> None:
    """prometheus_client creates a worker's file empty before it lets it grow."""
    with reserve_ports(1) as (port,):
        pass
    settings = read_settings(SocketSettings, ["--admin-port", str(port)])
    (tmp_path / "counter_1.db").touch()
    with serve_admin(settings, tmp_path):
        for path in ("/readyz", "/metrics"):
            assert (503, "a worker is creating its metrics file\n") == fetch(port, path)


def test_files_of_dead_workers_are_forgotten(tmp_path: Path) -> None:
    """Empty ones and gauges go, counters stay; a death is reported once, also if its number is in use again."""
    dead, reused, living = 4_194_305, 1, os.getpid()  # the first is more than Linux counts processes to
    for pid in (dead, reused, living):
        for name in (f"histogram_{pid}.db", f"gauge_livesum_{pid}.db", f"counter_{pid}.db"):
            (tmp_path / name).touch()
        (tmp_path / f"counter_{pid}.db").write_bytes(b"counts")
    assert {dead, reused} == forget_dead_workers(tmp_path, {os.getpgrp()})
    kept = {f"counter_{pid}.db" for pid in (dead, reused, living)}
    assert kept | {f"histogram_{living}.db", f"gauge_livesum_{living}.db"} == {path.name for path in tmp_path.iterdir()}
    assert set() == forget_dead_workers(tmp_path, {os.getpgrp()})
