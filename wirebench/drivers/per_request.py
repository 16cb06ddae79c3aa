"""Drivers that report every call: requests that are known beforehand, runs in parts, calls folded into histograms.

These tools keep all calls in memory until they end; minutes of load would take gigabytes. So a load is sent in parts.
"""

from __future__ import annotations

import dataclasses
import math
import shutil
import sqlite3
import time
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wirebench.drivers.driver import ID_STEP, Driver, Job
from wirebench.drivers.metrics_push import TimedRequests
from wirebench.drivers.wireload import RenderedRequest, render_requests
from wirebench.errors import WirebenchError
from wirebench.model.contract import HTTP_CODES
from wirebench.model.histogram import Histogram
from wirebench.model.histogram_file import (
    OK,
    Clock,
    DriverVersion,
    ErrorText,
    HistogramFile,
    PerSecond,
    Series,
    Window,
    choose_most_frequent,
)
from wirebench.plan.driver_support import count_parts
from wirebench.system.files import make_write_error, write_atomic
from wirebench.system.processes import Child

#: The load lasts a little longer than the window, which opens a moment after the tool has started.
_SLACK_S = 0.05
_GRACE_S = 60.0
#: How many requests there are to choose from, where they differ.
_CHOICES = 1000

UNKNOWN = "unknown"
UNAVAILABLE = "unavailable"
DEADLINE_EXCEEDED = "deadline_exceeded"

#: Outcomes in the words of docs/histogram-file.md, by the names that grpc-go gives its codes.
_GRPC = {
    "OK": OK,
    "Canceled": "cancelled",
    "InvalidArgument": "invalid_argument",
    "DeadlineExceeded": DEADLINE_EXCEEDED,
    "NotFound": "not_found",
    "AlreadyExists": "already_exists",
    "ResourceExhausted": "resource_exhausted",
    "Unimplemented": "unimplemented",
    "Internal": "internal",
    "Unavailable": UNAVAILABLE,
}

#: An outcome of a call: its code, and the text of its error, empty if there is none.
Outcome = tuple[str, str]


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
        return self.folder / "calls.json"


class PerRequestDriver(Driver):
    """A tool that replays rendered requests for a time, and then reports every call."""

    @abstractmethod
    def build_arguments(self, job: Job, part: Part) -> list[str | Path]:
        """Write what the tool needs into the part's folder, and return the command line."""

    @abstractmethod
    def read(self, job: Job, part: Part) -> CallArrays:
        """Read what the tool has reported; what is raised where that can't be read becomes a WirebenchError."""

    def run(self, job: Job, watch: Callable[[Child], None]) -> tuple[HistogramFile, ...]:
        driver = DriverVersion(name=self.name, version=self.read_version() or "unknown")
        count = count_parts(job.cell.driver, job.load.window_s)
        files = []
        for number in range(count):
            folder = job.output.with_suffix(f".{self.name}-{number}")
            part = Part(number, job.load.warmup_s, job.load.window_s / count, folder)
            try:
                calls = self._run_part(job, part, watch)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            files.append(fold(calls, job.cell.operation, part.warmup_s, part.window_s, driver))
            if job.metrics_push and not self.push_failure:
                window = files[-1].require_window()
                timed = (calls.ends_unix_ns, calls.latencies_ns, calls.codes)
                job.metrics_push.push(TimedRequests(self.name, job.cell.operation, window, *timed))
        return tuple(files)

    def _run_part(self, job: Job, part: Part, watch: Callable[[Child], None]) -> CallArrays:
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


def render(job: Job, part: Part) -> list[RenderedRequest]:
    """Return the requests of a part: some to choose from, or as many as it sends, where they write.

    Raises ProcessError.
    """
    requests = render_requests(job, _CHOICES)
    if requests[0].writes:
        # Parts create different records.
        own = dataclasses.replace(job, id_base=job.id_base + part.number * ID_STEP)
        requests = render_requests(own, math.ceil((job.cell.rate_per_s or 0) * part.duration_s) + 1)
    return requests[:1] if all(each == requests[0] for each in requests) else requests


def write_lines(requests: Iterable[RenderedRequest], path: Path) -> Path:
    """Write requests for a tool that reads them as JSON, one a line."""
    write_atomic(path, "\n".join(each.model_dump_json(exclude_defaults=True) for each in requests))
    return path.absolute()


def classify_http(status: int, error: str = "", *, is_timeout: bool = False) -> Outcome:
    """Return the outcome of a request by its HTTP status; 0 where there was no reply, but this error."""
    if not status:
        return DEADLINE_EXCEEDED if is_timeout else UNAVAILABLE, error
    if status // 100 == 2:  # noqa: PLR2004 - 2xx
        return OK, ""
    return HTTP_CODES.get(status, UNKNOWN), f"HTTP {status}"


def name_grpc_code(name: str) -> str:
    return _GRPC.get(name, UNKNOWN)


@dataclass(frozen=True, slots=True)
class CallArrays:
    """Every call of a load; the arrays are of shape (calls,), in nanoseconds.

    `outcome` is each call's place in `outcomes`. `responses_ns` are counted from when a call was due; None if no call
    knows. `untimed` failed, and the tool reports no time of them.
    """

    ends_unix_ns: NDArray[np.int64]
    latencies_ns: NDArray[np.int64]
    outcome: NDArray[np.int64]
    outcomes: tuple[Outcome, ...]
    responses_ns: NDArray[np.int64] | None = None
    untimed: Mapping[Outcome, int] = field(default_factory=dict)
    dropped: int = 0

    @property
    def codes(self) -> NDArray[np.str_]:
        return np.array([code for code, _ in self.outcomes], dtype=np.str_)[self.outcome]

    @classmethod
    def of(
        cls, ends_unix_ns: NDArray[np.int64], latencies_ns: NDArray[np.int64], outcomes: Iterable[Outcome]
    ) -> CallArrays:
        """Take each call's outcome as it is, and not as a place."""
        places: dict[Outcome, int] = {}
        outcome = [places.setdefault(each, len(places)) for each in outcomes]
        return cls(ends_unix_ns, latencies_ns, np.array(outcome, dtype=np.int64), tuple(places))


def fold(calls: CallArrays, operation: str, warmup_s: float, window_s: float, driver: DriverVersion) -> HistogramFile:
    """Fold calls into a histogram file: the window opens `warmup_s` after the first call was sent.

    Failures of unknown time are taken for the window's own, so that no warm-up hides them; of no latency, which enters
    no figure. Raises WirebenchError if no call was made.
    """
    sent_ns = calls.ends_unix_ns - calls.latencies_ns
    if not len(sent_ns):
        said = "; ".join(f"{code}: {text} ({count}×)" for (code, text), count in calls.untimed.items())
        raise WirebenchError(f"{driver.name} made no call{said and f' that was answered: {said}'}", "see its log")
    start = int(sent_ns.min()) + round(warmup_s * 1e9)
    window = Window(start_unix_ns=start, end_unix_ns=start + round(window_s * 1e9))
    ends, latencies, responses, codes = _add_untimed(calls, start)
    inside = (ends >= window.start_unix_ns) & (ends < window.end_unix_ns)
    series, per_second = [], []
    for code in dict.fromkeys(codes[inside].tolist()):
        chosen = inside & (codes == code)
        series.append(_build_series(operation, code, "service", latencies[chosen]))
        if calls.responses_ns is not None:
            series.append(_build_series(operation, code, "response", responses[chosen]))
        seconds = np.bincount((ends[chosen] - window.start_unix_ns) // 1_000_000_000)
        per_second.append(PerSecond(operation=operation, code=code, counts=tuple(seconds.tolist())))
    totals = Counter(codes.tolist())
    return HistogramFile(
        driver=driver,
        window=window,
        series=tuple(series),
        per_second=tuple(per_second),
        requests_total={code: count for code, count in totals.items() if count},
        mismatches=0,
        dropped_iterations=calls.dropped,
        errors=choose_most_frequent(_list_errors(calls)),
    )


_Times = NDArray[np.int64]


def _add_untimed(calls: CallArrays, start_ns: int) -> tuple[_Times, _Times, _Times, NDArray[np.str_]]:
    """Return ends, latencies, response times and codes of all calls; those of unknown time come last."""
    codes = calls.codes
    responses = calls.latencies_ns if calls.responses_ns is None else calls.responses_ns
    counts = list(calls.untimed.values())
    nothing = np.zeros(sum(counts), dtype=np.int64)
    return (
        np.append(calls.ends_unix_ns, nothing + start_ns),
        np.append(calls.latencies_ns, nothing),
        np.append(responses, nothing),
        np.append(codes, np.repeat([code for code, _ in calls.untimed], counts)) if counts else codes,
    )


def _build_series(operation: str, code: str, clock: Clock, values_ns: NDArray[np.int64]) -> Series:
    encoded = Histogram.of_values(values_ns).encode()
    return Series(operation=operation, code=code, clock=clock, count=len(values_ns), histogram=encoded)


def _list_errors(calls: CallArrays) -> Iterator[ErrorText]:
    timed = zip(calls.outcomes, np.bincount(calls.outcome).tolist(), strict=False)
    for (code, message), count in (*calls.untimed.items(), *timed):
        if message:
            yield ErrorText(code=code, message=message, count=count)
