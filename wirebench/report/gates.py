"""The gates that failed, each once: how far, where, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wirebench.stats import METRICS, CellSummary
from wirebench.stats.names import gate_name
from wirebench.store import Gate


@dataclass(frozen=True, slots=True)
class FailedGate:
    """One gate over the whole run. `worst` and `limit` are amounts in words, empty where there is only yes or no."""

    name: str
    worst: str
    limit: str
    advice: str
    metrics: str
    failures: int
    checks: int
    #: Cells, with the blocks in which the gate failed.
    where: tuple[str, ...]


def failed_gates(cells: Sequence[CellSummary]) -> tuple[FailedGate, ...]:
    """Gather the failures of all cells by gate, the most frequent first."""
    records = tuple(record for cell in cells for record in cell.records)
    failed = [
        _gather(gate, cells, checks=sum(each.name == gate.name for record in records for each in record.gates))
        for gate in CellSummary("", {}, records).failed_gates()
    ]
    return tuple(sorted(failed, key=lambda gate: -gate.failures))


def _gather(worst: Gate, cells: Sequence[CellSummary], checks: int) -> FailedGate:
    where, failures = [], 0
    for cell in cells:
        blocks = [
            str(record.block)
            for record in cell.records
            if any(gate.name == worst.name and not gate.passed for gate in record.gates)
        ]
        failures += len(blocks)
        if blocks:
            plural = "s" if len(blocks) > 1 else ""
            where.append(f"{cell.full_name} (block{plural} {', '.join(blocks)})")
    return FailedGate(
        name=gate_name(worst.name),
        worst=_amount(worst.value, worst.unit),
        limit=_amount(worst.limit, worst.unit),
        advice=worst.advice,
        metrics=", ".join(METRICS[name].label if name in METRICS else name for name in worst.metrics),
        failures=failures,
        checks=checks,
        where=tuple(where),
    )


def _amount(value: float, unit: str) -> str:
    if not unit:
        return ""
    if unit.startswith(("of ", "from ")):  # a share of something
        return f"{_digits(100 * value)} % {unit}"
    return f"{_digits(value)} {unit}"


def _digits(value: float) -> str:
    """Write as many digits as count."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"  # noqa: PLR2004 - no more digits count
