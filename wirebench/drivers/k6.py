"""k6, built with our socket client and our histogram output: drives all three transports."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import orjson

from wirebench import processes
from wirebench.drivers.driver import SETUP, SLICES, Job
from wirebench.drivers.histogram_file import HistogramFile
from wirebench.drivers.live import Live
from wirebench.files import write_whole
from wirebench.places import K6_SCRIPTS, TOOLS
from wirebench.processes import Child, ProcessError
from wirebench.scenario.arrivals import all_ns
from wirebench.tls import ClientTls

#: A failed threshold is a result, not a crash. Our scripts have none; a user's own may.
_THRESHOLD_FAILED = 99
_GRACE_S = 60.0
_ENVIRONMENT = {
    "K6_AUTO_EXTENSION_RESOLUTION": "false",
    # REST is HTTP/1.1, over TLS too: k6 would take HTTP/2 from a service that has it.
    "GODEBUG": "http2client=0",
}
#: What it may take to make a user before the load: ten thousand have taken half a minute on a busy machine.
_USER_S = 0.01
#: What k6 logs when Prometheus doesn't take what it is told; the load goes on.
_NOT_TOLD = "Failed to send the time series data"


class K6:
    """Runs `k6/<transport>.js` with our output."""

    name = "k6"
    setup = SETUP
    cores_max: int | None = None
    tells_each_second = True

    def path(self) -> Path:
        """Where our build of k6 is."""
        return TOOLS / "k6"

    def version(self) -> str | None:
        """Return k6's version, or None if it isn't built."""
        text = processes.capture([self.path(), "version"])
        return text.split()[1].removeprefix("v") if text else None

    def run(self, job: Job, watch: Callable[[Child], None]) -> tuple[HistogramFile, ...]:
        """Send the load and return what was measured. Raises ProcessError, WirebenchError."""
        environment = {**_ENVIRONMENT, **_remote_write(job.live)}
        due = all_ns(job.load, job.cell)
        if due is not None:
            write_whole(_arrivals(job), orjson.dumps(due, option=orjson.OPT_SERIALIZE_NUMPY).decode())
        child = processes.start("k6", self.arguments(job), job.log, job.cores, environment)
        try:
            watch(child)
            users_s = _USER_S * job.cell.concurrency
            last_reply_s = job.load.timeout_s or 0.0
            status = child.wait(users_s + job.load.warmup_s + job.load.window_s + last_reply_s + _GRACE_S)
        finally:
            child.stop()
            _arrivals(job).unlink(missing_ok=True)
        if status not in (0, _THRESHOLD_FAILED):
            details = processes.last_lines(job.log)
            raise ProcessError(f"k6 {processes.describe_status(status)}", f"its log is {job.log}", details)
        if job.live:
            job.live.problem = _not_told(job.log)
        return (HistogramFile.read(job.output),)

    def arguments(self, job: Job) -> list[str | Path]:
        """Return the command line, which can be repeated by hand."""
        load, cell = job.load, job.cell
        output = f"wirebench=path={job.output},warmup={load.warmup_s}s,window={load.window_s}s"
        if load.calls:
            output += f",calls={load.calls * cell.concurrency}"
        if load.warmup_calls:
            output += f",warmup_calls={load.warmup_calls * cell.concurrency}"
        if cell.shape:
            # By when they end, those that a burst makes wait would be counted after it, or not at all.
            output += f",by=due,slices={SLICES}"
        if job.snapshot:
            output += f",snapshot={job.snapshot}"
        environment = {
            "ADDRESS": ",".join(job.replicas) or job.address,
            **_work(job),
            "CONCURRENCY": cell.concurrency,
            "RATE": None if cell.shape else cell.rate_per_s,
            "ARRIVALS": _arrivals(job) if cell.shape else None,
            "CALLS": load.calls,
            "WARMUP_CALLS": load.warmup_calls,
            "SPAWN_RATE": load.spawn_rate_per_s,
            "WARMUP_S": load.warmup_s,
            "DURATION_S": load.window_s,
            "TIMEOUT_S": load.timeout_s,
            "CONNECTION": cell.connection,
            "RECONNECT": "yes" if cell.is_disrupted else None,
            "CODEC": cell.codec,
            **_tls_settings(job.tls),
            "SEED": job.seed,
            "ID_BASE": job.id_base,
        }
        settings = [
            part for name, value in environment.items() if value is not None for part in ("-e", f"{name}={value}")
        ]
        quiet = ["--quiet", "--summary-mode=disabled", "--no-usage-report", "--no-thresholds", "--address="]
        # The caller's environment is not ours: a variable called USERS must not change the load.
        quiet.append("--include-system-env-vars=false")
        return [
            self.path(),
            "run",
            *quiet,
            *_segment(*job.generator),
            "--out",
            output,
            *_live_flags(job.live),
            *settings,
            K6_SCRIPTS / f"{'stream' if cell.is_stream else cell.transport}.js",
        ]


def _arrivals(job: Job) -> Path:
    """Where k6 is told when each request is due."""
    return job.output.with_suffix(".arrivals.json")


def _work(job: Job) -> dict[str, str | int | None]:
    """Return the variables that say what the users do."""
    operation = job.cell.operation
    if job.cell.is_stream:
        return {
            "OPERATION": operation,
            "TRANSPORT": job.cell.transport,
            "STREAM_ITEMS": job.cell.stream_items,
            "STREAM_RATE_LIMIT": job.cell.stream_rate_limit_per_s,
        }
    workload = job.load.workload(operation)
    return {
        **(
            {"OPERATION": operation}
            if workload.operations == (operation,)
            else {"CLIENTS": json.dumps(workload.describe_kinds())}
        ),
        "PAYLOAD": job.cell.payload,
    }


def _segment(index: int, count: int) -> list[str]:
    """Return the flags that make k6 take its share of a load: users, iterations and rate are those of the whole."""
    if count == 1:
        return []
    ends = [Fraction(each, count) for each in range(count + 1)]
    return [
        f"--execution-segment={ends[index]}:{ends[index + 1]}",
        f"--execution-segment-sequence={','.join(map(str, ends))}",
    ]


def _tls_settings(tls: ClientTls | None) -> dict[str, Path | str | None]:
    """Return what the scripts are told of TLS."""
    if tls is None:
        return {}
    return {"TLS": "yes", "TLS_CA": tls.authority, "TLS_CERT": tls.certificate, "TLS_KEY": tls.key}


def _live_flags(live: Live | None) -> list[str]:
    """Return the flags that make k6 write its metrics to Prometheus as it goes, with these labels."""
    if live is None:
        return []
    tags = (part for name, value in live.labels.items() for part in ("--tag", f"{name}={value}"))
    return ["--out", "experimental-prometheus-rw", *tags]


def _remote_write(live: Live | None) -> dict[str, str]:
    """Return the environment variables of that output; it has no flags."""
    if live is None:
        return {}
    return {
        "K6_PROMETHEUS_RW_SERVER_URL": f"{live.url}/api/v1/write",
        "K6_PROMETHEUS_RW_TREND_AS_NATIVE_HISTOGRAM": "true",
        "K6_PROMETHEUS_RW_PUSH_INTERVAL": "1s",
        # Lines end with the load, and not five minutes later.
        "K6_PROMETHEUS_RW_STALE_MARKERS": "true",
    }


def _not_told(log: Path) -> str:
    """Return the last line in which k6 says that Prometheus didn't take something; empty if there is none."""
    with log.open(errors="replace") as lines:
        return next(iter(deque((line.strip() for line in lines if _NOT_TOLD in line), maxlen=1)), "")
