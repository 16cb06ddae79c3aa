"""What the numbers support: figures a cell, ratios with intervals, verdicts."""

from __future__ import annotations

from wirebench.stats.across import Across, Change, across
from wirebench.stats.compare import Comparison, compare
from wirebench.stats.conclude import answer, conclude
from wirebench.stats.ladder import Ladder, ladders
from wirebench.stats.pair import Pair, Verdict
from wirebench.stats.ratio import Ratio
from wirebench.stats.series import Series, numeric_factors, series
from wirebench.stats.summary import METRICS, CellSummary, Metric, by_factors, summarise

__all__ = [
    "METRICS",
    "Across",
    "CellSummary",
    "Change",
    "Comparison",
    "Ladder",
    "Metric",
    "Pair",
    "Ratio",
    "Series",
    "Verdict",
    "across",
    "answer",
    "by_factors",
    "compare",
    "conclude",
    "ladders",
    "numeric_factors",
    "series",
    "summarise",
]
