"""A run folder as a measurement leaves it, with latencies drawn from known distributions: what report tests read."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.histogram_files import make_file, make_series
from wirebench.drivers import Job
from wirebench.measure.figures import make_record
from wirebench.measure.observe import Observation
from wirebench.model.cell import Cell, find_defaults
from wirebench.model.contract import Transport
from wirebench.model.histogram import Histogram
from wirebench.model.histogram_file import Clock, HistogramFile
from wirebench.model.record import Gate, Record
from wirebench.model.run_info import Run, RunInfo
from wirebench.model.scenario import Load
from wirebench.store.runs import RunWriter, load_run

WINDOW_S = 1.6
START_NS = 1_790_000_000_000_000_000

#: What a request takes by transport: median latency at one connection and server CPU, both in milliseconds.
SPEEDS = {"rest": (1.1, 0.28), "grpc": (0.62, 0.16), "socket": (0.11, 0.02)}


def quick_cells() -> tuple[Cell, ...]:
    """Return the cells of the quick scenario."""
    wires: tuple[tuple[Transport, str, str, str], ...] = (
        ("rest", "gunicorn-gthread", "json", "wireload"),
        ("grpc", "sync", "protobuf", "wireload"),
        ("grpc", "sync", "protobuf", "ghz"),
        ("socket", "asyncio", "json", "wireload"),
    )
    return tuple(
        cell(transport, runtime=runtime, codec=codec, driver=driver, operation=operation, concurrency=concurrency)
        for operation, concurrency in itertools.product(("users.get", "users.create"), (1, 16))
        for transport, runtime, codec, driver in wires
    )


def worker_cells() -> tuple[Cell, ...]:
    """Return cells of two transports at one worker and at two."""
    transports: tuple[Transport, ...] = ("rest", "grpc")
    return tuple(cell(transport, workers=workers) for transport in transports for workers in (1, 2))


def cell(transport: Transport, **changes: object) -> Cell:
    """Return a cell of a transport at its defaults, changed."""
    defaults: dict[str, Any] = find_defaults(transport)
    return Cell(**defaults | {"concurrency": 16} | changes)


def passed(name: str = "error_rate", **changes: object) -> Gate:
    """Return a gate that passed, changed."""
    gate = Gate(
        name=name,
        passed=True,
        value=0.0,
        limit=0.001,
        unit="of requests",
        metrics=("throughput", "p50", "p99", "cpu"),
        advice="see the service's log",
    )
    return gate.model_copy(update=changes)


GENERATOR_GATE = passed(
    "generator_cpu",
    passed=False,
    value=0.97,
    limit=0.9,
    unit="of its cores",
    metrics=("throughput", "p50", "p99"),
    advice="give the generator more cores, or lower the concurrency",
)
SAMPLES_GATE = passed("samples", passed=False, value=300, limit=1000, unit="requests", metrics=("p99",))


#: The gates of all windows, or what makes those of a cell in a block.
Gates = tuple[Gate, ...] | Callable[[Cell, int], tuple[Gate, ...]]


@dataclass(frozen=True)
class RunBuilder:
    """Writes a run of these cells and blocks."""

    cells: Sequence[Cell] = field(default_factory=quick_cells)
    blocks: int = 3
    #: How many requests each window has; None for what its rate comes to, within 20,000.
    samples: int | None = None
    gates: Gates = (passed(),)
    seed: int = 7
    info: Mapping[str, Any] = field(default_factory=dict)
    #: Fields of all records, or what makes those of each.
    record: Mapping[str, Any] | Callable[[Record], Mapping[str, Any]] = field(default_factory=dict)
    server: Mapping[str, Any] = field(default_factory=dict)
    #: Which share of a block's requests takes six times as long.
    slow_share: Callable[[int], float] = lambda _block: 0.004
    #: How many times as fast as others a cell is.
    speed_up: Callable[[Cell], float] = lambda _cell: 1.0

    def write(self, folder: Path) -> Run:
        """Write the run's folder and read it back."""
        writer = RunWriter(folder, run_info(len(self.cells), self.blocks, self.info))
        random = np.random.default_rng(self.seed)
        for block in range(1, self.blocks + 1):
            for order, position in enumerate(random.permutation(len(self.cells))):
                self._write_record(writer, random, self.cells[position], block, order)
        return load_run(writer.folder)

    def _write_record(self, writer: RunWriter, random: np.random.Generator, of: Cell, block: int, order: int) -> None:
        median_ms, cpu_ms = SPEEDS[of.transport]
        median_ms *= random.lognormal(0, 0.03) * (0.4 + 0.6 * of.concurrency) / self.speed_up(of)
        if of.operation == "users.create":
            median_ms, cpu_ms = 1.25 * median_ms, 1.3 * cpu_ms
        if of.driver == "ghz":
            median_ms *= 1.02
        rate_per_s = of.rate_per_s or of.concurrency * 1000 / (1.08 * median_ms)
        requests = self.samples or min(int(rate_per_s * WINDOW_S), 20_000)
        slow_share = self.slow_share(block)
        clocks: dict[Clock, Histogram] = {"service": _histogram(random, median_ms, requests, slow_share)}
        if of.rate_per_s:
            clocks["response"] = _histogram(random, 1.2 * median_ms, requests, slow_share)
        file = make_file(
            START_NS,
            WINDOW_S,
            series=tuple(make_series(each, of.operation, clock=clock) for clock, each in clocks.items()),
            requests_total={"ok": requests},
            bytes_sent=143 * requests,
            bytes_received=312 * requests,
            bytes_requests=requests,
        )
        cpu_s = requests * cpu_ms / 1000 * random.lognormal(0, 0.02)
        record = record_of(writer.folder, of, file, block, cpu_s).model_copy(update={"order": order})
        gates = self.gates(of, block) if callable(self.gates) else self.gates
        server = record.server.model_copy(update=dict(self.server))
        record = record.model_copy(update={"rate_achieved_per_s": rate_per_s, "server": server, "gates": gates})
        changes = self.record(record) if callable(self.record) else self.record
        writer.add(record.model_copy(update=dict(changes)))


def record_of(folder: Path, of: Cell, file: HistogramFile, block: int = 1, cpu_s: float | None = 0.8) -> Record:
    """Return the record of what a driver measured of a cell, with its histogram file in the run's folder."""
    path = folder / "histograms" / f"b{block:03d}-{of.id}.json"
    path.parent.mkdir(exist_ok=True)
    job = Job(of, Load(warmup_s=0.5, window_s=WINDOW_S), "127.0.0.1:1", 1, 1, path, folder / "driver.log", None)
    observed = Observation(
        file=file,
        window_s=WINDOW_S,
        generator_cpu_s=0.1,
        generator_share=0.55,
        server_cpu_s=cpu_s,
        server_memory_bytes=61_000_000,
        server_throttled_periods=0,
    )
    return make_record(job, observed).model_copy(update={"block": block})


def run_info(cells: int, blocks: int, changes: Mapping[str, Any]) -> RunInfo:
    """Return what is said of a run with so many cells and blocks, changed."""
    info = RunInfo(
        id="20261121T101500Z-quick",
        scenario="quick",
        scenario_text="question: Which transport answers fastest?\nfactors:\n  transport: [rest, grpc, socket]\n",
        question="Which transport answers a small user call fastest, and what does it cost the server?",
        command="wirebench run scenarios/quick.yaml",
        target="local",
        seed=4711,
        blocks=blocks,
        cells=cells,
        status="complete",
        reason="",
        pid=1,
        started_at=datetime(2026, 11, 21, 10, 15, tzinfo=UTC),
        duration_s=112.4,
        conformance_requests=200,
        conformance_mismatches=(),
        compare="transport",
        equivalence_margin=0.05,
        versions={"wirebench": "0.1.0", "wireload": "0.1.0", "ghz": "0.93.0", "python": "3.11.7"},
        machine={"cpu": "Some CPU @ 2.50GHz", "cores": "2", "memory": "24 GiB", "system": "Linux 6.1"},
        notes=("server on core 0, generator on core 1",),
        commit="0123456789abcdef0123456789abcdef01234567",
    )
    return RunInfo.model_validate({**info.model_dump(), **changes})


def _histogram(random: np.random.Generator, median_ms: float, requests: int, slow_share: float) -> Histogram:
    values_ns = random.lognormal(np.log(1e6 * median_ms), 0.35, requests)
    slow = random.random(requests) < slow_share
    return Histogram.of_values(np.where(slow, 6 * values_ns, values_ns).astype(np.int64))
