"""oha: drives REST, to cross-check k6.

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

from wirebench import processes
from wirebench.drivers import codes
from wirebench.drivers.calls import Calls, Outcome
from wirebench.drivers.driver import Job
from wirebench.drivers.every_call import EveryCall, Part, rest_url, tls_flags
from wirebench.drivers.histogram_file import OK
from wirebench.drivers.requests import draw_inputs, operation_of
from wirebench.errors import WirebenchError
from wirebench.files import write_whole
from wirebench.places import TOOLS

#: As long as k6 waits for a reply.
_TIMEOUT_S = 10.0
_COLUMNS = "start, start_latency_correction, end, status"


class Oha(EveryCall):
    """Runs oha for a time and reads its database."""

    name = "oha"
    setup = "make driver-oha"

    def path(self) -> Path:
        """Where oha is."""
        return TOOLS / "oha"

    def version(self) -> str | None:
        """Return oha's version, or None if it isn't installed."""
        text = processes.capture([self.path(), "--version"])
        return text.removeprefix("oha ") if text else None

    def arguments(self, job: Job, part: Part) -> list[str | Path]:
        """Return the command line, which can be repeated by hand; oha picks from the URLs at random, by itself."""
        cell = job.cell
        requests = [operation_of(job).request_rest(inputs) for inputs in draw_inputs(job)]
        urls = part.folder / "urls.txt"
        write_whole(urls, "\n".join(f"{rest_url(job)}{each.path}" for each in requests))
        flags: list[str | Path] = [
            "--no-tui",
            "--disable-compression",
            "--wait-ongoing-requests-after-deadline",
            *("-c", str(cell.concurrency)),
            *("-z", f"{round(part.duration_s * 1e3)}ms"),
            *("-t", f"{round((job.load.timeout_s or _TIMEOUT_S) * 1e3)}ms"),
            *("--output-format", "json"),
            *("--output", _summary(part)),
            *("--db-url", _database(part)),
            *tls_flags(job.tls),
        ]
        if job.cores:
            flags += ["--worker-threads", str(len(job.cores))]
        if cell.connection == "reopen":
            flags.append("--disable-keepalive")
        if cell.rate_per_s is not None:
            flags += ["-q", str(cell.rate_per_s), "--latency-correction"]
        if body := requests[0].body:
            payload = part.folder / "payload.json"
            write_whole(payload, body)
            flags += ["-m", requests[0].method, "-T", "application/json", "-D", payload]
        return [self.path(), *flags, "--urls-from-file", urls]

    def read(self, job: Job, part: Part) -> Calls:
        """Read every call. Raises WirebenchError.

        oha counts time from its own start, which isn't told: it is taken for the moment that we started it, some
        milliseconds too early. Only the CPU time that server and generator are said to have used in the window can
        tell the difference.
        """
        rows = _read_rows(_database(part))
        started, due, ended = (np.array([row[place] or 0 for row in rows], dtype=float) for place in range(3))
        # Doubles of seconds hold nanoseconds for as long as a part lasts.
        calls = Calls.of(
            ends_unix_ns=part.started_unix_ns + np.round(ended * 1e9).astype(np.int64),
            latencies_ns=np.round((ended - started) * 1e9).astype(np.int64),
            outcomes=(of_status(row[3]) for row in rows),
        )
        untimed = _read_untimed(_summary(part))
        if job.cell.rate_per_s is None:
            return dataclasses.replace(calls, untimed=untimed)
        were_due = int(job.cell.rate_per_s * (part.warmup_s + part.window_s))
        return dataclasses.replace(
            calls,
            untimed=untimed,
            responses_ns=np.round((ended - due) * 1e9).astype(np.int64),
            dropped=max(0, were_due - len(rows) - sum(untimed.values())),
        )


def _summary(part: Part) -> Path:
    return part.folder / "summary.json"


def _database(part: Part) -> Path:
    return part.folder / "calls.sqlite"


def _read_rows(path: Path) -> list[tuple[float, float | None, float, int]]:
    try:
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            return database.execute(f"SELECT {_COLUMNS} FROM oha").fetchall()  # noqa: S608 - a constant
    except sqlite3.Error as error:
        raise WirebenchError(f"can't read oha's calls: {path}: {error}", "see its log") from error


def _read_untimed(path: Path) -> Counter[Outcome]:
    try:
        errors: dict[str, int] = orjson.loads(path.read_bytes())["errorDistribution"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WirebenchError(f"can't read oha's summary: {path}: {error}", "see its log") from error
    return Counter({of_error(text): count for text, count in errors.items()})


def of_status(status: int) -> Outcome:
    """Return the outcome of a request that got a reply."""
    code = codes.of_http(status)
    return code, "" if code == OK else f"HTTP {status}"


def of_error(text: str) -> Outcome:
    """Return the outcome of one that got none; oha says `timeout`, or what went wrong with the connection."""
    return codes.DEADLINE_EXCEEDED if text == "timeout" else codes.UNAVAILABLE, text
