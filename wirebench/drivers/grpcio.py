"""grpcio: drives gRPC as a plain Python client does, to cross-check others, by drivers/python/grpc_client.py.

Read from its source, and found by running it: channels to one address share a connection unless each has a pool of its
own; the interpreter runs one thread at a time, so that it uses little more than one core however many there are.
"""

from __future__ import annotations

import json
import sys
from importlib import metadata
from pathlib import Path

from wirebench.drivers.driver import ID_STEP, Job
from wirebench.drivers.locust import FRESH
from wirebench.drivers.per_request import (
    CallArrays,
    Part,
    PerRequestDriver,
    build_grpc_requests,
    build_tls_flags,
    classify_grpcio,
    get_operation,
    read_columns,
)
from wirebench.system.files import write_atomic
from wirebench.system.paths import GRPC_CLIENT


class Grpcio(PerRequestDriver):
    """Runs the client for a time and reads what its users have called."""

    name = "grpcio"
    path = GRPC_CLIENT
    cores_max = 1

    def read_version(self) -> str | None:
        return metadata.version("grpcio") if self.path.exists() else None

    def build_arguments(self, job: Job, part: Part) -> list[str | Path]:
        requests = part.folder / "requests.json"
        write_atomic(requests, json.dumps(build_grpc_requests(job, FRESH)))
        flags: dict[str, str | Path] = {
            "--address": job.address,
            "--users": str(job.cell.concurrency),
            "--duration-s": f"{part.duration_s:.3f}",
            "--requests": requests,
            "--descriptors": job.descriptors,
            "--calls": part.output,
            "--seed": str(job.seed),
        }
        if get_operation(job).creates:
            flags["--create-from"] = str(job.id_base + part.number * ID_STEP)
        if job.load.timeout_s is not None:
            flags["--timeout-s"] = str(job.load.timeout_s)
        pairs = (each for pair in flags.items() for each in pair)
        tls = ["--tls", *build_tls_flags(job.tls)] if job.tls else []
        return [sys.executable, self.path, *pairs, *tls]

    def read(self, job: Job, part: Part) -> CallArrays:
        return read_columns(part.output, classify_grpcio, streams=get_operation(job).stream)
