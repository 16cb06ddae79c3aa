"""`wirebench run --serve`: the page of a run, served while it goes by a process that takes as little as it can."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from wirebench import processes
from wirebench.errors import UsageError
from wirebench.interrupts import Interrupted
from wirebench.ports import LOOPBACK
from wirebench.processes import Child, ProcessError
from wirebench.readiness import wait_ready

PORT = 8400
#: What a run says of itself that was served.
NOTE = (
    "its page was served while it ran: at the lowest priority, by any core that was idle; a browser on this machine "
    "takes processor time, too"
)
_POLL_S = 0.1


@dataclass(frozen=True, slots=True)
class Served:
    """The page of a run, and the process that serves it."""

    url: str
    child: Child

    def open(self) -> None:
        """Say where the page is, and open it in a browser if there is a display."""
        sys.stderr.write(f"page: {self.url}\n")
        if _has_display():
            processes.launch([sys.executable, "-m", "webbrowser", self.url])

    def stay(self) -> None:
        """Go on serving until Ctrl-C, if there is a terminal to press it at."""
        if not sys.stdin.isatty():
            return
        sys.stderr.write(f"\nThe page stays at {self.url} until Ctrl-C\n")
        with contextlib.suppress(Interrupted):
            while self.child.process.poll() is None:
                time.sleep(_POLL_S)


def checked_port(port: int | None, *, serve: bool) -> int | None:
    """Return which port is asked for, 0 for one that is free; None if nothing is to be served. Raises UsageError."""
    if port is not None and not serve:
        raise UsageError("--serve-port: nothing is served", "add --serve")
    return PORT if serve and port is None else port


@contextlib.contextmanager
def served(out: Path, port: int, run_id: str) -> Iterator[Served]:
    """Serve the runs of a folder while the `with` block runs. Raises WirebenchError if that can't be done."""
    # Imported late: most runs are not served.
    from wirebench.web import listen, url_of  # noqa: PLC0415

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {out}: {error.strerror}", "name a folder that can be written") from error
    with listen(LOOPBACK, port) as listener:  # refused if it is taken, before anything starts
        url = url_of(listener)
        free_port = listener.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="wirebench-page-") as folder:
        command = [sys.executable, "-m", "wirebench.cli", "serve", "--port", str(free_port), "--out", str(out)]
        # It has nothing to finish, and at its priority it might take minutes to notice that it should end.
        log = Path(folder) / "serve.log"
        child = processes.start("the server of the page", command, log, death_signal="KILL")
        try:
            _wait_ready(child, f"{LOOPBACK}:{free_port}")
            child.give_way()  # only now: on a busy machine it would take minutes to start
            yield Served(f"{url}runs/{run_id}", child)
        finally:
            child.stop()


def _wait_ready(child: Child, address: str) -> None:
    try:
        wait_ready(child, address, "/api/v1/health")
    except ProcessError as error:  # its log is about to go
        hint = "`wirebench serve` may tell more; a run without --serve needs no page"
        raise ProcessError(error.message, hint, error.details) from error


def _has_display() -> bool:
    """Whether a browser has a screen to appear on: one for text would take the terminal over."""
    return sys.platform in ("darwin", "win32") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
