"""Comparisons within a run: cells that differ in one factor, block by block."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from wirebench.analysis.pair import Comparison, compute_ratios, judge
from wirebench.analysis.ratio import Ratio, paired_ratio
from wirebench.analysis.summary import CellSummary, summarise
from wirebench.model.cell import FACTORS
from wirebench.model.metric import METRICS, Metric
from wirebench.model.run_info import Run, RunInfo

#: A cell, but for who measured it.
_Service = frozenset[tuple[str, object]]


def find_comparisons(run: Run, cells: Sequence[CellSummary] | None = None) -> tuple[Comparison, ...]:
    """Compare every two cells that differ in the run's factor and nothing else; and, besides, the drivers of one cell.

    `cells`, if given, were made of the run's. None are compared while it is running: verdicts that come and go tempt
    readers to stop at the one they like.

    Where several drivers measured the same two services, the verdict rests on the first of them, and the others check
    it. So do two drivers that have one service each, such as k6 for REST and ghz for gRPC. Of the drivers of one cell,
    the others are compared with the first: two that agree with it agree. Verdicts, those that check them, gains and the
    drivers of one cell are each corrected for their number, and for how often the run is looked at.
    """
    info, factor = run.info, run.info.compare
    if info.status == "running":
        return ()
    cells = summarise(run.records, factor) if cells is None else cells
    measured = {(_identify_service(cell), cell.factors["driver"]) for cell in cells}
    by_services: dict[tuple[_Service, _Service], list[Comparison]] = {}
    instruments: dict[str, Comparison] = {}
    for baseline, subject in _pair_cells(cells, (factor, *FACTORS[factor].comes_with, "driver")):
        services = (_identify_service(baseline), _identify_service(subject))
        if services[0] == services[1]:
            if baseline.cell not in instruments:
                pair = _compare(baseline, subject, "driver", info)
                instruments[subject.cell] = replace(pair, instruments=True)
        elif _are_comparable(baseline, subject, factor, measured):
            by_services.setdefault(services, []).append(_compare(baseline, subject, factor, info))
    first = judge([each[0] for each in by_services.values()])
    checks = iter(judge([check for _, *rest in by_services.values() for check in rest]))
    steps = _find_gains(first)
    gains = iter(judge([gain for of_step in steps for gain in of_step]))
    judged = (
        replace(
            each,
            checks=tuple(itertools.islice(checks, len(all_drivers) - 1)),
            gains=tuple(itertools.islice(gains, len(of_step))),
        )
        for each, all_drivers, of_step in zip(first, by_services.values(), steps, strict=True)
    )
    return (*judged, *judge(list(instruments.values())))


def _pair_cells(cells: Sequence[CellSummary], free: Collection[str]) -> Iterator[tuple[CellSummary, CellSummary]]:
    """Yield every two cells that are alike but for these factors, in the order of the cells."""
    alike: dict[tuple[object, ...], list[int]] = {}
    for place, cell in enumerate(cells):
        others = tuple(level for name, level in cell.factors.items() if name not in free)
        alike.setdefault(others, []).append(place)
    pairs = itertools.chain.from_iterable(itertools.combinations(places, 2) for places in alike.values())
    yield from ((cells[a], cells[b]) for a, b in sorted(pairs))


def _identify_service(cell: CellSummary) -> _Service:
    return frozenset((name, level) for name, level in cell.factors.items() if name != "driver")


def _are_comparable(
    baseline: CellSummary, subject: CellSummary, factor: str, measured: Collection[tuple[_Service, object]]
) -> bool:
    """Return whether two of a pair differ in the factor: by one driver, or by two that measured one of them each."""
    if baseline.factors[factor] == subject.factors[factor]:
        return False
    of_baseline, of_subject = baseline.factors["driver"], subject.factors["driver"]
    if of_baseline == of_subject:
        return True
    swapped = ((_identify_service(baseline), of_subject), (_identify_service(subject), of_baseline))
    return not any(each in measured for each in swapped)


def _compare(baseline: CellSummary, subject: CellSummary, factor: str, info: RunInfo) -> Comparison:
    metric = baseline.judged_metric
    # Of requests/s, a margin in µs is one of the mean latency, which is their reciprocal in a closed load.
    latency_ms = baseline.typical(metric if metric.unit == "ms" else METRICS["mean"])
    margin_us = info.equivalence_margin_us
    return Comparison(
        subject=subject,
        baseline=baseline,
        metric=metric,
        ratios=compute_ratios(baseline, subject, _compute_paired_ratio),
        margin=margin_us / 1000 / latency_ms if margin_us and latency_ms else info.equivalence_margin,
        is_calibrated=factor != "driver",
        factor=factor,
    )


def _compute_paired_ratio(baseline: CellSummary, subject: CellSummary, metric: Metric) -> Ratio | None:
    """Return the ratio of two cells that were measured in the same blocks."""
    of_baseline, of_subject = baseline.by_block(metric), subject.by_block(metric)
    blocks = sorted(of_baseline.keys() & of_subject.keys())
    if not blocks:
        return None
    return paired_ratio([of_subject[block] for block in blocks], [of_baseline[block] for block in blocks])


def _find_gains(steps: Sequence[Comparison]) -> list[list[Comparison]]:
    """Return what each step does against the same step of other transports or variants that come before it."""
    own = ("transport", "variant")
    free = {*own, *(each for name in own for each in FACTORS[name].comes_with)}
    same: dict[tuple[object, ...], list[Comparison]] = {}
    gains = []
    for step in steps:
        both = (step.subject.factors, step.baseline.factors)
        levels = (level for factors in both for name, level in factors.items() if name not in free)
        before = same.setdefault((step.factor, step.metric.name, *levels), [])
        others = (each for each in before if any(each.subject.factors[name] != both[0][name] for name in own))
        gains.append([_compare_steps(step, other) for other in others if step.factor not in free])
        before.append(step)
    return gains


def _compare_steps(step: Comparison, other: Comparison) -> Comparison:
    """Compare two steps by the ratio of their ratios, block by block; none where no block has all four cells."""
    figures = [cell.by_block(step.metric) for each in (step, other) for cell in (each.subject, each.baseline)]
    blocks = sorted(set.intersection(*map(set, figures)))
    ratios = [[above[block] / below[block] for block in blocks] for above, below in (figures[:2], figures[2:])]
    return Comparison(
        factor="transport",
        subject=step.subject,
        baseline=other.subject,
        metric=step.metric,
        ratios={step.metric.name: paired_ratio(*ratios)} if blocks else {},
        margin=step.margin,
        is_calibrated=False,
        other_failed_gates=(*other.failed_gates, *step.failed_gates),
    )
