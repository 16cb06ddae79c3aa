"""Tools that replay rendered requests for a time, and then report every one.

They keep all requests in memory until they end; minutes of load would take gigabytes. So a load is sent in parts.
"""

from __future__ import annotations

import dataclasses
import math
import shutil
import sqlite3
import time
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from wirebench.drivers.calls import Report, fold
from wirebench.drivers.driver import ID_STEP, Driver, Job
from wirebench.drivers.wireload import RenderedRequest, render_requests
from wirebench.errors import WirebenchError
from wirebench.model.histogram_file import DriverVersion, HistogramFile
from wirebench.plan.driver_support import count_parts
from wirebench.system.files import make_write_error, write_atomic
from wirebench.system.processes import Child

#: The load lasts a little longer than the window, which opens a moment after the tool has started.
_SLACK_S = 0.05
_GRACE_S = 60.0
#: How many requests there are to choose from, where they differ.
_CHOICES = 1000


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
        """How long the load has to last."""
        return self.warmup_s + self.window_s + _SLACK_S

    @property
    def output(self) -> Path:
        return self.folder / "calls"

    def write(self, name: str, text: str) -> Path:
        """Write a file that the tool reads, and return its path."""
        write_atomic(self.folder / name, text)
        return (self.folder / name).absolute()

    def write_requests(self, job: Job) -> Path:
        """Write the requests of a job for a tool that reads them as JSON, one a line."""
        return self.write(
            "requests.jsonl", "\n".join(each.model_dump_json(exclude_defaults=True) for each in self.render(job))
        )

    def render(self, job: Job) -> list[RenderedRequest]:
        """Return the requests of a job: some to choose from, or as many as this part sends, where they write.

        Raises ProcessError.
        """
        requests = render_requests(job, _CHOICES)
        if requests[0].writes:
            # Parts create different records.
            own = dataclasses.replace(job, id_base=job.id_base + self.number * ID_STEP)
            requests = render_requests(own, math.ceil((job.cell.rate_per_s or 0) * self.duration_s) + 1)
        return requests[:1] if all(each == requests[0] for each in requests) else requests


class ReplayDriver(Driver):
    """A tool that sends rendered requests. Its adapter says how it is called, and what its report means."""

    @abstractmethod
    def build_arguments(self, job: Job, part: Part) -> list[str | Path]:
        """Write what the tool needs into the part's folder, and return the command line."""

    @abstractmethod
    def read(self, job: Job, part: Part) -> Report:
        """Read what the tool has reported; what is raised where that can't be read becomes a WirebenchError."""

    def run(self, job: Job, watch: Callable[[Child], None]) -> tuple[HistogramFile, ...]:
        driver = DriverVersion(name=self.name, version=self.read_version() or "unknown")
        count = count_parts(job.cell.driver, job.load.window_s)
        files = []
        for number in range(count):
            folder = job.output.with_suffix(f".{self.name}-{number}")
            part = Part(number, job.load.warmup_s, job.load.window_s / count, folder)
            try:
                report = self._run_part(job, part, watch)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            files.append(fold(report, job.cell.operation, part.warmup_s, part.window_s, driver))
            if job.metrics_push and not self.push_failure:
                labels = {"driver": self.name, "name": job.cell.operation}
                job.metrics_push.push(report.calls, files[-1].require_window(), labels)
        return tuple(files)

    def _run_part(self, job: Job, part: Part, watch: Callable[[Child], None]) -> Report:
        try:
            part.folder.mkdir()
        except OSError as error:
            raise make_write_error(part.folder, error) from error
        arguments = self.build_arguments(job, part)
        part = dataclasses.replace(part, started_unix_ns=time.time_ns())
        self.carry_out(job, arguments, watch, part.duration_s + (job.load.timeout_s or 0.0) + _GRACE_S)
        try:
            return self.read(job, part)
        except (OSError, ValueError, LookupError, TypeError, sqlite3.Error) as error:
            raise WirebenchError(f"can't read what {self.name} reported: {error}", "see its log") from error
