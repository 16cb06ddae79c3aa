"""The requests that a tool reports one by one, and their histogram file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

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

CODES = frozenset({OK, "cancelled", "deadline_exceeded", *HTTP_CODES.values()})


class Call(NamedTuple):
    """A request: its end, how long it took since it was sent, and its outcome in the words of docs/histogram-file.md.

    `response_ns` is how long it took since it was due; None where the tool doesn't report that.
    """

    end_unix_ns: int
    latency_ns: int
    code: str = OK
    error: str = ""
    response_ns: int | None = None


class Report(NamedTuple):
    """All requests of a load, and how many were due but never sent."""

    calls: Sequence[Call]
    dropped: int = 0


def classify_http(status: int, error: str = "", *, is_timeout: bool = False) -> tuple[str, str]:
    """Return code and error of a request by its HTTP status; 0 where there was no reply, but this error."""
    if not status:
        return "deadline_exceeded" if is_timeout else "unavailable", error
    if status // 100 == 2:  # noqa: PLR2004 - 2xx
        return OK, ""
    return HTTP_CODES.get(status, "unknown"), f"HTTP {status}"


def fold(report: Report, operation: str, warmup_s: float, window_s: float, driver: DriverVersion) -> HistogramFile:
    """Fold requests into a histogram file: the window opens `warmup_s` after the first request was sent.

    Raises WirebenchError if there is none.
    """
    if not report.calls:
        raise WirebenchError(f"{driver.name} made no call", "see its log")
    ends = np.array([call.end_unix_ns for call in report.calls])
    latencies = np.array([call.latency_ns for call in report.calls])
    codes = np.array([call.code for call in report.calls])
    clocks: dict[Clock, np.ndarray] = {"service": latencies}
    if report.calls[0].response_ns is not None:
        clocks["response"] = np.array([call.response_ns for call in report.calls])
    start = int((ends - latencies).min()) + round(warmup_s * 1e9)
    window = Window(start_unix_ns=start, end_unix_ns=start + round(window_s * 1e9))
    inside = (ends >= window.start_unix_ns) & (ends < window.end_unix_ns)
    series, per_second = [], []
    for code in dict.fromkeys(codes[inside].tolist()):
        chosen = inside & (codes == code)
        for clock, times in clocks.items():
            histogram = Histogram.of_values(times[chosen])
            series.append(
                Series(operation=operation, code=code, clock=clock, count=chosen.sum(), histogram=histogram.encode())
            )
        seconds = np.bincount((ends[chosen] - start) // 1_000_000_000)
        per_second.append(PerSecond(operation=operation, code=code, counts=tuple(seconds.tolist())))
    errors = Counter((call.code, call.error) for call in report.calls if call.error)
    return HistogramFile(
        driver=driver,
        window=window,
        series=tuple(series),
        per_second=tuple(per_second),
        requests_total=Counter(codes.tolist()),
        mismatches=0,
        dropped_iterations=report.dropped,
        errors=tuple(
            ErrorText(code=code, message=message, count=count)
            for (code, message), count in errors.most_common(ERROR_TEXTS_MAX)
        ),
    )
