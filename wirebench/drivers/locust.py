"""locust: drives REST, to cross-check others, by users of locust/locustfile.py.

Read from its source (2.47.0), and found by running it: it is one process with one thread, so that it uses one core
however many there are; it starts all users at once if it is to spawn as many a second; times are whole seconds; it
drops what users are doing at the end unless it is told to wait for them, and fails if a request has failed. A pace that
users keep (`constant_throughput`) waits for replies all the same, and isn't measured from when a request was due.
"""

from __future__ import annotations

import math
from pathlib import Path

import orjson

from wirebench.drivers.driver import Job
from wirebench.drivers.replay import Call, ReplayDriver, classify_http, compute_duration_s, write_requests
from wirebench.system.paths import LOCUST, LOCUSTFILE
from wirebench.system.processes import list_flags

_STOP_TIMEOUT_S = 15
#: How long users take to be there: the run's time begins before them.
_SPAWN_S = 1


class Locust(ReplayDriver):
    """Runs locust for a time and reads what its users have done."""

    name = "locust"
    path = LOCUST / "bin" / "locust"  # in a virtual environment of its own
    setup = "make driver-locust"
    cores_max = 1

    def build_arguments(self, job: Job) -> list[str | Path]:
        users = job.cell.concurrency
        flags = {
            "--locustfile": LOCUSTFILE,
            "--host": job.rest_url,
            "--users": users,
            "--spawn-rate": job.load.spawn_rate_per_s or users,
            "--run-time": f"{math.ceil(compute_duration_s(job)) + _SPAWN_S}s",
            "--stop-timeout": _STOP_TIMEOUT_S,
            "--exit-code-on-error": 0,
            "--loglevel": "WARNING",
            "--requests": write_requests(job),
            "--calls": job.output,
            "--seed": job.seed,
            "--cacert": job.tls and job.tls.authority,
        }
        return [self.path, "--headless", "--only-summary", *list_flags(flags)]

    def read_calls(self, job: Job) -> list[Call]:
        written: list[tuple[int, int, int, str]] = orjson.loads(job.output.read_bytes())
        return [
            Call(end, latency, *classify_http(status, error, is_timeout="timed out" in error))
            for end, latency, status, error in written
        ]
