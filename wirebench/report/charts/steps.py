"""A ladder: a row a rung, its figure as a bar, and what was added or taken away since the rung before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from wirebench.report.charts.style import GRID, INK, MUTED, Style
from wirebench.report.charts.svg import FONT_SIZE, SMALL_FONT_SIZE, inline, new_axes
from wirebench.report.numbers import number

ROW_HEIGHT = 58


@dataclass(frozen=True, slots=True)
class Step:
    """One rung: its name is that of its style; `change` says what is different from the rung before."""

    style: Style
    value: float
    change: str


def draw(name: str, description: str, steps: Sequence[Step]) -> Markup:
    """Draw the rungs from the top; the bold part of a bar is what its step added, the hollow one what it took away."""
    figure, axes = new_axes(ROW_HEIGHT * len(steps) + 26, left=3, right=9, top=2, bottom=24)
    axes.set_ylim(len(steps) - 0.55, -0.7)
    axes.set_xlim(0, max(step.value for step in steps) * 1.04)
    axes.yaxis.set_major_locator(NullLocator())
    axes.xaxis.set_major_locator(MaxNLocator(nbins=4, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    axes.grid(axis="x", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    before = steps[0].value
    across = axes.get_yaxis_transform()
    for row, step in enumerate(steps):
        text: dict[str, Any] = {"transform": across, "parse_math": False}
        axes.text(0, row - 0.38, step.style.name, fontsize=FONT_SIZE, color=INK, **text)
        figures = number(step.value) + (f"  ({step.value / before - 1:+.0%})" if row else "")
        axes.text(1, row - 0.38, figures, fontsize=FONT_SIZE, fontweight="bold", ha="right", color=INK, **text)
        axes.text(0, row - 0.12, step.change, fontsize=SMALL_FONT_SIZE, color=MUTED, **text)
        colour = step.style.colour
        axes.barh(row + 0.16, min(step.value, before), height=0.22, color=colour, alpha=0.3, linewidth=0)
        change = step.value - before
        if change > 0:
            axes.barh(row + 0.16, change, left=before, height=0.22, color=colour, linewidth=0)
        elif change < 0:
            axes.barh(row + 0.16, change, left=before, height=0.22, fill=False, edgecolor=colour, linestyle=(0, (2, 2)))
        before = step.value
    return inline(figure, name, description)
