"""What verdicts cost: gates, statistics and sentences of 1,000 cells in 10 blocks."""

from __future__ import annotations

import itertools
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.index import make_record
from tests.support.judged_window import GOOD
from tests.support.report_run import cell, run_info
from wirebench.analysis.compare_cells import find_comparisons
from wirebench.measure.gates import check_gates
from wirebench.model.contract import Transport
from wirebench.present.caveats import describe_disturbances
from wirebench.present.remarks import write_answer
from wirebench.present.sentences import describe_comparison
from wirebench.results.runs import Run

SECONDS_MAX = 3.0
BLOCKS = 10
_TRANSPORTS: tuple[Transport, ...] = ("rest", "grpc")


def main() -> bool:
    """Print seconds of CPU time against their limit; return whether it is kept."""
    run = _make_run()
    with tempfile.TemporaryDirectory(prefix="wirebench-") as folder:
        measured = GOOD.measure(Path(folder))
    started = time.process_time()
    for _ in run.records:
        check_gates(measured)
    gates_s = time.process_time() - started
    comparisons = find_comparisons(run)
    statistics_s = time.process_time() - started - gates_s
    sentences = [*map(describe_comparison, comparisons), *write_answer(run, comparisons), *describe_disturbances(run)]
    total_s = time.process_time() - started
    print(f"{run.info.cells:,} cells × {BLOCKS} blocks: {len(comparisons)} comparisons, {len(sentences)} sentences")
    print(
        f"  gates {gates_s:.2f} s, statistics {statistics_s:.2f} s, sentences {total_s - gates_s - statistics_s:.2f} s"
    )
    print(f"  total {total_s:.2f} s   limit {SECONDS_MAX:g} s")
    return total_s <= SECONDS_MAX


def _make_run() -> Run:
    random = np.random.default_rng(1)
    cells = [
        cell(transport, operation=operation, concurrency=concurrency)
        for transport, operation, concurrency in itertools.product(
            _TRANSPORTS, ("users.get", "users.create", "users.list", "users.delete", "echo.echo"), range(1, 101)
        )
    ]
    info = run_info(len(cells), BLOCKS, {})
    records = (
        make_record(random, info, each, block, order)
        for block in range(1, BLOCKS + 1)
        for order, each in enumerate(random.permutation(np.array(cells, dtype=object)))
    )
    return Run(Path(), info, tuple(records))
