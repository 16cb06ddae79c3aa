"""wireload, our own load engine: drives all three transports with one loop and one clock."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import Field, ValidationError
from pydantic_core import to_json

from wirebench.drivers.driver import Driver, Job
from wirebench.errors import UsageError, WirebenchError
from wirebench.model.frozen import FrozenModel
from wirebench.model.histogram_file import HistogramFile
from wirebench.system import processes
from wirebench.system.paths import TOOLS
from wirebench.system.processes import ProcessError
from wirebench.system.tls import ClientTls, split_address

#: Streams may have a hundred thousand items.
_REQUEST_TIMEOUT_S = 300.0


class Wireload(Driver):
    """Runs `wireload run JOB.json`; wireload/README.md describes the job."""

    name = "wireload"
    path = TOOLS / "wireload"
    pushes_metrics = True

    def build_arguments(self, job: Job) -> list[str | Path]:
        return [self.path, "run", job.write_input("job.json", to_json(describe_job(job)).decode())]

    def read(self, job: Job) -> HistogramFile:
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
    lines = _carry_out("request", {**describe_job(job), "requests_each": requests_each})
    try:
        return list(map(Answer.model_validate_json, lines))
    except ValidationError as error:
        reason = error.errors()[0]["msg"]
        raise WirebenchError(f"{job.address}: its reply can't be read: {reason}", "correct what it answers") from None


def render_requests(job: Job, count: int) -> list[RenderedRequest]:
    """Return so many requests of a job, for a driver that replays them. Raises ProcessError."""
    lines = _carry_out("render", {**describe_job(job), "requests_each": count})
    return list(map(RenderedRequest.model_validate_json, lines))


def compile_schema(protos: Sequence[Path], imports: Sequence[Path]) -> bytes:
    """Return the FileDescriptorSet of proto files or compiled sets, with all that they import.

    Raises UsageError, with the line of a proto.
    """
    return _read_schema({"protos": protos, "imports": imports}, "correct the proto files, or `imports`")


def reflect(
    address: str,
    tls: ClientTls | None = None,
    calls: Sequence[str] = (),
    headers: Mapping[str, str] = MappingProxyType({}),
) -> bytes:
    """Return the FileDescriptorSet of these calls (`package.Service/Method`), or of all services, by server reflection.

    `headers` are sent as metadata, with the values of environment variables. Raises UsageError.
    """
    bare, chosen = split_address(address, tls)
    hint = "see whether the service runs and serves reflection, or give proto files: `schema: shop.proto`"
    return _read_schema({"reflection": bare, "tls": chosen, "calls": calls, "metadata": dict(headers)}, hint)


def _read_schema(job: dict[str, Any], hint: str) -> bytes:
    try:
        return base64.b64decode(_carry_out("schema", job)[0])
    except ProcessError as error:
        first, *others = error.details.removeprefix("wireload: ").splitlines() or [error.message]
        raise UsageError(first, hint, "\n".join(others)) from None


def _carry_out(command: str, job: dict[str, Any]) -> list[str]:
    """Run a command of wireload, and return the lines that it prints. Raises ProcessError."""
    with tempfile.NamedTemporaryFile(prefix="wirebench-", suffix=".json") as description:
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
