"""The one place that runs other programs: argument lists, time-outs, checked ends, and nothing left running."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from wirebench.errors import WirebenchError
from wirebench.system.files import make_write_error

_LOG = logging.getLogger(__name__)
LAST_LINES = 12
#: How much of a log is looked at for them; a service may write as much as the disk takes.
_LAST_BYTES = 64 * 1024
_POLL_S = 0.01
_VERSION_TIMEOUT_S = 10.0
_TERM_GRACE_S = 5.0
_KILL_TIMEOUT_S = 5.0
_CPUCLOCK_SCHED = 2


class ProcessError(WirebenchError):
    """A program that couldn't be started, took too long, or ended badly; `details` are its last lines."""


@dataclass(slots=True)
class Child:
    """A program that runs beside us, in a session of its own: a terminal's Ctrl-C reaches us alone, and we end it."""

    name: str
    log: Path
    process: subprocess.Popen[bytes]
    #: Its CPU time when `wait` last looked, which is all that is known of it once it has ended.
    _cpu_s: float | None = None

    @property
    def pid(self) -> int:
        return self.process.pid

    def make_error(self, what: str) -> ProcessError:
        return ProcessError(f"{self.name} {what}", f"its log is {self.log}", read_last_lines(self.log))

    def check_alive(self) -> None:
        status = self.process.poll()
        if status is not None:
            raise self.make_error(describe_status(status))

    def wait(self, timeout_s: float) -> int:
        """Wait for its end and return its status. Raises ProcessError if it takes too long."""
        deadline = time.monotonic() + timeout_s
        with contextlib.suppress(AttributeError, OSError):  # no Linux, whose CPU times can't be read; or it has ended
            self._sleep_until_end(os.pidfd_open(self.pid), timeout_s)
        self._cpu_s = self.read_cpu_s()
        try:
            return self.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.stop()
            raise self.make_error(f"was still running after {timeout_s:.0f} s") from None

    @staticmethod
    def _sleep_until_end(descriptor: int, timeout_s: float) -> None:
        """Leave its status unread, so that its CPU time can be read. The kernel wakes us: we share the cores."""
        try:
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            poll.poll(timeout_s * 1e3)
        finally:
            os.close(descriptor)

    def read_cpu_s(self) -> float | None:
        """Return its CPU time, in seconds; of one that has ended, what it was when `wait` found that."""
        running_s = read_cpu_s(self.pid)
        return self._cpu_s if running_s is None else running_s

    def stop(self, grace_s: float = _TERM_GRACE_S) -> None:
        """End it: SIGTERM, so long to finish, then SIGKILL for it and all that it has started, in whatever group.

        What has left its session is found while its parents live, so services should stay in the foreground.
        """
        started = _list_descendants(self.pid)
        if self.process.poll() is None:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(grace_s)
        deadline = time.monotonic() + _KILL_TIMEOUT_S
        while (left := [*filter(_is_alive, {*started, *_list_session(self.pid)})]) and time.monotonic() < deadline:
            for each in left:
                with contextlib.suppress(psutil.Error):
                    each.kill()
            time.sleep(_POLL_S)
        self.process.wait()


def start(  # noqa: PLR0913 - what a program is, and where it runs
    name: str,
    arguments: Sequence[str | Path],
    log: Path,
    cores: frozenset[int] | None = None,
    environment: Mapping[str, str] | None = None,
    *,
    folder: Path | None = None,
) -> Child:
    """Start a program with its output in `log`, on the given cores. Raises ProcessError if it can't be started.

    It works in `folder`, if one is given.
    """
    # With setpriv it ends when we do; the kernel's bond is to this thread.
    wrapper = ["setpriv", "--pdeathsig", "TERM", "--"] if shutil.which("setpriv") else []
    _LOG.debug("started %s: %s; log: %s", name, shlex.join(map(str, arguments)), log)
    try:
        output = log.open("ab")
    except OSError as error:
        raise make_write_error(log, error) from error
    with output, bind_to_cores(cores), _convert_start_errors(name):
        process = subprocess.Popen(
            [*wrapper, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env={**os.environ, **(environment or {})},
            start_new_session=True,
        )
    return Child(name, log, process)


@contextlib.contextmanager
def _convert_start_errors(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        why = ": ".join(filter(None, (error.strerror, error.filename)))
        raise ProcessError(f"can't start {name}: {why}", "run `make setup`") from error


def list_flags(flags: Mapping[str, object]) -> list[str | Path]:
    """Return flags, each followed by its value, as arguments of a program; a flag whose value is None is left out."""
    given = (pair for pair in flags.items() if pair[1] is not None)
    return [part if isinstance(part, Path) else str(part) for pair in given for part in pair]


def read_cpu_s(pid: int) -> float | None:
    """Return the CPU time of a process, all its threads, in seconds; None if it has ended.

    To the nanosecond, where /proc/PID/stat has hundredths of a second: the clock's number is made as by
    clock_getcpuclockid(3).
    """
    try:
        return time.clock_gettime(~pid << 3 | _CPUCLOCK_SCHED)
    except OSError:
        return None


def _list_session(leader: int) -> Iterator[psutil.Process]:
    """Yield the processes of a session: of a child, and of all that it has started, even if it has ended itself."""
    for process in psutil.process_iter():
        with contextlib.suppress(OSError):
            if os.getsid(process.pid) == leader:
                yield process


def _list_descendants(pid: int) -> list[psutil.Process]:
    """Return what a process and those that it has started have started, in whatever session."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        return []


def _is_alive(process: psutil.Process) -> bool:
    """Return whether a process runs: another one that has got its number since is not meant."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def run(  # noqa: PLR0913 - what a program is, reads and prints
    name: str,
    arguments: Sequence[str | Path],
    timeout_s: float,
    stdin: str = "",
    environment: Mapping[str, str] | None = None,
    *,
    lines_max: int = LAST_LINES,
) -> str:
    """Run a program to its end and return what it prints; of its errors, ProcessError has the last `lines_max` lines.

    It is in a session of its own: a terminal's Ctrl-C reaches us alone, and we end it.
    """
    _LOG.debug("started %s: %s", name, shlex.join(map(str, arguments)))
    try:
        with _convert_start_errors(name):
            ended = subprocess.run(
                list(map(str, arguments)),
                check=False,
                input=stdin,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=timeout_s,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
            )
    except subprocess.TimeoutExpired:
        raise ProcessError(f"{name} was still running after {timeout_s:.0f} s", "try again") from None
    if ended.returncode:
        last_lines = "\n".join(ended.stderr.strip().splitlines()[-lines_max:])
        raise ProcessError(f"{name} {describe_status(ended.returncode)}", "its last lines are above", last_lines)
    return ended.stdout


@functools.cache  # some are asked for with every load
def read_version(program: Path, flag: str = "--version") -> str | None:
    """Return the version that a program prints; None if it isn't there."""
    try:
        printed = subprocess.run(
            [program, flag],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_VERSION_TIMEOUT_S,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(rb"\d+\.\d+\S*", printed)
    return found and found[0].decode()


def read_last_lines(log: Path) -> str:
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _LAST_BYTES))
            return "\n".join(file.read(_LAST_BYTES).decode(errors="replace").splitlines()[-LAST_LINES:])
    except OSError:
        return ""


def describe_status(status: int) -> str:
    if status < 0:
        return f"was ended by {signal.Signals(-status).name}"
    return f"ended with status {status}"


@contextlib.contextmanager
def bind_to_cores(cores: frozenset[int] | None) -> Iterator[None]:
    """Run this thread on the cores for a moment; what it starts inherits them, from its first instruction on."""
    if cores is None or sys.platform != "linux":
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
