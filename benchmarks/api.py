"""What `wirebench serve` takes for a page of 100,000 records, as a client sees it: any filter, on SQLite."""

from __future__ import annotations

import http.client
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from benchmarks.index import RUNS, write_runs
from wirebench.results.index import PAGE_ROWS_MAX, Index, find_database_url

PAGE_MS_MAX = 200.0
_TIMES = 5
_TIMEOUT_S = 60.0
_END_S = 10.0
_HISTORY = "/history?scenario=sweep"

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
            pages_ms = {title: _ms(connection, path) for title, path in _pages()}
            file_ms = _ms(connection, "/api/v1/results?format=csv", times=1)
            first_ms = _ms(connection, _HISTORY, times=1)
            pages_ms["page: a history that was read before"] = _ms(connection, _HISTORY)
    for title, ms in pages_ms.items():
        print(f"  {title:<40} {ms:6.1f} ms  limit {PAGE_MS_MAX:g} ms")
    print(f"  {'results: all as CSV':<40} {file_ms / 1000:6.1f} s")
    print(f"  {'page: a history, the first time':<40} {first_ms / 1000:6.1f} s")
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


def _ms(connection: http.client.HTTPConnection, path: str, times: int = _TIMES) -> float:
    """Return the median time of a request in milliseconds, its whole answer read; one that isn't counted goes first."""
    found = []
    for _ in range(times + (times > 1)):
        started = time.perf_counter()
        connection.request("GET", path)
        reply = connection.getresponse()
        body = reply.read()
        found.append(1000 * (time.perf_counter() - started))
        if reply.status != http.client.OK:
            raise RuntimeError(f"{path}: {body.decode()}")
    return sorted(found[-times:])[times // 2]
