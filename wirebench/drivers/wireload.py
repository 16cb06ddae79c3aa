"""wireload, our own load engine: drives all three transports with one loop and one clock."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from wirebench import processes
from wirebench.drivers.driver import SETUP, SLICES, Job
from wirebench.drivers.histogram_file import HistogramFile
from wirebench.files import write_whole
from wirebench.places import CONTRACT, REQUESTS, TOOLS
from wirebench.processes import Child, ProcessError
from wirebench.scenario.arrivals import all_ns

_GRACE_S = 30.0
_TIMEOUT_S = 10.0
_NOT_TOLD = "live metrics: "


class Wireload:
    """Runs `wireload run JOB.json`; wireload/README.md describes the job."""

    name = "wireload"
    setup = SETUP
    cores_max: int | None = None
    tells_each_second = True

    def path(self) -> Path:
        """Where our build is."""
        return TOOLS / "wireload"

    def version(self) -> str | None:
        """Return its version, or None if it isn't built."""
        return processes.capture([self.path(), "--version"])

    def run(self, job: Job, watch: Callable[[Child], None]) -> tuple[HistogramFile, ...]:
        """Send the load and return what was measured. Raises ProcessError, WirebenchError."""
        description, arrivals = job.output.with_suffix(".job.json"), job.output.with_suffix(".arrivals.json")
        due = all_ns(job.load, job.cell)
        if due is not None:
            write_whole(arrivals, orjson.dumps(due, option=orjson.OPT_SERIALIZE_NUMPY).decode())
        write_whole(description, json.dumps(describe_job(job, arrivals if due is not None else None), default=str))
        child = processes.start("wireload", [self.path(), "run", description], job.log, job.cores)
        try:
            watch(child)
            last_reply_s = job.load.timeout_s or _TIMEOUT_S
            status = child.wait(job.load.warmup_s + job.load.window_s + last_reply_s + _GRACE_S)
        finally:
            child.stop()
            for file in (description, arrivals):
                file.unlink(missing_ok=True)
        if status != 0:
            details = processes.last_lines(job.log)
            raise ProcessError(f"wireload {processes.describe_status(status)}", f"its log is {job.log}", details)
        if job.live:
            job.live.problem = _live_problem(job.log)
        return (HistogramFile.read(job.output),)


def describe_job(job: Job, arrivals: Path | None) -> dict[str, Any]:
    """Return the job file's content."""
    load, cell = job.load, job.cell
    generator, generators = job.generator
    described: dict[str, Any] = {
        "addresses": job.replicas or (job.address,),
        "application": str(REQUESTS),
        "descriptors": str(CONTRACT),
        "requests": _describe_requests(job),
        "concurrency": cell.concurrency,
        "rate_per_s": None if cell.shape else cell.rate_per_s,
        "arrivals": arrivals and str(arrivals),
        "calls": load.calls,
        "warmup_calls": load.warmup_calls,
        "spawn_rate_per_s": load.spawn_rate_per_s,
        "warmup_s": load.warmup_s,
        "window_s": load.window_s,
        "timeout_s": load.timeout_s or _TIMEOUT_S,
        "reopen": cell.connection == "reopen",
        "tls": job.tls
        and _known({"authority": job.tls.authority, "certificate": job.tls.certificate, "key": job.tls.key}),
        "live": job.live and {"url": job.live.url, "labels": dict(job.live.labels)},
        "generator": generator,
        "generators": generators,
        "output": str(job.output),
        "snapshot": job.snapshot and str(job.snapshot),
        # By when they end, requests that a burst makes wait would be counted after it, or not at all.
        "by_due": bool(cell.shape),
        "slices": SLICES if cell.shape else None,
    }
    return _known(described)


def _live_problem(log: Path) -> str:
    """Return the line in which wireload says what Prometheus wasn't told; empty if there is none."""
    with log.open(errors="replace") as lines:
        return next((line.strip() for line in lines if line.startswith(_NOT_TOLD)), "")


def _known(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _describe_requests(job: Job) -> dict[str, Any]:
    cell = job.cell
    described: dict[str, Any] = {
        "transport": cell.transport,
        "codec": cell.codec,
        "clients": job.load.workload(cell.operation).describe_kinds(),
        "payload": None if cell.payload is None else str(cell.payload),
        "stream_items": cell.stream_items,
        "stream_rate_limit_per_s": cell.stream_rate_limit_per_s,
        "seed": job.seed,
        "id_base": job.id_base,
    }
    return _known(described)
