"""Comparisons within a run: cells that differ in one factor, block by block."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from wirebench.scenario.contract import COMES_WITH
from wirebench.stats.pair import Pair, block_by_block, failed_gates, judged, ratios, verdict
from wirebench.stats.summary import CellSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Pair):
    """Two cells of a run that differ in one factor.

    `instruments` marks two drivers of one cell: their ratio is the instruments' error, not a difference between
    services. `checks` are the comparisons of the same two services by other drivers: the verdict doesn't rest on them.
    """

    factor: str
    instruments: bool = False
    checks: tuple[Comparison, ...] = ()

    @property
    def subject_level(self) -> str:
        """The compared factor's level of the subject."""
        return str(self.subject.factors[self.factor])

    @property
    def baseline_level(self) -> str:
        """The compared factor's level of the baseline."""
        return str(self.baseline.factors[self.factor])

    @property
    def drivers(self) -> tuple[str, ...]:
        """The drivers of both cells: one, unless no driver measured both."""
        return tuple(dict.fromkeys(str(cell.factors["driver"]) for cell in (self.subject, self.baseline)))


def compare(cells: Sequence[CellSummary], factor: str, margin: float) -> tuple[Comparison, ...]:
    """Compare every two cells that differ in the factor and nothing else; and, besides, the drivers of one cell.

    Where several drivers measured the same two services, the verdict rests on the first of them, and the others check
    it. So do two drivers that have one service each, such as k6 for REST and ghz for gRPC. Of the drivers of one cell,
    the others are held against the first: two that agree with it agree.
    """
    measured = {(_service(cell), cell.factors["driver"]) for cell in cells}
    by_services: dict[tuple[_Service, _Service], list[Comparison]] = {}
    instruments: dict[str, Comparison] = {}
    for baseline, subject in itertools.combinations(cells, 2):
        if _alike_but_for(baseline, subject, ("driver",)):
            if baseline.cell not in instruments:
                pair = _compare(baseline, subject, "driver", margin)
                instruments[subject.cell] = replace(pair, instruments=True)
        elif _are_comparable(baseline, subject, factor, measured):
            services = (_service(baseline), _service(subject))
            by_services.setdefault(services, []).append(_compare(baseline, subject, factor, margin))
    judged_first = (replace(first, checks=tuple(checks)) for first, *checks in by_services.values())
    return (*judged_first, *instruments.values())


#: A cell, but for who measured it.
_Service = frozenset[tuple[str, object]]


def _service(cell: CellSummary) -> _Service:
    return frozenset((name, level) for name, level in cell.factors.items() if name != "driver")


def _are_comparable(
    baseline: CellSummary, subject: CellSummary, factor: str, measured: Collection[tuple[_Service, object]]
) -> bool:
    """Return whether two cells differ in a factor only: by one driver, or by two that measured one of them each."""
    if baseline.factors[factor] == subject.factors[factor]:
        return False
    free = (factor, *COMES_WITH.get(factor, ()))
    if not _alike_but_for(baseline, subject, (*free, "driver")):
        return False
    of_baseline, of_subject = baseline.factors["driver"], subject.factors["driver"]
    if of_baseline == of_subject:
        return True
    return (_service(baseline), of_subject) not in measured and (_service(subject), of_baseline) not in measured


def _alike_but_for(a: CellSummary, b: CellSummary, free: Collection[str]) -> bool:
    return all(a.factors[name] == b.factors[name] for name in a.factors if name not in free)


def _compare(baseline: CellSummary, subject: CellSummary, factor: str, margin: float) -> Comparison:
    metric = judged(baseline)
    measured = ratios(baseline, subject, block_by_block)
    # Between drivers, the instrument's error is what is looked for.
    beyond = None if factor == "driver" else margin
    gates = failed_gates(baseline, subject, metric, measured.get(metric.name), beyond)
    return Comparison(
        subject=subject,
        baseline=baseline,
        metric=metric,
        ratios=measured,
        verdict=verdict(measured.get(metric.name), metric, margin, withheld=bool(gates)),
        failed_gates=gates,
        margin=beyond,
        factor=factor,
    )
