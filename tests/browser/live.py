"""Runs a short scenario with `--serve` at a terminal, as a user who watches it does; prints where its page is.

When the input ends it presses Ctrl-C, and ends as the run does.
"""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import sys
import tempfile
import threading
from pathlib import Path

SCENARIO = """\
question: Which transport answers fastest?
factors:
  transport: [rest, socket]
  operation: users.get
  concurrency: 2
load: {model: closed, warmup_s: 0.2, window_s: 3.2}
blocks: 2
"""
_PAGE = re.compile(rb"page: (\S+)/(runs/\S+)")


def main() -> int:
    """Run, and return the run's exit status."""
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder, "watched.yaml")
        scenario.write_text(SCENARIO, encoding="utf-8")
        run = ["run", str(scenario), "--serve", "--serve-port", "0", "--out", str(Path(folder, "results"))]
        pid, terminal = pty.fork()
        if pid == 0:
            command = [sys.executable, "-m", "wirebench.cli", *run]
            os.execve(sys.executable, command, {**os.environ, "TERM": "dumb"})  # noqa: S606 - our own program
        threading.Thread(target=_press_at_the_end, args=(pid,), daemon=True).start()
        said = b""
        while more := _read(terminal):
            announced = _PAGE.search(said) is not None
            said += more
            if (page := _PAGE.search(said)) and not announced:
                sys.stdout.write(json.dumps({"live": f"{page[1].decode()}/", "run": page[2].decode()}) + "\n")
                sys.stdout.flush()
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if status:
            sys.stderr.write(said.decode(errors="replace"))
        return status


def _press_at_the_end(pid: int) -> None:
    sys.stdin.read()
    os.kill(pid, signal.SIGINT)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # the other end is closed
        return b""


if __name__ == "__main__":
    sys.exit(main())
