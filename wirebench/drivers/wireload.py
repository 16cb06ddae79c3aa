"""wireload, our own load engine: drives all three transports with one loop and one clock."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import orjson
from pydantic_core import to_json

from wirebench.drivers.driver import Driver, Job
from wirebench.model.histogram_file import HistogramFile
from wirebench.system import processes
from wirebench.system.files import name_temporary
from wirebench.system.paths import TOOLS

#: Streams may have a hundred thousand items.
_REQUEST_TIMEOUT_S = 300.0


class Wireload(Driver):
    """Runs `wireload run JOB.json`; wireload/README.md describes the job."""

    name = "wireload"
    path = TOOLS / "wireload"

    def build_arguments(self, job: Job) -> list[str | Path]:
        return [self.path, "run", job.write_input("job.json", to_json(describe_job(job)).decode())]

    def read(self, job: Job) -> HistogramFile:
        return HistogramFile.read(job.output)


def render_requests(job: Job, count: int) -> list[dict[str, Any]]:
    """Return so many requests of a job, as wireload/README.md describes them. Raises ProcessError."""
    return list(map(orjson.loads, carry_out("render", {**describe_job(job), "requests_each": count})))


def carry_out(command: str, job: dict[str, Any]) -> list[str]:
    """Run a command of wireload, and return the lines that it prints. Raises ProcessError."""
    with tempfile.NamedTemporaryFile(prefix=name_temporary(), suffix=".json") as description:
        description.write(to_json(job))
        description.flush()
        printed = processes.run("wireload", [TOOLS / "wireload", command, description.name], _REQUEST_TIMEOUT_S)
    # Texts may have other characters that `splitlines` takes for line ends.
    return printed.strip("\n").split("\n") if printed else []


def describe_job(job: Job) -> dict[str, Any]:
    """Return a job as wireload reads it; what is None is its own choice."""
    load, cell, spawn_rate_per_s = job.load, job.cell, job.load.spawn_rate_per_s
    if cell.stream_rate_limit_per_s and not cell.rate_per_s and load.warmup_s:
        # Streams that start together would wait for their items at the same moments.
        spawn_rate_per_s = spawn_rate_per_s or cell.concurrency / load.warmup_s
    return {
        "addresses": job.replicas or (job.address,),
        "application": job.application,
        "variant": cell.variant,
        "descriptors": job.descriptors,
        "requests": {
            "transport": cell.transport,
            "codec": cell.codec,
            "work": load.find_workload(cell.operation).model_dump(exclude_defaults=True),
            "payload": None if cell.payload is None else str(cell.payload),
            "stream_items": cell.stream_items,
            "stream_rate_limit_per_s": cell.stream_rate_limit_per_s,
            "seed": job.seed,
            "id_base": job.id_base,
        },
        "concurrency": cell.concurrency,
        "connections": cell.connections,
        "concurrency_max": None if load.model == "sweep" else load.concurrency_max,
        "rate_per_s": None if cell.shape else cell.rate_per_s,
        "calls": load.calls,
        "warmup_calls": load.warmup_calls,
        "arrivals": load.list_arrivals_ns() or None,
        "spawn_rate_per_s": spawn_rate_per_s,
        "warmup_s": load.warmup_s,
        "window_s": load.window_s,
        "timeout_s": job.timeout_s,
        "reopen": cell.connection == "reopen",
        "h2c": cell.http is not None,
        "tls": job.tls,
        "live": job.metrics_push,
        "output": job.output,
        # By when they end, requests that a burst makes wait would be counted after it, or not at all.
        "by_due": bool(cell.shape),
    }
