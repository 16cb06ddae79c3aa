"""Runs whose throughput and latency are what a test says, block by block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from tests.support.report_run import Gates, RunBuilder
from wirebench.model.cell import Cell
from wirebench.model.histogram_file import Clock
from wirebench.model.record import Record
from wirebench.results.runs import Run, load_run
from wirebench.system.files import write_atomic

Figure = Callable[[Record], float]


def grow(count: float, one: float = 1000.0, sigma: float = 0.0, kappa: float = 0.0) -> float:
    """Return what so many serve by the universal scalability law."""
    return one * count / (1 + sigma * (count - 1) + kappa * count * (count - 1))


def draw_noise(seed: int, spread: float = 0.02) -> Callable[[], float]:
    """Return what draws factors around 1."""
    random = np.random.default_rng(seed)
    return lambda: float(random.lognormal(0, spread))


def write_run(  # noqa: PLR0913 - what a test varies
    folder: Path,
    cells: Sequence[Cell],
    rate: Figure,
    p99_ms: Figure = lambda _: 10.0,
    *,
    blocks: int = 4,
    gates: Gates = RunBuilder.gates,
) -> Run:
    """Write a run of these cells with these rates and p99s; each request takes 500 µs of CPU time."""
    run = RunBuilder(cells, blocks=blocks, samples=1200, gates=gates).write(folder)
    for record in run.records:
        clock: Clock = "response" if record.response else "service"
        p99 = {"p99_ms": p99_ms(record)}
        changed = record.model_copy(
            update={
                "rate_achieved_per_s": rate(record),
                clock: getattr(record, clock).model_copy(update=p99),
                "merged": {clock: record.merged[clock].model_copy(update=p99)},
                "server": record.server.model_copy(update={"cpu_us_per_request": 500.0}),
            }
        )
        write_atomic(run.folder / "records" / f"{record.id}.json", changed.model_dump_json())
    return load_run(run.folder)
