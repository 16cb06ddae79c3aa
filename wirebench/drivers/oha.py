"""oha: drives REST, to cross-check wireload.

Read from its source (v1.16.0), and found by running it: what it prints are percentiles of all requests that got a
reply, of whatever status and warm-up included, so that every call is taken from the database that it writes; a request
without a reply is in neither, but in a count of error texts without a time. Each connection has one request at a time,
and a latency holds connecting where a connection was opened for it, and the whole body. With `--latency-correction` it
also tells when a request was due at a fixed rate: by a timer, which is up to a millisecond late. What is due while all
connections wait is queued, and at the end forgotten. Its TLS (rustls) takes no certificate that is its own authority.
"""

from __future__ import annotations

import contextlib
import dataclasses
import sqlite3
from collections import Counter
from pathlib import Path

import numpy as np
import orjson

from wirebench.drivers import per_request
from wirebench.drivers.driver import Job
from wirebench.drivers.per_request import CallArrays, Outcome, Part, PerRequestDriver, classify_http
from wirebench.system.files import write_atomic
from wirebench.system.paths import TOOLS
from wirebench.system.processes import list_flags

_COLUMNS = "start, start_latency_correction, end, status"


class Oha(PerRequestDriver):
    """Runs oha for a time and reads its database."""

    name = "oha"
    path = TOOLS / "oha"
    setup = "make driver-oha"

    def build_arguments(self, job: Job, part: Part) -> list[str | Path]:
        cell = job.cell
        # oha picks from the URLs at random, by itself.
        requests = per_request.render(job, part)
        urls = part.folder / "urls.txt"
        write_atomic(urls, "\n".join(f"{job.rest_url}{each.path}" for each in requests))
        flags = {
            "-c": cell.concurrency,
            "-m": requests[0].method,
            "-z": f"{round(part.duration_s * 1e3)}ms",
            "-t": f"{round(job.timeout_s * 1e3)}ms",
            "-q": cell.rate_per_s,
            "--worker-threads": len(job.cores) if job.cores else None,
            "-r": 0,  # a redirect is the reply
            "--output-format": "json",
            "--output": part.output,
            "--db-url": part.folder / "calls.sqlite",
        }
        switches = ["--no-tui", "--disable-compression", "--wait-ongoing-requests-after-deadline"]
        switches += ["--disable-keepalive"] if cell.connection == "reopen" else []
        switches += [] if cell.rate_per_s is None else ["--latency-correction"]
        headers = [part for name, value in requests[0].headers.items() for part in ("-H", f"{name}: {value}")]
        return [self.path, *switches, *headers, *job.tls_flags, *list_flags(flags), "--urls-from-file", urls]

    def read(self, job: Job, part: Part) -> CallArrays:
        """Read every call.

        oha counts time from its own start, which it doesn't report: it is taken for the moment that we started it, some
        milliseconds too early. Only the CPU time that server and generator are said to have used in the window can
        tell the difference.
        """
        rows = _read_rows(part.folder / "calls.sqlite")
        started, due, ended = (np.array([row[place] or 0 for row in rows], dtype=float) for place in range(3))
        # Doubles of seconds hold nanoseconds for as long as a part lasts.
        calls = CallArrays.of(
            ends_unix_ns=part.started_unix_ns + np.round(ended * 1e9).astype(np.int64),
            latencies_ns=np.round((ended - started) * 1e9).astype(np.int64),
            outcomes=(classify_http(row[3]) for row in rows),
        )
        untimed = _read_untimed(part.output)
        if job.cell.rate_per_s is None:
            return dataclasses.replace(calls, untimed=untimed)
        were_due = int(job.cell.rate_per_s * (part.warmup_s + part.window_s))
        return dataclasses.replace(
            calls,
            untimed=untimed,
            responses_ns=np.round((ended - due) * 1e9).astype(np.int64),
            dropped=max(0, were_due - len(rows) - sum(untimed.values())),
        )


def _read_rows(path: Path) -> list[tuple[float, float | None, float, int]]:
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        return database.execute(f"SELECT {_COLUMNS} FROM oha").fetchall()  # noqa: S608 - a constant


def _read_untimed(path: Path) -> Counter[Outcome]:
    """Return the requests without a reply: oha says `timeout`, or what went wrong with the connection."""
    errors: dict[str, int] = orjson.loads(path.read_bytes())["errorDistribution"]
    return Counter({classify_http(0, text, is_timeout=text == "timeout"): count for text, count in errors.items()})
