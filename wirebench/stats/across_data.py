"""Two runs held against each other, as data: what `wirebench compare --json` prints and the API answers."""

from __future__ import annotations

from collections import Counter
from typing import Any

from wirebench.stats.across import Across, Change
from wirebench.stats.across_words import remarks, sentence, summary
from wirebench.stats.summary import METRICS, CellSummary
from wirebench.store import RunInfo


def as_data(found: Across) -> dict[str, Any]:
    """Return what JSON can hold of a comparison; ratios are head / base, with their intervals, by metric."""
    return {
        "base": _run(found.base),
        "head": _run(found.head),
        "margin": found.margin,
        "summary": summary(found),
        "remarks": list(remarks(found)),
        "verdicts": dict(Counter(change.verdict for change in found.changes)),
        "regressions": len(found.regressions),
        "differences": [
            {"name": each.name, "base": each.base, "head": each.head, "keeps_apart": each.reason or None}
            for each in found.differences
        ],
        "cells": [_change(change) for change in found.changes],
        "only_in_base": [cell.cell for cell in found.only_in_base],
        "only_in_head": [cell.cell for cell in found.only_in_head],
    }


def _run(info: RunInfo) -> dict[str, Any]:
    return info.model_dump(
        include={"id", "scenario", "question", "target", "status", "started_at", "machine", "versions", "commit"}
    )


def _change(change: Change) -> dict[str, Any]:
    return {
        "cell": change.subject.cell,
        "factors": change.subject.factors,
        "metric": change.metric.name,
        "verdict": change.verdict,
        "regressed": change.regressed,
        "p_value": change.p_value,
        "ratios": change.ratios,
        "base": _figures(change.baseline),
        "head": _figures(change.subject),
        "failed_gates": [gate.name for gate in change.failed_gates],
        "reasons": list(change.reasons),
        "sentence": sentence(change),
    }


def _figures(cell: CellSummary) -> dict[str, Any]:
    figures = {name: cell.typical(metric) for name, metric in METRICS.items()}
    return {"blocks": len(cell.records), **{name: figure for name, figure in figures.items() if figure is not None}}
