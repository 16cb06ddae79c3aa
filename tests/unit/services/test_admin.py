"""The admin port of the Python services, without a server behind it."""

from __future__ import annotations

import http.client
import time
from pathlib import Path

from wirebench_services.admin import serve_admin
from wirebench_services.settings import SocketSettings, read_settings

from wirebench.system.ports import reserve_ports


def fetch(port: int, path: str) -> tuple[int, str]:
    """Return the status and the text, once the port listens."""
    deadline = time.monotonic() + 20
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        except ConnectionRefusedError:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        finally:
            connection.close()


def test_a_metrics_file_that_is_being_created_is_no_fault(tmp_path: Path) -> None:
    """prometheus_client creates a worker's file empty before it lets it grow."""
    with reserve_ports(1) as (port,):
        pass
    settings = read_settings(SocketSettings, ["--admin-port", str(port)])
    (tmp_path / "counter_1.db").touch()
    with serve_admin(settings, tmp_path):
        for path in ("/readyz", "/metrics"):
            assert (503, "a worker is creating its metrics file\n") == fetch(port, path)
