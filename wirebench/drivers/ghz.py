"""ghz: drives gRPC as well, to cross-check k6.

Read from its source (v0.93.0): its percentiles leave out failures but its average doesn't; it keeps 1,000,000 details
at most, and says nothing of those it dropped; `--skipFirst` drops calls but not their time; its default is one
connection for all workers. So statistics come from the details alone, warm-up is told from window by their timestamps
(a call's end), connections are set, and a load is split before it can reach a million calls.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from wirebench import processes
from wirebench.drivers.driver import Job
from wirebench.drivers.ghz_data import call_data
from wirebench.drivers.histogram import Histogram
from wirebench.drivers.histogram_file import (
    ERROR_TEXTS_MAX,
    OK,
    DriverVersion,
    ErrorText,
    HistogramFile,
    PerSecond,
    Series,
    Window,
)
from wirebench.errors import WirebenchError
from wirebench.files import write_whole
from wirebench.places import CONTRACT, TOOLS
from wirebench.processes import Child, ProcessError

DETAILS_MAX = 1_000_000
#: The longest single run: two cores' worth of ghz stay well under a million calls in this time.
PART_S_MAX = 20.0
_SLACK_S = 0.05
_GRACE_S = 60.0

_CALLS = {
    "users.get": "wirebench.v1.UserService/GetUser",
    "users.create": "wirebench.v1.UserService/CreateUser",
    "users.update": "wirebench.v1.UserService/UpdateUser",
    "users.list": "wirebench.v1.UserService/ListUsers",
    "echo.echo": "wirebench.v1.EchoService/Echo",
    "echo.upper": "wirebench.v1.EchoService/Upper",
}
_CODES = {
    "OK": OK,
    "Canceled": "cancelled",
    "InvalidArgument": "invalid_argument",
    "DeadlineExceeded": "deadline_exceeded",
    "NotFound": "not_found",
    "AlreadyExists": "already_exists",
    "ResourceExhausted": "resource_exhausted",
    "Unimplemented": "unimplemented",
    "Internal": "internal",
    "Unavailable": "unavailable",
}


class Ghz:
    """Runs ghz for a time and folds its details into a histogram file."""

    name = "ghz"

    def path(self) -> Path:
        """Where ghz is."""
        return TOOLS / "ghz"

    def version(self) -> str | None:
        """Return ghz's version, or None if it isn't installed."""
        return _built_version(self.path())

    def run(self, job: Job, watch: Callable[[Child], None]) -> tuple[HistogramFile, ...]:
        """Send the load, in as many parts as it takes, and return what each measured.

        Raises ProcessError, WirebenchError.
        """
        version = self.version() or "unknown"
        parts = math.ceil(job.load.window_s / PART_S_MAX)
        window_s = job.load.window_s / parts
        return tuple(self._run_part(job, part, window_s, version, watch) for part in range(parts))

    def _run_part(
        self, job: Job, part: int, window_s: float, version: str, watch: Callable[[Child], None]
    ) -> HistogramFile:
        details = job.output.with_suffix(f".ghz-{part}.json")
        data = job.output.with_suffix(f".ghz-{part}-data.json")
        write_whole(data, call_data(job, part))
        try:
            child = processes.start(
                "ghz", self.arguments(job, window_s, data, details), job.log, job.cores, {"TZ": "UTC"}
            )
            try:
                watch(child)
                status = child.wait(job.load.warmup_s + window_s + _GRACE_S)
            finally:
                child.stop()
            if status != 0:
                last = processes.last_lines(job.log)
                raise ProcessError(f"ghz {processes.describe_status(status)}", f"its log is {job.log}", last)
            file = fold(_read_details(details), job, window_s, DriverVersion(name=self.name, version=version))
        finally:
            data.unlink(missing_ok=True)
            details.unlink(missing_ok=True)
        if job.live:
            job.live.push(file)
        return file

    def arguments(self, job: Job, window_s: float, data: Path, output: Path) -> list[str | Path]:
        """Return the command line, which can be repeated by hand."""
        concurrency = str(job.cell.concurrency)
        flags: dict[str, str | Path] = {
            # Compiled, because ghz's own parser is older than `optional` in proto3.
            "--protoset": CONTRACT,
            "--call": _CALLS[job.cell.operation],
            "--data-file": data,
            "--concurrency": concurrency,
            "--connections": str(job.cell.connections or job.cell.concurrency),
            "--duration": f"{job.load.warmup_s + window_s + _SLACK_S:.3f}s",
            "--duration-stop": "wait",
            "--format": "json",
            "--output": output,
        }
        if job.cell.rate_per_s is not None:
            flags["--rps"] = str(job.cell.rate_per_s)
        address = job.address
        if job.replicas:
            # By name: ghz takes one address, and gRPC resolves it to all that stand behind it.
            flags["--lb-strategy"], address = "round_robin", f"dns:///{address}"
        pairs = [part for flag, value in flags.items() for part in (flag, value)]
        return [self.path(), "--insecure", "--count-errors", *pairs, address]


@functools.cache  # asked for with every load
def _built_version(path: Path) -> str | None:
    text = processes.capture([path, "--version"], from_stderr=True)
    return text.removeprefix("v") if text else None


def fold(details: list[dict[str, Any]], job: Job, window_s: float, driver: DriverVersion) -> HistogramFile:
    """Fold ghz's details into a histogram file: the window opens `warmup_s` after the first call was sent."""
    if len(details) >= DETAILS_MAX:
        raise WirebenchError(
            f"ghz made over {DETAILS_MAX:,} calls and kept no more of them", "use a shorter window, or the driver k6"
        )
    ends_ns = _unix_ns(details)
    latencies_ns = np.array([detail["latency"] for detail in details], dtype=np.int64)
    codes = np.array([_CODES.get(detail["status"], "unknown") for detail in details], dtype=np.str_)
    window = _window(ends_ns, latencies_ns, job.load.warmup_s, window_s)
    series, per_second = [], []
    for code in np.unique(codes):
        inside = (codes == code) & (ends_ns >= window.start_unix_ns) & (ends_ns < window.end_unix_ns)
        if not inside.any():
            continue
        operation = job.cell.operation
        encoded = Histogram.of_values(latencies_ns[inside]).encode()
        count = int(inside.sum())
        series.append(Series(operation=operation, code=code, clock="service", count=count, histogram=encoded))
        seconds = np.bincount((ends_ns[inside] - window.start_unix_ns) // 1_000_000_000)
        per_second.append(PerSecond(operation=operation, code=code, counts=tuple(map(int, seconds))))
    texts = Counter((_CODES.get(detail["status"], "unknown"), detail["error"]) for detail in details if detail["error"])
    return HistogramFile(
        driver=driver,
        window=window,
        series=tuple(series),
        per_second=tuple(per_second),
        requests_total={str(code): int((codes == code).sum()) for code in np.unique(codes)},
        mismatches=0,
        dropped_iterations=0,
        errors=tuple(
            ErrorText(code=code, message=message, count=count)
            for (code, message), count in texts.most_common(ERROR_TEXTS_MAX)
        ),
    )


def _window(ends_ns: NDArray[np.int64], latencies_ns: NDArray[np.int64], warmup_s: float, window_s: float) -> Window:
    if not len(ends_ns):
        raise WirebenchError("ghz made no call", "is the service's address right?")
    start = int((ends_ns - latencies_ns).min()) + round(warmup_s * 1e9)
    return Window(start_unix_ns=start, end_unix_ns=start + round(window_s * 1e9))


def _read_details(path: Path) -> list[dict[str, Any]]:
    try:
        details: list[dict[str, Any]] = orjson.loads(path.read_bytes())["details"] or []
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise WirebenchError(f"can't read ghz's result: {error}", "see its log") from error
    return details


def _unix_ns(details: list[dict[str, Any]]) -> NDArray[np.int64]:
    """Return when each call ended, in nanoseconds since 1970; ghz was told to write UTC."""
    texts = [detail["timestamp"].removesuffix("Z") for detail in details]
    return np.array(texts, dtype="datetime64[ns]").astype(np.int64)
