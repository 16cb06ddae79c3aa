"""The search for a service's capacity: open loads, until the highest rate that keeps an objective is known."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from wirebench.drivers import Job
from wirebench.measure.calibration import Calibration
from wirebench.measure.figures import make_record
from wirebench.measure.gates import GATES, RATE_ERROR_MAX
from wirebench.measure.observe import Observation
from wirebench.model.record import CapacitySearch, Gate, Record, SearchWindow
from wirebench.model.scenario import Load, Objective
from wirebench.model.variant import RATE_MAX

#: From a rate to the next one, as long as all were kept, or none was; and how far such steps grow.
_STEP = 1.25
_STEP_MAX = 4.0
#: What an open load can keep of the rate that a closed load reached, for a start.
_START_SHARE = 0.7
#: How many windows each end of the bracket has at least; where they disagree, one more decides.
_TESTS_MIN = 2
_GATES_OF_ALL_WINDOWS = frozenset(rule.name for rule in GATES if rule.is_of_all_windows)
#: A request that takes so many times as long as the objective, and so many seconds, isn't waited for.
_TIMEOUT_OVER_OBJECTIVE = 2
_TIMEOUT_S_MIN = 1.0


def search_capacity(
    job: Job,
    observe: Callable[[Job], Observation],
    ids_per_window: int,
    calibration: Calibration | None = None,
    spare_cores: float | None = None,
) -> Record:
    """Search for the capacity of the job's service, and return the record of the last window at it.

    `observe` sends the load of a job; each creates users with `ids_per_window` ids of its own. If no rate was kept, the
    record is that of the last window. Raises WirebenchError, as `observe` does.
    """
    load, objective = job.load, job.load.objective
    if objective is None:
        raise ValueError("a search needs an objective")
    timeout_s = load.timeout_s or max(_TIMEOUT_S_MIN, _TIMEOUT_OVER_OBJECTIVE * objective.p99_ms / 1000)
    record_window = partial(make_record, calibration=calibration, spare_cores=spare_cores)
    windows: list[SearchWindow] = []
    observed: list[tuple[Job, Observation, Record]] = []

    def measure(rate_per_s: int | None) -> Record:
        model = "closed" if rate_per_s is None else "open"
        own = replace(
            job,
            cell=replace(job.cell, shape=None, rate_per_s=rate_per_s),
            load=load.model_copy(update={"model": model, "timeout_s": timeout_s}),
            id_base=job.id_base + len(observed) * ids_per_window,
        )
        seen = observe(own)
        observed.append((own, seen, record_window(own, seen)))
        return observed[-1][2]

    closed_rate_per_s = None if load.from_rate_per_s else measure(None).rate_achieved_per_s
    first = choose_first_rate(load, closed_rate_per_s, seed=f"{job.seed} {job.cell.id}")
    while len(windows) < load.windows_max and (rate := choose_rate(windows, first, load.resolution)):
        windows.append(judge_window(measure(rate), objective))
    kept, missed = find_bounds(windows)
    search = CapacitySearch(
        p99_ms=objective.p99_ms,
        error_share=objective.error_share,
        resolution=load.resolution,
        closed_rate_per_s=closed_rate_per_s,
        rate_kept_per_s=kept,
        rate_missed_per_s=missed,
        windows=tuple(windows),
    )
    answers = observed[-len(windows) :]
    at_it = [place for place, each in enumerate(windows) if each.kept and each.rate_asked_per_s == kept]
    answer, seen, _ = answers[at_it[-1] if at_it else -1]
    record = record_window(answer, seen, search=search, searched=job.cell)
    # A window that was outvoted decided nothing.
    decided = [
        each
        for (_, _, each), window in zip(answers, windows, strict=True)
        if window.rate_asked_per_s == (kept if window.kept else missed)
    ]
    return record.model_copy(update={"gates": tuple(_choose_worst(gate, decided) for gate in record.gates)})


def _choose_worst(gate: Gate, of: Sequence[Record]) -> Gate:
    """Return a gate with its worst value in these windows, if it is one that looks at all of them."""
    if gate.name not in _GATES_OF_ALL_WINDOWS:
        return gate
    value = max((each.value for record in of for each in record.gates if each.name == gate.name), default=gate.value)
    return gate.model_copy(update={"value": value, "passed": value <= gate.limit})


def judge_window(record: Record, objective: Objective) -> SearchWindow:
    """Return what a window came to, and whether it kept the objective.

    It did if the p99 response time of the successful requests and the share of those that failed, or were never sent,
    are within the objective, and as many requests ended as were due, up to 1 %: otherwise a queue grew.
    """
    asked_per_s = round(record.rate_asked_per_s or 0)
    failed = record.failed + record.dropped_iterations
    due = record.requests + record.dropped_iterations
    kept = (
        record.response is not None
        and record.response.p99_ms <= objective.p99_ms
        and failed <= objective.error_share * due
        and record.requests / record.window_s >= (1 - RATE_ERROR_MAX) * asked_per_s
    )
    return SearchWindow(
        rate_asked_per_s=asked_per_s,
        rate_achieved_per_s=record.rate_achieved_per_s,
        requests=record.requests,
        failed=failed,
        p50_ms=record.response.p50_ms if record.response else None,
        p99_ms=record.response.p99_ms if record.response else None,
        kept=kept,
    )


def choose_first_rate(load: Load, closed_rate_per_s: float | None, seed: str) -> int:
    """Return the rate that a search begins with: where asked, or below what a closed load reached.

    It is shifted at random by up to half a step, since all other rates follow from it: blocks that had the same rates
    would hide how far they are apart.
    """
    about_per_s = load.from_rate_per_s or _START_SHARE * (closed_rate_per_s or 0.0)
    shift = random.Random(seed).random() - 0.5  # noqa: S311 - no secret
    return _limit(about_per_s * _STEP**shift)


def choose_rate(windows: Sequence[SearchWindow], first: int, resolution: float) -> int | None:
    """Return the rate of the next window, in requests/s; None if the answer is known, or no rate is left.

    A rate counts as kept if more of its windows kept the objective than missed it. Until one is kept and one is missed,
    each step is as large as all before it together. Then the bracket between the highest that is kept and the lowest
    that is missed is halved, on a logarithmic scale, down to the resolution. Then both ends are tested again: an end
    that changes sides moves the bracket, and the search continues there. So a disturbed window is put right, whichever
    way it went.
    """
    votes = _count_votes(windows)
    if not votes:
        return first
    if tied := [rate for rate, vote in votes.items() if not vote]:
        return tied[0]
    low, high = find_bounds(windows)
    if low is None or high is None:
        is_far = len({window.kept for window in windows}) == 1
        step = min(max(_STEP, max(votes) / min(votes)), _STEP_MAX) if is_far else _STEP
        # Rates are whole numbers: near 1, a step is less than one of them.
        rate = _limit(max(low + 1, low * step) if low else min(min(votes) - 1, min(votes) / step))
        return rate if rate not in votes else None
    middle = round(math.sqrt(low * high))
    if high > (1 + resolution) * low and low < middle < high:
        return middle
    asked = [window.rate_asked_per_s for window in windows]
    return next((rate for rate in (low, high) if asked.count(rate) < _TESTS_MIN), None)


def find_bounds(windows: Sequence[SearchWindow]) -> tuple[int | None, int | None]:
    """Return the highest rate that was kept, and the lowest that was missed."""
    votes = _count_votes(windows)
    kept = max((rate for rate, vote in votes.items() if vote > 0), default=None)
    return kept, min((rate for rate, vote in votes.items() if vote < 0), default=None)


def _count_votes(windows: Sequence[SearchWindow]) -> dict[int, int]:
    """Return, by rate, how many more windows kept the objective than missed it."""
    votes: dict[int, int] = {}
    for window in windows:
        votes[window.rate_asked_per_s] = votes.get(window.rate_asked_per_s, 0) + (1 if window.kept else -1)
    return votes


def _limit(rate_per_s: float) -> int:
    return min(max(round(rate_per_s), 1), RATE_MAX)
