"""A load that changes, over the time of its window: what was asked for, and how long users waited."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from wirebench.report.charts import curves
from wirebench.report.charts.curves import Curve
from wirebench.report.charts.style import Style
from wirebench.report.picture import Groups, Picture
from wirebench.stats import CellSummary

_AXIS = "s from the window's start"


def pictures(groups: Groups, looks: Mapping[str, Style]) -> tuple[Picture, ...]:
    """Draw the rate asked for and the waits over time, for each group whose load changes.

    The median and the slowest: a part of a window has too few requests for a quantile between them.
    """
    return tuple(
        picture
        for index, (title, cells) in enumerate(groups.items())
        if any(record.over_time for cell in cells for record in cell.records)
        for picture in _of_group(f"over-time-{index}", title, cells, looks)
    )


def _of_group(name: str, title: str, cells: Sequence[CellSummary], looks: Mapping[str, Style]) -> Iterator[Picture]:
    asked = [curve for cell in cells if (curve := _asked(cell, looks[cell.name]))]
    # All cells of a group are asked for the same.
    chart = curves.draw(f"{name}-asked", f"Requests a second asked for, {title}", asked[:1], _AXIS, is_log=False)
    yield Picture(f"requests/s asked for: {title}", chart)
    for what, field in (("p50", "p50_ms"), ("slowest", "max_ms")):
        waited = [curve for cell in cells if (curve := _waited(cell, looks[cell.name], field))]
        if waited:
            chart = curves.draw(f"{name}-{field}", f"{what} response time, {title}", waited, _AXIS, is_log=True)
            yield Picture(f"{what}, ms: {title}", chart)


def _asked(cell: CellSummary, style: Style) -> Curve | None:
    slices = next((record.over_time for record in cell.records if record.over_time), ())
    if not slices:
        return None
    at = np.array([(each.start_s + each.end_s) / 2 for each in slices])
    return Curve(style, at, np.array([each.rate_asked_per_s for each in slices]))


def _waited(cell: CellSummary, style: Style, field: str) -> Curve | None:
    """Return a figure of each part of the window: the blocks' median, between their least and their greatest."""
    blocks = [record.over_time for record in cell.records if record.over_time]
    points = []
    for parts in zip(*blocks, strict=True):
        known = [value for each in parts if (value := getattr(each, field)) is not None]
        if known:
            points.append(((parts[0].start_s + parts[0].end_s) / 2, np.median(known), min(known), max(known)))
    if not points:
        return None
    at, median, least, greatest = _columns(points)
    return Curve(style, at, median, (least, greatest) if len(blocks) > 1 else None)


def _columns(points: Sequence[tuple[float, ...]]) -> tuple[NDArray[np.float64], ...]:
    return tuple(np.array(column, dtype=np.float64) for column in zip(*points, strict=True))
