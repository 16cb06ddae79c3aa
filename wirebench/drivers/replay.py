"""Tools that replay rendered requests for a time, and then report every one.

They keep all requests in memory until they end; minutes of load would take gigabytes. So a load is sent in parts, each
of which is a job with a folder of its own for what goes in and comes out.
"""

from __future__ import annotations

import math
import shutil
import sqlite3
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
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


class ReplayDriver(Driver):
    """A tool that sends rendered requests. Its adapter says how it is called, and what its report means."""

    @abstractmethod
    def build_arguments(self, job: Job, requests: Sequence[RenderedRequest]) -> list[str | Path]:
        """Write what the tool needs beside the job's output, and return the command line."""

    @abstractmethod
    def read(self, job: Job) -> Report:
        """Read what the tool has reported; what is raised where that can't be read becomes a WirebenchError."""

    def run(self, job: Job, watch: Callable[[Child], None]) -> tuple[HistogramFile, ...]:
        count = count_parts(job.cell.driver, job.load.window_s)
        load = job.load.model_copy(update={"window_s": job.load.window_s / count})
        files = []
        for number in range(count):
            output = job.output.with_suffix(f".{self.name}-{number}") / "calls"
            # Parts create different records.
            part = replace(job, load=load, output=output, id_base=job.id_base + number * ID_STEP)
            files.append(self._run_part(part, watch))
        return tuple(files)

    def _run_part(self, job: Job, watch: Callable[[Child], None]) -> HistogramFile:
        folder, load = job.output.parent, job.load
        try:
            folder.mkdir()
        except OSError as error:
            raise make_write_error(folder, error) from error
        try:
            arguments = self.build_arguments(job, render(job))
            self.carry_out(job, arguments, watch, compute_duration_s(job) + job.timeout_s + _GRACE_S)
            report = self.read(job)
        except (OSError, ValueError, LookupError, TypeError, sqlite3.Error) as error:
            raise WirebenchError(f"can't read what {self.name} reported: {error}", "see its log") from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        driver = DriverVersion(name=self.name, version=self.read_version() or "unknown")
        file = fold(report, job.cell.operation, load.warmup_s, load.window_s, driver)
        if job.metrics_push and not self.push_failure:
            labels = {"driver": self.name, "name": job.cell.operation}
            job.metrics_push.push(report.calls, file.require_window(), labels)
        return file


def compute_duration_s(job: Job) -> float:
    """Return how long the load has to last."""
    return job.load.warmup_s + job.load.window_s + _SLACK_S


def render(job: Job) -> list[RenderedRequest]:
    """Return the requests of a job: some to choose from, or as many as it sends, where they write.

    Raises ProcessError.
    """
    requests = render_requests(job, _CHOICES)
    if requests[0].writes:
        requests = render_requests(job, math.ceil((job.cell.rate_per_s or 0) * compute_duration_s(job)) + 1)
    return requests[:1] if all(each == requests[0] for each in requests) else requests


def write_input(job: Job, name: str, text: str) -> Path:
    """Write a file that the tool reads beside the job's output, and return its path."""
    path = job.output.with_name(name).absolute()
    write_atomic(path, text)
    return path


def write_requests(job: Job, requests: Sequence[RenderedRequest]) -> Path:
    """Write requests for a tool that reads them as JSON, one a line."""
    lines = (each.model_dump_json(exclude_defaults=True) for each in requests)
    return write_input(job, "requests.jsonl", "\n".join(lines))
