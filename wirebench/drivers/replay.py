"""Tools that replay rendered requests for a time, and then report every one: one reader for all of them."""

from __future__ import annotations

import json
import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wirebench.drivers.driver import Driver, Job
from wirebench.drivers.wireload import render_requests
from wirebench.errors import WirebenchError
from wirebench.model.contract import HTTP_CODES
from wirebench.model.histogram import Histogram
from wirebench.model.histogram_file import (
    ERROR_TEXTS_MAX,
    OK,
    Clock,
    DriverVersion,
    ErrorText,
    HistogramFile,
    PerSecond,
    Series,
    Window,
)

#: The load lasts a little longer than the window, which opens a moment after the tool has started; k6 takes no less
#: than a second.
_SLACK_S = 0.05
_DURATION_S_MIN = 1.0
#: How many requests there are to choose from, where they differ.
_CHOICES = 1000
#: The outcome of a request that was due and never sent.
DROPPED = "dropped"


class Call(NamedTuple):
    """A request: its end, how long it took since it was sent, its outcome in the words of docs/histogram-file.md.

    `response_ns` is how long it took since it was due; None where the tool doesn't report that.
    """

    end_unix_ns: int
    latency_ns: int
    code: str = OK
    error: str = ""
    response_ns: int | None = None


def classify_http(status: int, error: str = "", *, is_timeout: bool = False) -> tuple[str, str]:
    """Return code and error of a request by its HTTP status; 0 where there was no reply, but this error."""
    if not status:
        return "deadline_exceeded" if is_timeout else "unavailable", error
    if status // 100 == 2:  # noqa: PLR2004 - 2xx
        return OK, ""
    return HTTP_CODES.get(status, "unknown"), f"HTTP {status}"


class ReplayDriver(Driver):
    """A tool that sends rendered requests, and reports each of them."""

    @abstractmethod
    def read_calls(self, job: Job) -> list[Call]:
        """Read the requests that the tool has reported."""

    def read(self, job: Job) -> HistogramFile:
        return fold(self.read_calls(job), job, DriverVersion(name=self.name, version=self.read_version() or "unknown"))


def compute_duration_s(job: Job) -> float:
    """Return how long the load has to last."""
    return max(_DURATION_S_MIN, job.load.warmup_s + job.load.window_s + _SLACK_S)


def render(job: Job) -> list[dict[str, Any]]:
    """Return the requests of a job: some to choose from, or as many as it sends, where they write.

    Raises ProcessError.
    """
    requests = render_requests(job, _CHOICES)
    if requests[0].get("writes"):
        requests = render_requests(job, math.ceil((job.cell.rate_per_s or 0) * compute_duration_s(job)) + 1)
    return requests[:1] if all(each == requests[0] for each in requests) else requests


def write_requests(job: Job) -> Path:
    """Write the requests of a job for a tool that reads them as JSON, one a line."""
    return job.write_input("requests.jsonl", "\n".join(map(json.dumps, render(job))))


def fold(reported: Sequence[Call], job: Job, driver: DriverVersion) -> HistogramFile:
    """Fold requests into a histogram file: the window opens after the warm-up that begins with the first request.

    Raises WirebenchError if there is none.
    """
    calls = [call for call in reported if call.code != DROPPED]
    if not calls:
        raise WirebenchError(f"{driver.name} made no call", "see its log")
    operation = job.cell.operation
    ends, latencies = np.array([call[:2] for call in calls]).T
    codes = np.array([call.code for call in calls])
    clocks: dict[Clock, NDArray[np.int64]] = {"service": latencies}
    if calls[0].response_ns is not None:
        clocks["response"] = np.array([call.response_ns for call in calls])
    start = int((ends - latencies).min()) + round(job.load.warmup_s * 1e9)
    window = Window(start_unix_ns=start, end_unix_ns=start + round(job.load.window_s * 1e9))
    inside = (ends >= window.start_unix_ns) & (ends < window.end_unix_ns)
    series, per_second = [], []
    for code in dict.fromkeys(codes[inside].tolist()):
        chosen = inside & (codes == code)
        for clock, times in clocks.items():
            histogram = Histogram.of_values(times[chosen]).encode()
            series.append(Series(operation=operation, code=code, clock=clock, count=chosen.sum(), histogram=histogram))
        seconds = np.bincount((ends[chosen] - start) // 1_000_000_000)
        per_second.append(PerSecond(operation=operation, code=code, counts=tuple(seconds.tolist())))
    errors = Counter((call.code, call.error) for call in calls if call.error).most_common(ERROR_TEXTS_MAX)
    return HistogramFile(
        driver=driver,
        window=window,
        series=tuple(series),
        per_second=tuple(per_second),
        requests_total=Counter(codes.tolist()),
        mismatches=0,
        dropped_iterations=len(reported) - len(calls),
        errors=tuple(ErrorText(code=code, message=text, count=count) for (code, text), count in errors),
    )
