"""`wirebench run --serve`: a run's page while it runs, served by a process of the lowest priority."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from wirebench.errors import UsageError
from wirebench.system import processes
from wirebench.system.ports import LOOPBACK
from wirebench.system.processes import Child, ProcessError
from wirebench.system.readiness import answers_http, wait_ready
from wirebench.system.signals import Interrupted

PORT = 8400
#: The note of a run whose page was served.
NOTE = (
    "its page was served while it ran: at the lowest priority, by any core that was idle; a browser on this machine "
    "takes processor time, too"
)
_POLL_S = 0.1


@dataclass(frozen=True, slots=True)
class ServedPages:
    """A run's page, and the process that serves it."""

    url: str
    child: Child

    def open(self) -> None:
        """Print the page's address, and open it in a browser if there is a display."""
        sys.stderr.write(f"page: {self.url}\n")
        if _has_display():
            processes.launch([sys.executable, "-m", "webbrowser", self.url])

    def stay(self) -> None:
        """Continue to serve until Ctrl-C, if there is a terminal."""
        if not sys.stdin.isatty():
            return
        sys.stderr.write(f"\nThe page stays at {self.url} until Ctrl-C\n")
        with contextlib.suppress(Interrupted):
            while self.child.process.poll() is None:
                time.sleep(_POLL_S)


@contextlib.contextmanager
def serve_page(out: Path, port: int, run_id: str) -> Iterator[ServedPages]:
    """Serve the runs of a folder while the `with` block runs. Raises WirebenchError if that can't be done."""
    from wirebench.web import format_url, listen

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {out}: {error.strerror}", "name a folder that can be written") from error
    with listen(LOOPBACK, port) as listener:  # fails if it is taken, before anything starts
        url = format_url(listener)
        free_port = listener.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="wirebench-page-") as folder:
        command = [sys.executable, "-m", "wirebench.cli", "serve", "--port", str(free_port), "--out", str(out)]
        # It has nothing to finish, and at its priority it might take minutes to notice that it should end.
        log = Path(folder) / "serve.log"
        child = processes.start("the page server", command, log, death_signal="KILL")
        try:
            _wait_ready(child, f"{LOOPBACK}:{free_port}")
            child.lower_priority()  # only now: on a busy machine it would take minutes to start
            yield ServedPages(f"{url}runs/{run_id}", child)
        finally:
            child.stop()


def _wait_ready(child: Child, address: str) -> None:
    try:
        wait_ready(child, partial(answers_http, address, "/api/v1/health"))
    except ProcessError as error:  # its log is about to go
        hint = "`wirebench serve` may show more; a run without --serve needs no page"
        raise ProcessError(error.message, hint, error.details) from error


def _has_display() -> bool:
    """Whether a browser has a screen to appear on: one for text would take the terminal over."""
    return sys.platform in ("darwin", "win32") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
