"""locust: drives REST, to cross-check k6, by users of locust/locustfile.py, which writes every request down.

Read from its source (2.47.0), and found by running it: it is one process with one thread, so that it uses one core
however many there are; it starts all users at once if it is to spawn as many a second; times are whole seconds; it
drops what users are doing at the end unless it is told to wait for them, and fails if a request has failed. A pace that
users keep (`constant_throughput`) waits for replies all the same, and isn't measured from when a request was due.
"""

from __future__ import annotations

import json
import math
from importlib import metadata
from pathlib import Path
from typing import Any

from wirebench.drivers import codes
from wirebench.drivers.calls import Calls, Outcome, read_columns
from wirebench.drivers.driver import ID_STEP, Job
from wirebench.drivers.every_call import EveryCall, Part, rest_url, tls_flags
from wirebench.drivers.histogram_file import OK
from wirebench.drivers.requests import draw_inputs, expected_values, operation_of
from wirebench.files import write_whole
from wirebench.places import LOCUST, LOCUSTFILE

_STOP_TIMEOUT_S = 15
#: What stands for a fresh id in a request; the locustfile puts ids in its place.
_FRESH = 2**31 - 1
#: How long users take to be there: the run's time begins before them.
_SPAWN_S = 1


class Locust(EveryCall):
    """Runs locust for a time and reads what its users have done."""

    name = "locust"
    setup = "make driver-locust"
    cores_max: int | None = 1

    def path(self) -> Path:
        """Where locust is: it has a virtual environment of its own."""
        return LOCUST / "bin" / "locust"

    def version(self) -> str | None:
        """Return locust's version, or None if it isn't installed; starting it to ask takes a second."""
        folders = [str(folder) for folder in LOCUST.glob("lib/python*/site-packages")]
        found = next(iter(metadata.distributions(name="locust", path=folders)), None)
        return found.version if found and self.path().exists() else None

    def arguments(self, job: Job, part: Part) -> list[str | Path]:
        """Return the command line, which can be repeated by hand."""
        users = str(job.cell.concurrency)
        requests = part.folder / "requests.json"
        write_whole(requests, json.dumps(_requests(job)))
        flags: dict[str, str | Path] = {
            "--locustfile": LOCUSTFILE,
            "--host": rest_url(job),
            "--users": users,
            "--spawn-rate": str(job.load.spawn_rate_per_s or users),
            "--run-time": f"{math.ceil(part.duration_s) + _SPAWN_S}s",
            "--stop-timeout": str(_STOP_TIMEOUT_S),
            "--exit-code-on-error": "0",
            "--loglevel": "WARNING",
            "--operation": job.cell.operation,
            "--requests": requests,
            "--calls": _output(part),
            "--seed": str(job.seed),
        }
        if operation_of(job).creates:
            flags["--create-from"] = str(job.id_base + part.number * ID_STEP)
        pairs = (each for pair in flags.items() for each in pair)
        return [self.path(), "--headless", "--only-summary", *pairs, *tls_flags(job.tls)]

    def read(self, job: Job, part: Part) -> Calls:  # noqa: ARG002 - all is in the part
        """Read what was requested. Raises WirebenchError."""
        return read_columns(_output(part), of_outcome)


def _requests(job: Job) -> list[tuple[str, str, str | None, dict[str, Any]]]:
    """Return what users choose from: method, path, body, and values that the reply must have, by path."""
    operation = operation_of(job)
    drawn = draw_inputs(job, _FRESH)
    return [(*operation.request_rest(inputs), expected_values(operation, inputs)) for inputs in drawn]


def _output(part: Part) -> Path:
    return part.folder / "calls.json"


def of_outcome(outcome: str) -> Outcome:
    """Understand an outcome as the locustfile writes it: an HTTP status, or what was raised instead."""
    if not outcome.isdigit():
        return codes.DEADLINE_EXCEEDED if "timed out" in outcome else codes.UNAVAILABLE, outcome
    code = codes.of_http(int(outcome))
    return code, "" if code == OK else f"HTTP {outcome}"
