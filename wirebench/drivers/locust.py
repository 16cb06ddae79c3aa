"""locust: drives REST, to cross-check others, by users of locust/locustfile.py.

Read from its source (2.47.0), and found by running it: it is one process with one thread, so that it uses one core
however many there are; it starts all users at once if it is to spawn as many a second; times are whole seconds; it
drops what users are doing at the end unless it is told to wait for them, and fails if a request has failed. A pace that
users keep (`constant_throughput`) waits for replies all the same, and isn't measured from when a request was due.
"""

from __future__ import annotations

import math
from importlib import metadata
from pathlib import Path

import numpy as np
import orjson

from wirebench.drivers import per_request
from wirebench.drivers.driver import Job
from wirebench.drivers.per_request import CallArrays, Outcome, Part, PerRequestDriver, classify_http
from wirebench.system.paths import LOCUST, LOCUSTFILE
from wirebench.system.processes import list_flags

_STOP_TIMEOUT_S = 15
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
        requests = per_request.write_lines(per_request.render(job, part), part.folder / "requests.jsonl")
        users = job.cell.concurrency
        flags = {
            "--locustfile": LOCUSTFILE,
            "--host": job.rest_url,
            "--users": users,
            "--spawn-rate": job.load.spawn_rate_per_s or users,
            "--run-time": f"{math.ceil(part.duration_s) + _SPAWN_S}s",
            "--stop-timeout": _STOP_TIMEOUT_S,
            "--exit-code-on-error": 0,
            "--loglevel": "WARNING",
            "--operation": job.cell.operation,
            "--requests": requests,
            "--calls": part.output,
            "--seed": job.seed,
        }
        return [self.path, "--headless", "--only-summary", *job.tls_flags, *list_flags(flags)]

    def read(self, job: Job, part: Part) -> CallArrays:  # noqa: ARG002 - all is in the part
        calls: list[tuple[int, int, str]] = orjson.loads(part.output.read_bytes())
        return CallArrays.of(
            ends_unix_ns=np.array([end for end, _, _ in calls], dtype=np.int64),
            latencies_ns=np.array([latency for _, latency, _ in calls], dtype=np.int64),
            outcomes=(classify_outcome(outcome) for _, _, outcome in calls),
        )


def classify_outcome(outcome: str) -> Outcome:
    """Understand an outcome as the locustfile writes it: an HTTP status, or what was raised instead."""
    if outcome.isdigit():
        return classify_http(int(outcome))
    return classify_http(0, outcome, is_timeout="timed out" in outcome)
