"""locust: drives REST and gRPC, to cross-check others, by users of drivers/python/locustfile.py.

Read from its source (2.47.0), and found by running it: it is one process with one thread, so that it uses one core
however many there are; it starts all users at once if it is to spawn as many a second; times are whole seconds; it
drops what users are doing at the end unless it is told to wait for them, and fails if a request has failed. A pace that
users keep (`constant_throughput`) waits for replies all the same, and isn't measured from when a request was due.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from wirebench.drivers import per_request
from wirebench.drivers.driver import ID_STEP, Job
from wirebench.drivers.per_request import CallArrays, Outcome, Part, PerRequestDriver, read_columns
from wirebench.errors import WirebenchError
from wirebench.system.files import write_atomic
from wirebench.system.paths import LOCUST, LOCUSTFILE
from wirebench.system.processes import list_flags

_STOP_TIMEOUT_S = 15
#: What stands for a fresh id in a request; the locustfile puts ids in its place.
_FRESH = 2**31 - 1
#: How long users take to be there: the run's time begins before them.
_SPAWN_S = 1


class Locust(PerRequestDriver):
    """Runs locust for a time and reads what its users have done."""

    name = "locust"
    path = LOCUST / "bin" / "locust"  # in a virtual environment of its own
    setup = "make driver-locust"
    cores_max = 1

    def read_version(self) -> str | None:
        # Starting it to ask takes a second.
        folders = [str(folder) for folder in LOCUST.glob("lib/python*/site-packages")]
        found = next(iter(metadata.distributions(name="locust", path=folders)), None)
        return found.version if found and self.path.exists() else None

    def build_arguments(self, job: Job, part: Part) -> list[str | Path]:
        users, is_grpc = job.cell.concurrency, job.cell.transport == "grpc"
        flags = {
            "--locustfile": LOCUSTFILE,
            "--host": job.address if is_grpc else job.rest_url,
            "--users": users,
            "--spawn-rate": job.load.spawn_rate_per_s or users,
            "--run-time": f"{math.ceil(part.duration_s) + _SPAWN_S}s",
            "--stop-timeout": _STOP_TIMEOUT_S,
            "--exit-code-on-error": 0,
            "--loglevel": "WARNING",
            "--operation": job.cell.operation,
            "--descriptors": job.descriptors if is_grpc else None,
            **write_user_requests(job, part),
        }
        switches = ["--headless", "--only-summary", *(["--tls"] if is_grpc and job.tls else [])]
        kind = "GrpcUser" if is_grpc else "RestUser"
        return [self.path, *switches, *job.tls_flags, *list_flags(flags), kind]

    def read(self, job: Job, part: Part) -> CallArrays:
        if job.cell.transport == "grpc":
            return read_columns(part.output, per_request.classify_grpcio, streams=job.operation.stream)
        return read_columns(part.output, classify_outcome)


def write_user_requests(job: Job, part: Part) -> dict[str, object]:
    """Write the requests that users choose from, and return the flags that all programs of drivers/python take."""
    file = part.folder / "requests.json"
    requests = _list_calls(job) if job.cell.transport == "grpc" else _list_requests(job)
    write_atomic(file, json.dumps(list(requests)))
    first_id = job.id_base + part.number * ID_STEP if job.operation.creates else None
    return {"--requests": file, "--calls": part.output, "--seed": job.seed, "--create-from": first_id}


def _list_requests(job: Job) -> Iterator[tuple[object, ...]]:
    """Yield method, path and body of REST requests, and values that the reply must have, by path."""
    expect = job.operation.rest.expect.json_ if job.operation.rest else {}
    for inputs in job.draw_inputs(_FRESH):
        yield *job.operation.request_rest(inputs), per_request.compute_expected_values(expect, inputs)


def _list_calls(job: Job) -> Iterator[tuple[object, ...]]:
    """Yield gRPC calls, their messages, and values that the reply must have, by path."""
    grpc = job.operation.grpc
    if grpc is None:
        raise WirebenchError(f"{job.cell.operation} has no gRPC call", "use another driver")  # a plan rejects it
    for inputs in job.draw_inputs(_FRESH):
        expected = per_request.compute_expected_values(grpc.expect, inputs)
        yield grpc.call, job.operation.request_grpc(inputs), expected


def classify_outcome(outcome: str) -> Outcome:
    """Understand an outcome as the locustfile writes it: an HTTP status, or what was raised instead."""
    if not outcome.isdigit():
        return per_request.DEADLINE_EXCEEDED if "timed out" in outcome else per_request.UNAVAILABLE, outcome
    return per_request.classify_http(int(outcome))
