"""Latency by percentile: a line for each cell through the percentiles that the index has, both scales logarithmic."""

from __future__ import annotations

import math
from collections.abc import Sequence

from wirebench.report.numbers import number
from wirebench.web.charts.plot import Figures, LogScale, Plot, Series, lay_out, shown

#: The percentiles, and which share of the requests is slower: one in so many.
ONE_IN = {"p50": 2, "p90": 10, "p95": 20, "p99": 100, "p99.9": 1_000}

_FIRST, _LAST = math.log(ONE_IN["p50"]), math.log(ONE_IN["p99.9"])
_PLACES = {name: (math.log(one_in) - _FIRST) / (_LAST - _FIRST) for name, one_in in ONE_IN.items()}
_TOLD = ("p50", "p99")


def draw(title: str, cells: Sequence[Series], scale: LogScale) -> Plot:
    """Lay out the cells of one operation and load, by their latencies in milliseconds."""
    columns, lines = lay_out(cells, _PLACES, scale)
    told = (
        f"{cell.style.name} {_in_words(cell.figures) or 'not measured'}{', where a gate failed' if cell.unfit else ''}"
        for cell in cells
    )
    description = f"Latency by percentile, {title}: {'; '.join(told)}"
    return Plot("Latency by percentile", "ms, less is better", description, scale.ticks, columns, lines)


def _in_words(latencies: Figures) -> str:
    return ", ".join(f"{name} {number(value)} ms" for name in _TOLD if (value := shown(latencies, name)))
