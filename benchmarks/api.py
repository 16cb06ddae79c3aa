"""What `wirebench serve` takes for a page of 100,000 records, as a client sees it: any filter, on SQLite."""

from __future__ import annotations

import http.client
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from benchmarks.index import RUNS, measure_ms, write_runs
from wirebench.results.index import PAGE_ROWS_MAX, Index, find_database_url

PAGE_MS_MAX = 200.0
_TIMES = 5
_TIMEOUT_S = 60.0
_END_S = 10.0

_FILTERS: dict[str, dict[str, str]] = {
    "all": {},
    "a scenario": {"scenario": "sweep"},
    "two protocols": {"protocol": "rest,grpc"},
    "a client": {"client": "ghz"},
    "a concurrency": {"concurrency": "16"},
    "an operation": {"operation": "users.create"},
    "a machine": {"machine": "Another CPU, 64 cores"},
    "a target": {"target": "kubernetes"},
    "a day": {"since": "2026-01-10", "until": "2026-01-10"},
    "many at once": {"scenario": "tls", "protocol": "rest,grpc", "client": "ghz", "concurrency": "1"},
    "what isn't there": {"operation": "nothing"},
}


def main() -> bool:
    """Print the time of pages against their limit; return whether all keep it."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        print(f"{write_runs(folder):,} records of {RUNS} runs", flush=True)
        with Index(find_database_url(folder)) as index:
            index.rebuild(folder)
        with _served(folder) as connection:
            pages_ms = {title: measure_ms(partial(_get, connection, path), _TIMES) for title, path in _pages()}
            file_ms = measure_ms(partial(_get, connection, "/api/v1/results?format=csv"), 1)
    for title, ms in pages_ms.items():
        print(f"  {title:<40} {ms:6.1f} ms  limit {PAGE_MS_MAX:g} ms")
    print(f"  {'results: all as CSV':<40} {file_ms / 1000:6.1f} s")
    return max(pages_ms.values()) <= PAGE_MS_MAX


def _pages() -> Iterator[tuple[str, str]]:
    for title, filters in _FILTERS.items():
        for rows in ("results", "runs"):
            yield f"{rows}: {title}", f"/api/v1/{rows}?{urlencode(filters)}"
    yield "results: the largest page", f"/api/v1/results?limit={PAGE_ROWS_MAX}"


@contextmanager
def _served(folder: Path) -> Iterator[http.client.HTTPConnection]:
    """Run `wirebench serve` and connect to it."""
    command = [sys.executable, "-m", "wirebench.cli", "serve", "--port", "0", "--out", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None  # noqa: S101 - it is a pipe
            address = urlsplit(next(word for word in process.stdout.readline().split() if word.startswith("http:")))
            connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=_TIMEOUT_S)
            with closing(connection):
                yield connection
        finally:
            process.terminate()
            process.wait(_END_S)


def _get(connection: http.client.HTTPConnection, path: str) -> None:
    """Send a request, and read its whole answer."""
    connection.request("GET", path)
    reply = connection.getresponse()
    body = reply.read()
    if reply.status != http.client.OK:
        raise RuntimeError(f"{path}: {body.decode()}")
