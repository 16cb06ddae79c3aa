"""A driver against the server of known latency, under one of the conditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.accuracy.conditions import FLAGS, LOADS, Case
from wirebench.measure.truth import TruthMeasurement, measure_truth
from wirebench.model.cell import Cell
from wirebench.model.factor import find_defaults
from wirebench.model.histogram import Histogram
from wirebench.model.histogram_file import merge
from wirebench.model.scenario import Load
from wirebench.targets import Cores

WARMUP_S = 1.0
STALL_S = 1.0


def merge_repetitions(parts: Sequence[TruthMeasurement]) -> TruthMeasurement:
    """Merge exactly: histograms and counts add up."""
    return TruthMeasurement(
        truth=sum((each.truth for each in parts), start=Histogram.empty()),
        file=merge([each.file for each in parts]),
        window_s=sum(each.window_s for each in parts),
        unstamped=sum(each.unstamped for each in parts),
    )


def measure(case: Case, seed: int, window_s: float, cores: Cores) -> TruthMeasurement:
    """Send the load once, with server and driver on cores of their own. Raises WirebenchError."""
    traffic = LOADS[case.load]
    stall = ["-stall-after", f"{WARMUP_S + (window_s - STALL_S) / 2}s", "-stall", f"{STALL_S}s"]
    levels: dict[str, Any] = {
        **find_defaults(case.transport),
        "transport": case.transport,
        "driver": case.driver,
        "concurrency": traffic.concurrency,
        "rate_per_s": traffic.rate_per_s,
    }
    load = Load(model="open" if traffic.rate_per_s else "closed", warmup_s=WARMUP_S, window_s=window_s)
    behaviour = ["-behaviour", case.behaviour, *stall, *FLAGS.get(case.behaviour, ())]
    return measure_truth(Cell(**levels), load, behaviour, seed, cores)
