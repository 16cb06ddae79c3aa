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
from typing import IO, Any, BinaryIO

import psutil

from wirebench.errors import WirebenchError
from wirebench.system.files import make_write_error

_LOG = logging.getLogger(__name__)
LAST_LINES = 12
#: How much of a log is looked at for them; a service may write as much as the disk takes.
_LAST_BYTES = 64 * 1024
_POLL_S = 0.01
_CAPTURE_TIMEOUT_S = 10.0
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
        has_ended = self._await_end(timeout_s)
        self._cpu_s = self.read_cpu_s()
        if not has_ended:
            self.stop()
            raise self.make_error(f"was still running after {timeout_s:.0f} s")
        return self.process.wait()

    def _await_end(self, timeout_s: float) -> bool:
        """Return whether it has ended in time; its status is still to be read, and its CPU time can be until then.

        We share the cores with what is measured: the kernel wakes us, where it can.
        """
        if not hasattr(os, "pidfd_open"):  # no Linux: the CPU time can't be read either
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout_s)
            return self.process.returncode is not None
        try:
            ended = os.pidfd_open(self.pid)
        except ProcessLookupError:  # its status was read
            return True
        except OSError:  # a kernel before 5.3, or a sandbox that forbids it
            return self._look_until_ended(timeout_s)
        try:
            poll = select.poll()
            poll.register(ended, select.POLLIN)
            return bool(poll.poll(timeout_s * 1e3))
        finally:
            os.close(ended)

    def _look_until_ended(self, timeout_s: float) -> bool:
        deadline = time.monotonic() + timeout_s
        with contextlib.suppress(ChildProcessError):  # its status was read
            while os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
                if time.monotonic() > deadline:
                    return False
                time.sleep(_POLL_S)
        return True

    def read_cpu_s(self) -> float | None:
        """Return its CPU time, in seconds; of one that has ended, what it was when `wait` found that."""
        running_s = read_cpu_s(self.pid)
        return self._cpu_s if running_s is None else running_s

    def stop(self, grace_s: float = _TERM_GRACE_S) -> None:
        """End it: SIGTERM, so long to finish, then SIGKILL for it and all that it has started, in whatever group.

        What has left its session is found while its parents live, so services should stay in the foreground.
        """
        outside = _list_descendants(self.pid)
        if self.process.poll() is None:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(grace_s)
        deadline = time.monotonic() + _KILL_TIMEOUT_S
        while (left := [*_list_session(self.pid), *filter(_is_alive, outside)]) and time.monotonic() < deadline:
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
    _LOG.info("started %s: %s; log: %s", name, shlex.join(map(str, arguments)), log)
    with _open_log(log) as output, bind_to_cores(cores):
        streams = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": subprocess.STDOUT}
        process = _open(name, [*wrapper, *arguments], environment, cwd=folder, **streams)
    return Child(name, log, process)


def _open(
    name: str,
    arguments: Sequence[str | Path],
    environment: Mapping[str, str] | None,
    **options: Any,  # noqa: ANN401 - those of Popen
) -> subprocess.Popen[Any]:
    """Open a process in a session of its own. Raises ProcessError."""
    own = {**os.environ, **(environment or {})}
    try:
        return subprocess.Popen(list(map(str, arguments)), env=own, start_new_session=True, **options)
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


def _open_log(log: Path) -> IO[bytes]:
    try:
        return log.open("ab")
    except OSError as error:
        raise make_write_error(log, error) from error


def _list_session(leader: int) -> list[psutil.Process]:
    """Return what lives of a session: of a child, and of all that it has started, even if it has ended itself."""
    members = []
    for pid in psutil.pids():
        with contextlib.suppress(ProcessLookupError, PermissionError, psutil.NoSuchProcess):
            if os.getsid(pid) == leader and _is_alive(each := psutil.Process(pid)):
                members.append(each)
    return members


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


def run(  # noqa: PLR0913 - what a program is, reads and says
    name: str,
    arguments: Sequence[str | Path],
    timeout_s: float,
    stdin: str | BinaryIO = "",
    environment: Mapping[str, str] | None = None,
    *,
    lines_max: int = LAST_LINES,
) -> str:
    """Run a program to its end and return what it prints; its errors become those of ProcessError.

    It reads a text, or a file from where that stands. Of its errors, the last `lines_max` lines are kept. It is in a
    session of its own: a terminal's Ctrl-C reaches us alone, and we end it.
    """
    printed: str
    text, file = (stdin, subprocess.PIPE) if isinstance(stdin, str) else (None, stdin)
    _LOG.info("started %s: %s", name, shlex.join(map(str, arguments)))
    streams = {"stdin": file, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with _open(name, arguments, environment, text=True, errors="replace", **streams) as process:
        try:
            printed, errors = process.communicate(text, timeout_s)
        except subprocess.TimeoutExpired:
            raise ProcessError(f"{name} was still running after {timeout_s:.0f} s", "try again") from None
        finally:  # also when interrupted
            if process.poll() is None:
                process.kill()
    if process.returncode:
        said = "\n".join(errors.strip().splitlines()[-lines_max:])
        raise ProcessError(f"{name} {describe_status(process.returncode)}", "its last lines are above", said)
    return printed


def capture(arguments: Sequence[str | Path], *, with_errors: bool = False) -> str | None:
    """Return what a short program prints, or None if there is no such program or it fails."""
    errors = subprocess.STDOUT if with_errors else subprocess.DEVNULL
    try:
        printed = subprocess.check_output(
            list(map(str, arguments)), stdin=subprocess.DEVNULL, stderr=errors, timeout=_CAPTURE_TIMEOUT_S
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return printed.decode(errors="replace").strip()


@functools.cache  # some are asked for with every load
def read_version(program: Path, flag: str = "--version") -> str | None:
    """Return the version that a program prints; None if it isn't there."""
    found = re.search(r"\d+\.\d+\S*", capture([program, flag], with_errors=True) or "")
    return found and found[0]


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
