"""What the index takes over 100,000 records: a rebuild, and pages with any filter; on SQLite and on PostgreSQL."""

from __future__ import annotations

import itertools
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import numpy as np

from tests.support.postgres import PostgresServer
from tests.support.report_run import cell, passed, run_info
from wirebench.model.cell import Cell
from wirebench.model.contract import Transport
from wirebench.model.record import Generator, Latency, Record, Server
from wirebench.model.run_info import RunInfo
from wirebench.results.index import PAGE_ROWS_MAX, Filters, Index
from wirebench.results.runs import load_records

RECORDS_PER_S_MIN = 2_000
PAGE_MS_MAX = 200.0
#: Between two windows.
LANDING_MS_MAX = 50.0
RUNS = 625
BLOCKS = 4
_FIRST = datetime(2026, 1, 1, tzinfo=UTC)
_SCENARIOS = ("quick", "sweep", "tls", "latency", "workers")
_MACHINES = ({"cpu": "Some CPU", "cores": "4"}, {"cpu": "Another CPU", "cores": "64"})
_GATES = (
    "generator_cpu", "error_rate", "samples", "conformance", "counts", "connections", "shared_cores",
    "throttled_generator", "warmup",
)  # fmt: skip
#: The share of gates that fail, and of records with errors.
_FAILING = 0.02
_WIRES: tuple[tuple[Transport, str], ...] = (("rest", "k6"), ("grpc", "k6"), ("grpc", "ghz"), ("socket", "k6"))
_QUANTILES_MS = {"min": 0.2, "p50": 1.0, "mean": 1.1, "p90": 2.0, "p95": 2.4, "p99": 4.0, "p99_9": 8.0, "max": 20.0}


def main() -> bool:
    """Print records a second and the time of pages against their limits; return whether all are kept."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        print(f"{write_runs(folder):,} records of {RUNS} runs", flush=True)
        good = _measure(folder, "SQLite", f"sqlite:///{folder}/index.db")
        server = PostgresServer()
        if not server.is_installed:
            print("PostgreSQL isn't installed, and not measured: sudo scripts/postgres install")
            return good
        server.up()
        try:
            return _measure(folder, "PostgreSQL", server.empty()) and good
        finally:
            server.down()


def _measure(folder: Path, name: str, url: str) -> bool:
    print(name)
    with Index(url) as index:
        started = time.monotonic()
        per_s = index.rebuild(folder).records / (time.monotonic() - started)
        print(f"  rebuild {per_s:,.0f} records/s  limit {RECORDS_PER_S_MIN:,}", flush=True)
        record = next(load_records(path)[0] for path in folder.iterdir() if path.is_dir())
        landing_ms = measure_ms(partial(index.add_record, record))
        print(f"  a record, as it lands {landing_ms:.1f} ms  limit {LANDING_MS_MAX:g} ms", flush=True)
        pages_ms = {title: measure_ms(page) for title, page in _pages(index)}
    for title, ms in pages_ms.items():
        print(f"  {title:<44} {ms:6.1f} ms  limit {PAGE_MS_MAX:g} ms", flush=True)
    return per_s >= RECORDS_PER_S_MIN and landing_ms <= LANDING_MS_MAX and max(pages_ms.values()) <= PAGE_MS_MAX


def _pages(index: Index) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield what is asked for, by a title: pages with each filter, with some at once, and far from the first."""
    newest = _FIRST + timedelta(hours=RUNS)
    filters = {
        "all": Filters(),
        "a run": Filters(run_id=(index.runs(Filters(), limit=1).rows[0].run_id,)),
        "a scenario": Filters(scenario=("sweep",)),
        "a transport": Filters(transport=("grpc",)),
        "two drivers": Filters(driver=("k6", "ghz")),
        "a concurrency": Filters(concurrency=(16,)),
        "an operation": Filters(operation=("users.create",)),
        "a machine": Filters(machine=("Another CPU, 64 cores",)),
        "a target": Filters(target=("kubernetes",)),
        "a time": Filters(since=newest - timedelta(days=8), until=newest - timedelta(days=7)),
        "many at once": Filters(scenario=("tls",), transport=("rest", "grpc"), driver=("ghz",), concurrency=(1,)),
        "what isn't there": Filters(operation=("nothing",)),
    }
    for title, each in filters.items():
        yield f"results: {title}", partial(index.results, each)
        yield f"runs: {title}", partial(index.runs, each)
    yield "results: the largest page", partial(index.results, Filters(), limit=PAGE_ROWS_MAX)
    cursor = None
    for _ in range(RUNS * 40 // PAGE_ROWS_MAX - 1):
        cursor = index.results(Filters(), limit=PAGE_ROWS_MAX, cursor=cursor).next_cursor
    yield "results: the last page", partial(index.results, Filters(), cursor=cursor)
    yield "choices", index.choices


def measure_ms(call: Callable[[], object], times: int = 3) -> float:
    """Return the median time of a call, in milliseconds; of several calls, one that isn't counted goes first."""
    found = []
    for _ in range(times + (times > 1)):
        started = time.perf_counter()
        call()
        found.append(1000 * (time.perf_counter() - started))
    return statistics.median(found[-times:])


def write_runs(folder: Path) -> int:
    """Write the runs, and return how many records they have."""
    random = np.random.default_rng(1)
    count = 0
    for number in range(RUNS):
        started_at = _FIRST + timedelta(hours=number)
        scenario = _SCENARIOS[random.integers(len(_SCENARIOS))]
        cells = list(_cells())
        changes = {
            "id": f"{started_at:%Y%m%dT%H%M%SZ}-{scenario}",
            "scenario": scenario,
            "started_at": started_at.isoformat(),
            "target": ("local", "kubernetes")[random.integers(2)],
            "machine": _MACHINES[random.integers(2)],
        }
        info = run_info(len(cells), BLOCKS, changes)
        records = folder / info.id / "records"
        records.mkdir(parents=True)
        (records.parent / "run.json").write_text(info.model_dump_json(indent=1))
        for block, (order, each) in itertools.product(range(1, BLOCKS + 1), enumerate(cells)):
            record = make_record(random, info, each, block, order)
            (records / f"{record.id}.json").write_text(record.model_dump_json(indent=1))
            count += 1
    return count


def _cells() -> Iterator[Cell]:
    for operation, concurrency in itertools.product(("users.get", "users.create"), (1, 4, 16, 64, 256)):
        for transport, driver in _WIRES:
            yield cell(transport, driver=driver, operation=operation, concurrency=concurrency)


def make_record(random: np.random.Generator, info: RunInfo, of: Cell, block: int, order: int) -> Record:
    """Return a record of a cell, at random."""
    median_ms = random.lognormal(0, 0.5)
    requests = int(random.integers(1_000, 100_000))
    service = Latency(
        count=requests, stdev_ms=0.4 * median_ms, **{f"{name}_ms": x * median_ms for name, x in _QUANTILES_MS.items()}
    )
    return Record(
        run=info.id,
        scenario=info.scenario,
        id=f"b{block:03d}-{of.id}",
        cell=of.id,
        block=block,
        order=order,
        factors=of.factors,
        window_start_unix_ns=1_790_000_000_000_000_000 + block * 10**12 + order * 10**10,
        window_end_unix_ns=1_790_000_005_000_000_000 + block * 10**12 + order * 10**10,
        window_s=5.0,
        requests=requests,
        requests_total=int(1.3 * requests),
        rate_achieved_per_s=requests / 5.0,
        rate_asked_per_s=None,
        errors={"unavailable": 3} if random.random() < _FAILING else {},
        error_texts=(),
        dropped_iterations=0,
        mismatches=0,
        service=service,
        response=None,
        merged={"service": service.model_copy(update={"count": block * requests})},
        histogram_file=f"histograms/b{block:03d}-{of.id}.json",
        server=Server(
            cpu_s=1.0,
            cpu_us_per_request=200 * median_ms,
            memory_bytes=61_000_000,
            throttled_periods=0,
            requests_by_worker={"0": requests},
            fairness=1.0,
        ),
        generator=Generator(cpu_share=0.55, cores=(1,), shares_cores_with_server=False),
        bytes_sent_per_request=143.0,
        bytes_received_per_request=312.0,
        gates=tuple(passed(name, passed=bool(random.random() > _FAILING)) for name in _GATES),
        versions=info.versions,
        machine=info.machine,
        commit=info.commit,
    )
