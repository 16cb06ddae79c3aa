"""grpcio: drives gRPC as a plain Python client does, to cross-check others, by drivers/python/grpc_client.py.

Read from its source, and found by running it: channels to one address share a connection unless each has a pool of its
own; the interpreter runs one thread at a time, so that it uses little more than one core however many there are.
"""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

from wirebench.drivers.driver import Job
from wirebench.drivers.locust import write_user_requests
from wirebench.drivers.per_request import CallArrays, Part, PerRequestDriver, classify_grpcio, read_columns
from wirebench.system.paths import GRPC_CLIENT
from wirebench.system.processes import list_flags


class Grpcio(PerRequestDriver):
    """Runs the client for a time and reads what its users have called."""

    name = "grpcio"
    path = GRPC_CLIENT
    cores_max = 1

    def read_version(self) -> str | None:
        return metadata.version("grpcio") if self.path.exists() else None

    def build_arguments(self, job: Job, part: Part) -> list[str | Path]:
        flags = {
            "--address": job.address,
            "--users": job.cell.concurrency,
            "--duration-s": f"{part.duration_s:.3f}",
            "--timeout-s": job.load.timeout_s,
            "--descriptors": job.descriptors,
            **write_user_requests(job, part),
        }
        tls = ["--tls", *job.tls_flags] if job.tls else []
        return [sys.executable, self.path, *list_flags(flags), *tls]

    def read(self, job: Job, part: Part) -> CallArrays:
        return read_columns(part.output, classify_grpcio, streams=job.operation.stream)
