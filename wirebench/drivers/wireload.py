"""wireload, our own load engine: drives all three transports with one loop and one clock."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import Field

from wirebench.drivers.driver import Driver, Job
from wirebench.errors import UsageError
from wirebench.model.frozen import FrozenModel
from wirebench.model.histogram_file import HistogramFile
from wirebench.system import processes
from wirebench.system.files import write_atomic
from wirebench.system.paths import TOOLS
from wirebench.system.processes import Child, ProcessError
from wirebench.system.tls import ClientTls, split_address

_GRACE_S = 30.0
#: Streams may have a hundred thousand items.
_REQUEST_TIMEOUT_S = 300.0


class Wireload(Driver):
    """Runs `wireload run JOB.json`; wireload/README.md describes the job."""

    name = "wireload"
    path = TOOLS / "wireload"
    push_failure = "live metrics: "

    def run(self, job: Job, watch: Callable[[Child], None]) -> HistogramFile:
        description, arrivals = job.output.with_suffix(".job.json"), job.output.with_suffix(".arrivals.json")
        described = describe_job(job)
        due_ns = job.load.list_arrivals_ns()
        try:
            if due_ns:
                write_atomic(arrivals, json.dumps(due_ns))
                described["arrivals"] = arrivals
            write_atomic(description, json.dumps(described, default=str))
            # What waits at the end of an open load may be sent for one timeout, and take another one.
            timeout_s = job.load.warmup_s + job.load.window_s + 2 * job.timeout_s + _GRACE_S
            self.carry_out(job, [self.path, "run", description], watch, timeout_s)
        finally:
            description.unlink(missing_ok=True)
            arrivals.unlink(missing_ok=True)
        return HistogramFile.read(job.output)


class Answer(FrozenModel):
    """The outcome of one request: a line of `wireload request`."""

    operation: str
    number: int
    #: An HTTP status, the name of a gRPC code, or `ok`.
    status: int | str
    reply: Any = None
    #: What is wrong with the reply; empty if nothing is.
    problem: str = ""


class RenderedRequest(FrozenModel):
    """A request as it is sent: a line of `wireload render`.

    On REST it has a method, a path and headers, and maybe a body; on gRPC a message in the JSON form of protobuf.
    """

    operation: str
    #: Whether it may be sent once only.
    writes: bool = False
    method: str = ""
    path: str = ""
    headers: dict[str, str] = Field(default={})
    body: str | None = None
    call: str = ""
    metadata: dict[str, str] = Field(default={})
    message: dict[str, Any] = Field(default={})


def send_requests(job: Job, requests_each: int) -> list[Answer]:
    """Send `requests_each` of each operation of a job, on one connection.

    Raises ProcessError if the service can't be reached.
    """
    lines = _carry_out("request", job.output, {**describe_job(job), "requests_each": requests_each})
    return list(map(Answer.model_validate_json, lines))


def render_requests(job: Job, count: int) -> list[RenderedRequest]:
    """Return so many requests of a job, for a driver that replays them. Raises ProcessError."""
    lines = _carry_out("render", job.output, {**describe_job(job), "requests_each": count})
    return list(map(RenderedRequest.model_validate_json, lines))


def compile_schema(protos: Sequence[Path], imports: Sequence[Path], folder: Path) -> bytes:
    """Return the FileDescriptorSet of proto files or compiled sets, with all that they import.

    `folder` is for temporary files. Raises UsageError, with the line of a proto.
    """
    return _make_schema(folder, {"protos": protos, "imports": imports}, "correct the proto files, or `imports`")


def reflect(
    address: str,
    folder: Path,
    tls: ClientTls | None = None,
    calls: Sequence[str] = (),
    headers: Mapping[str, str] = MappingProxyType({}),
) -> bytes:
    """Return the FileDescriptorSet of these calls (`package.Service/Method`), or of all services, by server reflection.

    `headers` are sent as metadata, with the values of environment variables. Raises UsageError.
    """
    bare, chosen = split_address(address, tls)
    hint = "see whether the service runs and serves reflection, or give proto files: `schema: shop.proto`"
    tls_files = chosen and dataclasses.asdict(chosen)
    job = {"reflection": bare, "tls": tls_files, "calls": calls, "metadata": dict(headers)}
    return _make_schema(folder, job, hint)


def _make_schema(folder: Path, job: dict[str, Any], hint: str) -> bytes:
    output = folder / "schema.binpb"
    try:
        _carry_out("schema", output, {**job, "output": output})
        return output.read_bytes()
    except ProcessError as error:
        first, *others = error.details.removeprefix("wireload: ").splitlines() or [error.message]
        raise UsageError(first, hint, "\n".join(others)) from None
    finally:
        output.unlink(missing_ok=True)


def _carry_out(command: str, beside: Path, job: dict[str, Any]) -> list[str]:
    """Run a command of wireload, and return the lines that it prints. Raises ProcessError."""
    description = beside.with_suffix(".job.json")
    write_atomic(description, json.dumps(job, default=str))
    try:
        printed = processes.run("wireload", [TOOLS / "wireload", command, description], _REQUEST_TIMEOUT_S)
    finally:
        description.unlink(missing_ok=True)
    # Texts may have other characters that `splitlines` takes for line ends.
    return printed.strip("\n").split("\n") if printed else []


def describe_job(job: Job) -> dict[str, Any]:
    """Return a job as wireload reads it; what is None is its own choice."""
    load, cell = job.load, job.cell
    return {
        "addresses": job.replicas or (job.address,),
        "application": job.application,
        "variant": cell.variant,
        "descriptors": job.descriptors,
        "requests": {
            "transport": cell.transport,
            "codec": cell.codec,
            "clients": load.find_workload(cell.operation).describe_kinds(),
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
        "spawn_rate_per_s": load.spawn_rate_per_s or _compute_stream_rate_per_s(job),
        "warmup_s": load.warmup_s,
        "window_s": load.window_s,
        "timeout_s": job.timeout_s,
        "reopen": cell.connection == "reopen",
        "h2c": cell.http is not None,
        "tls": job.tls and dataclasses.asdict(job.tls),
        "live": job.metrics_push and {"url": job.metrics_push.url, "labels": dict(job.metrics_push.labels)},
        "output": job.output,
        # By when they end, requests that a burst makes wait would be counted after it, or not at all.
        "by_due": bool(cell.shape),
    }


def _compute_stream_rate_per_s(job: Job) -> float | None:
    """Return how many streams with a rate limit start in a second; None if all start at once.

    Those that start together wait for their items at the same moments. So they are spread over the time that a stream
    takes, or over the warm-up if that is shorter.
    """
    cell, load = job.cell, job.load
    if not cell.stream_rate_limit_per_s or cell.rate_per_s:
        return None
    lasts_s = cell.stream_items / cell.stream_rate_limit_per_s if cell.stream_items else load.warmup_s
    spread_s = min(lasts_s, load.warmup_s)
    return cell.concurrency / spread_s if spread_s else None
