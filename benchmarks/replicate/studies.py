"""What is repeated: runs whose right verdicts are known, or that should not contradict each other."""

from __future__ import annotations

import functools
import math
import multiprocessing
import os
import random
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from wirebench.errors import WirebenchError
from wirebench.model.metric import METRICS
from wirebench.plan import read_scenario
from wirebench.plan.overrides import Override, parse_assignment
from wirebench.results.runs import Run
from wirebench.run import execute
from wirebench.run.target_options import TargetOptions, plan_for_target
from wirebench.system.paths import ROOT

Study = Literal["copies", "slower", "quick"]
Condition = Literal["quiet", "busy", "cluster"]

RUNS_FOLDER = ROOT / "results" / "replicate"
#: Percent of server CPU a request that variants of the study `slower` have more; one is a copy.
SLOWER_PERCENT = (0, 1, 5, 10)
_SERVICES = ("rest", "grpc", "socket")
_SCENARIOS = Path(__file__).parent
#: The share of each core's time that another program uses in busy runs, one after the other. The gate `interference`
#: allows the smaller ones.
BUSY_SHARES = (0.02, 0.05, 0.1, 0.3)
_BURST_S = 0.02
#: Iterations of the busy loop that are timed: about a third of a request's CPU time.
_TRIAL_ITERATIONS = 3000


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """How many runs of a study there are to be under a condition, and about how long each takes."""

    runs: int
    run_s: float


#: On a busy machine there are to be no more false verdicts; that takes fewer runs than to find differences.
PLANS: dict[tuple[Study, Condition], StudyPlan] = {
    # 24 comparisons a run: more than 400 are judged if gates withhold a third.
    ("copies", "quiet"): StudyPlan(27, 65),
    ("slower", "quiet"): StudyPlan(20, 170),
    ("quick", "quiet"): StudyPlan(20, 110),
    ("copies", "busy"): StudyPlan(27, 65),
    ("slower", "busy"): StudyPlan(10, 170),
    ("quick", "busy"): StudyPlan(10, 110),
    # Each cell has services of its own there.
    ("quick", "cluster"): StudyPlan(3, 900),
}


def count_runs_between(study: Study) -> int:
    """Return after how many runs the same cells come again."""
    return len(_SERVICES) if study == "copies" else 1


def measure(study: Study, condition: Condition, number: int) -> Run:
    """Measure the run of this number, counted from 0; in a busy one something else loads the machine meanwhile."""
    options = TargetOptions("kubernetes" if condition == "cluster" else "local")
    overrides: list[Override] = []
    path: str | Path = "quick"
    if study == "copies":
        service = _SERVICES[number % len(_SERVICES)]
        overrides = [parse_assignment("factors.variant=" + ",".join(f"{service}-{copy}" for copy in "abcd"))]
    if study != "quick":
        path = _SCENARIOS / f"{study}.yaml"
    if study == "slower":
        os.environ |= {f"LOOP_{percent}": str(n) for percent, n in compute_iterations().items()}
    scenario = read_scenario(path, overrides=overrides)
    with keep_busy(BUSY_SHARES[number % len(BUSY_SHARES)] if condition == "busy" else 0.0):
        return execute(plan_for_target(scenario, options), options, RUNS_FOLDER)


@contextmanager
def keep_busy(share: float) -> Iterator[None]:
    """Let one process for each core take about this share of its time, in bursts, until the block ends."""
    burners = [
        multiprocessing.get_context("spawn").Process(target=_burn, args=(share, core), daemon=True)
        for core in (sorted(os.sched_getaffinity(0)) if share else ())
    ]
    for burner in burners:
        burner.start()
    try:
        yield
    finally:
        for burner in burners:
            burner.terminate()
            burner.join()


def _burn(share: float, core: int) -> None:
    os.sched_setaffinity(0, {core})
    pauses = random.Random(core)  # noqa: S311 - pauses, not secrets
    while True:
        ends = time.monotonic() + _BURST_S
        while time.monotonic() < ends:
            pass
        time.sleep(pauses.expovariate(1 / (_BURST_S * (1 - share) / share)))


@functools.cache
def compute_iterations() -> dict[int, int]:
    """Return how many iterations of the busy loop add so many percent to the CPU time of a request.

    What an iteration takes is measured in the service: more than where nothing else runs.
    """
    os.environ |= {f"LOOP_{percent}": str(_TRIAL_ITERATIONS) for percent in SLOWER_PERCENT}
    overrides: Sequence[Override] = [
        parse_assignment("factors.variant=as-it-is,slower-by-10"),
        parse_assignment("blocks=10"),
    ]
    scenario = read_scenario(_SCENARIOS / "slower.yaml", overrides=overrides)
    run = execute(plan_for_target(scenario, TargetOptions()), out=RUNS_FOLDER, calibrate=False)
    request_us, longer_us = (
        [cost for record in run.records if record.factors["variant"] == variant and (cost := METRICS["cpu"].of(record))]
        for variant in ("as-it-is", "slower-by-10")
    )
    # Medians: other programs make some windows slower, and none faster.
    ratio = statistics.median(longer_us or [0]) / statistics.median(request_us or [math.inf])
    if ratio <= 1:
        raise WirebenchError(f"{run.info.id}: the loop's CPU time was not measured", "see the run's notes")
    return {percent: round(percent / 100 * _TRIAL_ITERATIONS / (ratio - 1)) for percent in SLOWER_PERCENT}
