"""The one place that runs other programs: argument lists, time-outs, checked ends, and nothing left running."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import NoReturn

from wirebench.errors import WirebenchError

LAST_LINES = 12
_POLL_S = 0.01
_TERM_GRACE_S = 15.0


class ProcessError(WirebenchError):
    """A program that couldn't be started, took too long, or ended badly; `details` are its last lines."""


class Interrupted(BaseException):
    """Somebody asked us to stop (Ctrl-C or `kill`); not an Exception, so that nothing swallows it."""


@dataclass(slots=True)
class Child:
    """A program that runs beside us, in a session of its own: a terminal's Ctrl-C reaches us alone, and we end it."""

    name: str
    log: Path
    process: subprocess.Popen[bytes]

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid

    def check_alive(self) -> None:
        """Raise ProcessError with its last lines if it has ended."""
        status = self.process.poll()
        if status is not None:
            raise ProcessError(f"{self.name} {describe_status(status)}", f"its log is {self.log}", last_lines(self.log))

    def wait(self, timeout_s: float) -> int:
        """Wait for its end and return its status. Raises ProcessError if it takes too long."""
        deadline = time.monotonic() + timeout_s
        # Waking up often costs less than a late look at the clock: the end of a driver ends a cell.
        while (status := self.process.poll()) is None:
            if time.monotonic() > deadline:
                self.stop()
                raise ProcessError(
                    f"{self.name} was still running after {timeout_s:.0f} s",
                    f"its log is {self.log}",
                    last_lines(self.log),
                )
            time.sleep(_POLL_S)
        return status

    def stop(self) -> None:
        """End it: SIGTERM, time to finish, then SIGKILL for it and all that it started."""
        if self.process.poll() is None:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(_TERM_GRACE_S)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.process.wait()


def start(
    name: str,
    arguments: Sequence[str | Path],
    log: Path,
    cores: frozenset[int] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Child:
    """Start a program with its output in `log`, on the given cores. Raises ProcessError if it can't be started."""
    # With setpriv it ends when we do, even when we are killed outright; the kernel's bond is to this thread.
    wrapper = ["setpriv", "--pdeathsig", "TERM", "--"] if shutil.which("setpriv") else []
    with log.open("ab") as output, _on_cores(cores):
        try:
            process = subprocess.Popen(
                [*wrapper, *map(str, arguments)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
            )
        except OSError as error:
            raise ProcessError(f"can't start {name}: {error.strerror}: {arguments[0]}", "run `make setup`") from error
    return Child(name, log, process)


def capture(arguments: Sequence[str | Path], timeout_s: float = 10.0) -> str | None:
    """Return what a short program prints, or None if there is no such program or it fails."""
    try:
        done = subprocess.run(
            list(map(str, arguments)), capture_output=True, check=True, timeout=timeout_s, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode(errors="replace").strip()


def last_lines(log: Path, count: int = LAST_LINES) -> str:
    """Return the last lines of a log, or an empty text."""
    try:
        return "\n".join(log.read_text(errors="replace").splitlines()[-count:])
    except OSError:
        return ""


def describe_status(status: int) -> str:
    """Say how a program ended."""
    if status < 0:
        return f"was ended by {signal.Signals(-status).name}"
    return f"ended with status {status}"


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Turn SIGINT, SIGTERM and SIGHUP into Interrupted, once: what stops us must not be stopped again half-way."""

    def interrupt(number: int, _frame: FrameType | None) -> NoReturn:
        for each in signals:
            signal.signal(each, signal.SIG_IGN)
        raise Interrupted(signal.Signals(number).name)

    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    previous = {number: signal.signal(number, interrupt) for number in signals}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _on_cores(cores: frozenset[int] | None) -> Iterator[None]:
    """Run this thread on the cores for a moment: a child inherits them, from its first instruction on."""
    if cores is None or sys.platform != "linux":
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
