"""Waiting until a server that was just started answers."""

from __future__ import annotations

import http.client
import time

from wirebench import processes
from wirebench.processes import Child, ProcessError

_TIMEOUT_S = 60.0
_POLL_S = 0.02


def wait_ready(child: Child, address: str, path: str) -> None:
    """Return when the process answers a GET of this path with 200. Raises ProcessError if it ends, or takes too long.

    `address` is host:port.
    """
    deadline = time.monotonic() + _TIMEOUT_S
    while True:
        child.check_alive()
        if _answers(address, path):
            return
        if time.monotonic() > deadline:
            details = processes.last_lines(child.log)
            raise ProcessError(
                f"{child.name} was not ready after {_TIMEOUT_S:.0f} s", f"its log is {child.log}", details
            )
        time.sleep(_POLL_S)


def _answers(address: str, path: str) -> bool:
    connection = http.client.HTTPConnection(address, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
