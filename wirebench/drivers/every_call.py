"""What drivers have in common that tell every call: a load in parts, each a run of the tool, folded when it has ended.

In parts because they tell in a file what they keep in memory while the load is on: minutes of it would take gigabytes.
"""

from __future__ import annotations

import dataclasses
import math
import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from wirebench import processes
from wirebench.drivers.calls import Calls, fold
from wirebench.drivers.driver import Job
from wirebench.drivers.histogram_file import DriverVersion, HistogramFile
from wirebench.files import cannot_write
from wirebench.processes import Child, ProcessError
from wirebench.tls import ClientTls

#: The longest single run: two cores' worth of ghz stay well under the million calls that it keeps in this time.
PART_S_MAX = 20.0
#: The load goes on a little longer than the window, which opens a moment after the tool has started.
_SLACK_S = 0.05
_GRACE_S = 60.0


@dataclass(frozen=True, slots=True)
class Part:
    """One of the runs that a job is split into; `started_unix_ns` is when the tool was."""

    number: int
    warmup_s: float
    window_s: float
    #: For what goes in and comes out; it is removed afterwards.
    folder: Path
    started_unix_ns: int = 0

    @property
    def duration_s(self) -> float:
        """How long the load has to go on."""
        return self.warmup_s + self.window_s + _SLACK_S


def tls_flags(tls: ClientTls | None) -> list[str | Path]:
    """Return the flags that such a tool takes for TLS; it trusts the system's authorities where none is named."""
    files = {"--cacert": tls.authority, "--cert": tls.certificate, "--key": tls.key} if tls else {}
    return [part for flag, path in files.items() if path for part in (flag, path)]


def rest_url(job: Job) -> str:
    """Return where the REST service is."""
    return f"{'https' if job.tls else 'http'}://{job.address}"


class EveryCall(ABC):
    """A tool that is run for a time and then tells every call."""

    name: str
    setup: str
    cores_max: int | None = None
    tells_each_second = False
    #: What it is told by environment variables.
    environment: dict[str, str] = {}  # noqa: RUF012 - not changed

    @abstractmethod
    def path(self) -> Path:
        """Where the tool is."""

    @abstractmethod
    def version(self) -> str | None:
        """Return the tool's version, or None if it isn't installed."""

    @abstractmethod
    def arguments(self, job: Job, part: Part) -> list[str | Path]:
        """Write what the tool needs into the part's folder, and return the command line."""

    @abstractmethod
    def read(self, job: Job, part: Part) -> Calls:
        """Read what the tool has told. Raises WirebenchError."""

    def run(self, job: Job, watch: Callable[[Child], None]) -> tuple[HistogramFile, ...]:
        """Send the load, in as many parts as it takes, and return what each measured.

        Raises ProcessError, WirebenchError.
        """
        driver = DriverVersion(name=self.name, version=self.version() or "unknown")
        count = math.ceil(job.load.window_s / PART_S_MAX)
        files = []
        for number in range(count):
            folder = job.output.with_suffix(f".{self.name}-{number}")
            part = Part(number, job.load.warmup_s, job.load.window_s / count, folder)
            try:
                calls = self._carry_out(job, part, watch)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            files.append(fold(calls, job.cell.operation, part.warmup_s, part.window_s, driver))
            if job.live:
                job.live.push(files[-1])
        return tuple(files)

    def _carry_out(self, job: Job, part: Part, watch: Callable[[Child], None]) -> Calls:
        try:
            part.folder.mkdir()
        except OSError as error:
            raise cannot_write(part.folder, error) from error
        arguments = self.arguments(job, part)
        part = dataclasses.replace(part, started_unix_ns=time.time_ns())
        child = processes.start(self.name, arguments, job.log, job.cores, self.environment)
        try:
            watch(child)
            status = child.wait(part.duration_s + (job.load.timeout_s or 0.0) + _GRACE_S)
        finally:
            child.stop()
        if status != 0:
            last = processes.last_lines(job.log)
            raise ProcessError(f"{self.name} {processes.describe_status(status)}", f"its log is {job.log}", last)
        return self.read(job, part)
