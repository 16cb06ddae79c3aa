"""What the numbers support: figures a cell, ratios with intervals, verdicts."""

from __future__ import annotations

from wirebench.stats.compare import Comparison, Verdict, compare
from wirebench.stats.ladder import Ladder, ladders
from wirebench.stats.ratio import Ratio, paired_ratio
from wirebench.stats.series import Series, numeric_factors, series
from wirebench.stats.summary import METRICS, CellSummary, Metric, summarise

__all__ = [
    "METRICS",
    "CellSummary",
    "Comparison",
    "Ladder",
    "Metric",
    "Ratio",
    "Series",
    "Verdict",
    "compare",
    "ladders",
    "numeric_factors",
    "paired_ratio",
    "series",
    "summarise",
]
