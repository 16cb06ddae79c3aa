"""oha: drives REST, to cross-check wireload.

Read from its source (v1.16.0), and found by running it: what it prints are percentiles of all requests that got a
reply, of whatever status and warm-up included, so that every call is taken from the database that it writes; a request
without a reply is in neither, but in a count of error texts without a time. Each connection has one request at a time,
and a latency holds connecting where a connection was opened for it, and the whole body. Its TLS (rustls) takes no
certificate that is its own authority.
"""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import orjson

from wirebench.drivers.driver import Job
from wirebench.drivers.replay import Call, ReplayDriver, classify_http, compute_duration_s, render
from wirebench.errors import WirebenchError
from wirebench.system.paths import TOOLS
from wirebench.system.processes import list_flags

#: Files beside a job's output.
_URLS, _DATABASE = "urls.txt", "calls.sqlite"


class Oha(ReplayDriver):
    """Runs oha for a time and reads its database."""

    name = "oha"
    path = TOOLS / "oha"
    setup = "make driver-oha"

    def build_arguments(self, job: Job) -> list[str | Path]:
        cell, requests = job.cell, render(job)
        flags = {
            "-c": cell.concurrency,
            "-m": requests[0]["method"],
            "-z": f"{round(compute_duration_s(job) * 1e3)}ms",
            "-t": f"{round(job.timeout_s * 1e3)}ms",
            "--worker-threads": len(job.cores) if job.cores else None,
            "-r": 0,  # a redirect is the reply
            "--output-format": "json",
            "--output": job.output,
            "--db-url": job.output.with_name(_DATABASE),
            "--cacert": job.tls and job.tls.authority,
            # It picks from them at random, by itself.
            "--urls-from-file": job.write_input(_URLS, "\n".join(job.rest_url + each["path"] for each in requests)),
        }
        switches = ["--no-tui", "--disable-compression", "--wait-ongoing-requests-after-deadline"]
        switches += ["--disable-keepalive"] if cell.connection == "reopen" else []
        headers = requests[0].get("headers", {})
        switches += [part for name, text in headers.items() for part in ("-H", f"{name}: {text}")]
        return [self.path, *switches, *list_flags(flags)]

    def read_calls(self, job: Job) -> list[Call]:
        """Read every call.

        oha counts time from its own start, which it doesn't report: it is taken for the moment that its URLs were
        written, some milliseconds too early. Only the CPU time that server and generator are said to have used in the
        window can tell the difference.
        """
        started_unix_ns = job.output.with_name(_URLS).stat().st_mtime_ns
        path = job.output.with_name(_DATABASE)
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            rows = database.execute("SELECT start, end, status FROM oha").fetchall()
        # Doubles of seconds hold nanoseconds for as long as a load lasts.
        calls = [
            Call(started_unix_ns + round(end * 1e9), round((end - start) * 1e9), *classify_http(status))
            for start, end, status in rows
        ]
        errors: dict[str, int] = orjson.loads(job.output.read_bytes())["errorDistribution"]
        if not calls:
            raise WirebenchError(f"oha got no reply: {', '.join(errors) or 'it sent nothing'}", "see its log")
        # Failures are of unknown time: no warm-up may hide them, and no latency enters a figure.
        first_unix_ns = min(call.end_unix_ns - call.latency_ns for call in calls)
        window_unix_ns = first_unix_ns + round(job.load.warmup_s * 1e9)
        for text, count in errors.items():
            outcome = classify_http(0, text, is_timeout=text == "timeout")
            calls += [Call(window_unix_ns, 0, *outcome)] * count
        return calls
