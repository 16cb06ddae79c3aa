"""k6, built with our socket client and our histogram output: drives all three transports."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from urllib.parse import quote

from wirebench.drivers.driver import SLICES, Driver, Job
from wirebench.drivers.metrics_push import REMOTE_WRITE, MetricsPush
from wirebench.model.histogram_file import HistogramFile
from wirebench.system.paths import K6_SCRIPTS, TOOLS
from wirebench.system.processes import Child
from wirebench.system.tls import ClientTls

_GRACE_S = 60.0
#: What it may take to make a user before the load: ten thousand have taken half a minute on a busy machine.
_USER_S = 0.01


class K6(Driver):
    """Runs `k6/<transport>.js` with our output."""

    name = "k6"
    path = TOOLS / "k6"
    version_flag = "version"
    writes_snapshots = True
    push_failure = "Failed to send the time series data"
    good_statuses = (0, 99)  # a failed threshold is a result: our scripts have none, a user's own may

    def run(self, job: Job, watch: Callable[[Child], None]) -> tuple[HistogramFile, ...]:
        job.write_arrivals()
        last_reply_s = job.load.timeout_s or 0.0
        load_s = _USER_S * job.cell.concurrency + job.load.warmup_s + job.load.window_s
        try:
            self.carry_out(job, self.build_arguments(job), watch, load_s + last_reply_s + _GRACE_S)
        finally:
            job.arrivals.unlink(missing_ok=True)
        return (HistogramFile.read(job.output),)

    def build_environment(self, job: Job) -> dict[str, str]:
        environment = {
            "K6_AUTO_EXTENSION_RESOLUTION": "false",
            # REST is HTTP/1.1, over TLS too: k6 would take HTTP/2 from a service that has it.
            "GODEBUG": "http2client=0",
        }
        if job.metrics_push:  # the output has no flags
            environment |= {
                "K6_PROMETHEUS_RW_SERVER_URL": job.metrics_push.url + REMOTE_WRITE,
                "K6_PROMETHEUS_RW_TREND_AS_NATIVE_HISTOGRAM": "true",
                "K6_PROMETHEUS_RW_PUSH_INTERVAL": "1s",
                # Lines end with the load, and not five minutes later.
                "K6_PROMETHEUS_RW_STALE_MARKERS": "true",
            }
        return environment

    def build_arguments(self, job: Job) -> list[str | Path]:
        load, cell = job.load, job.cell
        output = f"wirebench=path={quote(str(job.output))},warmup={load.warmup_s}s,window={load.window_s}s"
        if load.calls:
            output += f",calls={load.calls * cell.concurrency}"
        if load.warmup_calls:
            output += f",warmup_calls={load.warmup_calls * cell.concurrency}"
        if cell.shape:
            # By when they end, those that a burst makes wait would be counted after it, or not at all.
            output += f",by=due,slices={SLICES}"
        if job.snapshot:
            output += f",snapshot={quote(str(job.snapshot))}"
        environment = {
            "ADDRESS": ",".join(job.replicas) or job.address,
            # k6 would look for them beside its scripts.
            "APPLICATION": job.requests.absolute(),
            "DESCRIPTORS": job.descriptors.absolute(),
            **_describe_work(job),
            "CONCURRENCY": cell.concurrency,
            "RATE": None if cell.shape else cell.rate_per_s,
            "ARRIVALS": job.arrivals if cell.shape else None,
            "CALLS": load.calls,
            "WARMUP_CALLS": load.warmup_calls,
            "SPAWN_RATE": load.spawn_rate_per_s,
            "WARMUP_S": load.warmup_s,
            "DURATION_S": load.window_s,
            "TIMEOUT_S": load.timeout_s,
            "CONNECTION": cell.connection,
            "CODEC": cell.codec,
            **_describe_tls(job.tls),
            "SEED": job.seed,
            "ID_BASE": job.id_base,
        }
        settings = [
            part for name, value in environment.items() if value is not None for part in ("-e", f"{name}={value}")
        ]
        quiet = ["--quiet", "--summary-mode=disabled", "--no-usage-report", "--no-thresholds", "--address="]
        # The caller's environment is not ours: a variable called USERS must not change the load. Our module reads the
        # variables that headers name.
        quiet.append("--include-system-env-vars=false")
        return [
            self.path,
            "run",
            *quiet,
            *_build_segment_flags(*job.generator),
            "--out",
            output,
            *_build_push_flags(job.metrics_push),
            *settings,
            K6_SCRIPTS / f"{'stream' if cell.is_stream else cell.transport}.js",
        ]


def _describe_work(job: Job) -> dict[str, str | int | None]:
    operation = job.cell.operation
    if job.cell.is_stream:
        return {
            "OPERATION": operation,
            "TRANSPORT": job.cell.transport,
            "STREAM_ITEMS": job.cell.stream_items,
            "STREAM_RATE_LIMIT": job.cell.stream_rate_limit_per_s,
        }
    workload = job.load.find_workload(operation)
    if workload.operations == (operation,):
        return {"OPERATION": operation, "PAYLOAD": job.cell.payload}
    return {"CLIENTS": json.dumps(workload.describe_kinds()), "PAYLOAD": job.cell.payload}


def _build_segment_flags(index: int, count: int) -> list[str]:
    """Return the flags that make k6 take its share of a load: users, iterations and rate are those of the whole."""
    if count == 1:
        return []
    ends = [Fraction(each, count) for each in range(count + 1)]
    return [
        f"--execution-segment={ends[index]}:{ends[index + 1]}",
        f"--execution-segment-sequence={','.join(map(str, ends))}",
    ]


def _describe_tls(tls: ClientTls | None) -> dict[str, Path | str | None]:
    if tls is None:
        return {}
    return {"TLS": "yes", "TLS_CA": tls.authority}


def _build_push_flags(metrics_push: MetricsPush | None) -> list[str]:
    """Return the flags that make k6 write its metrics to Prometheus as it goes, with these labels."""
    if metrics_push is None:
        return []
    tags = (part for name, value in metrics_push.labels.items() for part in ("--tag", f"{name}={value}"))
    return ["--out", "experimental-prometheus-rw", *tags]
