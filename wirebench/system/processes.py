"""The one place that runs other programs: argument lists, time-outs, checked ends, and nothing left running."""

from __future__ import annotations

import atexit
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
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from wirebench.errors import WirebenchError
from wirebench.system.files import make_write_error, name_temporary

_LOG = logging.getLogger(__name__)
#: How many lines of a program's errors, and of the log of one that runs beside us, an error carries.
_ERROR_LINES_MAX, _LAST_LINES = 100, 12
#: How much of a log is looked at for them; a service may write as much as the disk takes.
_LAST_BYTES = 64 * 1024
_POLL_S = 0.01
#: How long a program may take to end after SIGTERM, and again after SIGKILL.
_END_TIMEOUT_S = 5.0
_CPUCLOCK_SCHED = 2
#: Of each program that `start` starts, with our process id.
_STARTED_BY = "STARTED_BY_WIREBENCH"
#: Waits until we have ended, and then ends what we have started and left, and removes our temporary folders.
_GUARD = """
read -r _
sleep 5
for each in /proc/[0-9]*; do
  tr '\\0' '\\n' 2>/dev/null <"$each/environ" | grep -qx "$1" && kill -KILL "${each#/proc/}"
done
rm -rf -- "$2"*
"""


class ProcessError(WirebenchError):
    """A program that couldn't be started, took too long, or ended badly; `details` are its last lines."""


@functools.cache
def _start_guard(pid: int) -> None:
    ours = f"{tempfile.gettempdir()}/{name_temporary()}"
    guard = subprocess.Popen(
        ["sh", "-c", _GUARD, "wirebench-guard", f"{_STARTED_BY}={pid}", ours],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    atexit.register(guard.communicate)
    atexit.register(guard.kill)  # before: the last that is registered is the first to run


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
        if (status := self.process.poll()) is not None:
            raise self.make_error(describe_status(status))

    def wait(self, timeout_s: float) -> int:
        """Wait for its end and return its status. Raises ProcessError if it takes too long."""
        deadline, poll = time.monotonic() + timeout_s, select.poll()
        # The kernel wakes us, as we share the cores, and leaves the status unread, so that the CPU time can be read.
        with contextlib.suppress(AttributeError, OSError), os.fdopen(os.pidfd_open(self.pid), "rb", 0) as ending:
            poll.register(ending, select.POLLIN)
            poll.poll(timeout_s * 1e3)
        self._cpu_s = self.read_cpu_s()
        try:
            return self.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.stop()
            raise self.make_error(f"was still running after {timeout_s:.0f} s") from None

    def read_cpu_s(self) -> float | None:
        """Return its CPU time, in seconds; of one that has ended, what it was when `wait` found that."""
        running_s = read_cpu_s(self.pid)
        return self._cpu_s if running_s is None else running_s

    def stop(self, grace_s: float = _END_TIMEOUT_S) -> None:
        """End it: SIGTERM, so long to finish, then SIGKILL for it and all that it has started, in whatever group.

        What has left its session is found while its parents live, so services should stay in the foreground.
        """
        started = list[psutil.Process]()
        with contextlib.suppress(psutil.Error):
            started = psutil.Process(self.pid).children(recursive=True)
        if self.process.poll() is None:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(grace_s)
        deadline = time.monotonic() + _END_TIMEOUT_S
        while (left := [*_list_alive(started, self.pid)]) and time.monotonic() < deadline:
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
    """Start a program in a folder, on the given cores, with its output in `log`. Raises ProcessError if it can't."""
    _start_guard(os.getpid())
    # With setpriv it ends when we do; the kernel's bond is to this thread.
    wrapper = ["setpriv", "--pdeathsig", "TERM", "--"] if shutil.which("setpriv") else []
    if cores:
        wrapper += ["taskset", "--cpu-list", ",".join(map(str, cores))]
    _LOG.debug("started %s: %s; log: %s", name, shlex.join(map(str, arguments)), log)
    try:
        output = log.open("ab")
    except OSError as error:
        raise make_write_error(log, error) from error
    with output, _convert_start_errors(name):
        process = subprocess.Popen(
            [*wrapper, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env={**os.environ, **(environment or {}), _STARTED_BY: str(os.getpid())},
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


def _list_alive(started: Collection[psutil.Process], leader: int) -> Iterator[psutil.Process]:
    """Yield which of these processes run, and of a session: a child with all that it has started, even if it ended."""
    for each in {*started, *psutil.process_iter()}:
        with contextlib.suppress(psutil.Error, OSError):
            is_ours = each in started or os.getsid(each.pid) == leader
            if is_ours and each.is_running() and each.status() != psutil.STATUS_ZOMBIE:
                yield each


def run(
    name: str,
    arguments: Sequence[str | Path],
    timeout_s: float,
    stdin: str = "",
    environment: Mapping[str, str] | None = None,
) -> str:
    """Run a program to its end, in a session of its own, and return what it prints; ProcessError has its errors."""
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
        last_lines = "\n".join(ended.stderr.strip().splitlines()[-_ERROR_LINES_MAX:])
        raise ProcessError(f"{name} {describe_status(ended.returncode)}", "its last lines are above", last_lines)
    return ended.stdout


@functools.cache  # some are asked for with every load
def read_version(program: Path, flag: str = "--version") -> str | None:
    """Return the version that a program prints; None if it isn't there."""
    try:
        ended = subprocess.run([program, flag], check=False, capture_output=True, timeout=10.0)
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(rb"\d+\.\d+\S*", ended.stdout + ended.stderr)
    return found and found[0].decode()


def read_last_lines(log: Path) -> str:
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _LAST_BYTES))
            return "\n".join(file.read(_LAST_BYTES).decode(errors="replace").splitlines()[-_LAST_LINES:])
    except OSError:
        return ""


def describe_status(status: int) -> str:
    return f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
