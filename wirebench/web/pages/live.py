"""`/runs/<id>` while the run goes on: how far it is, and what it measures at the moment.

No verdicts: who sees them come and go is tempted to stop where they please.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from starlette.responses import Response

from wirebench.report.numbers import ABSENT, number
from wirebench.stats.names import counted
from wirebench.store import RunInfo
from wirebench.store.progress import SILENT_S, Figures, RunProgress
from wirebench.web.charts import live as chart
from wirebench.web.charts.live import LiveChart
from wirebench.web.render import render

_CLOCKS = {"service": "service time", "response": "response time", "gap": "gap between items"}


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure and what it is of."""

    label: str
    value: str
    unit: str


@dataclass(frozen=True, slots=True)
class Part:
    """What is shown of one cell: its name, its figures, and what is to be said of them."""

    cell: str
    figures: tuple[Figure, ...]
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Live:
    """What the page shows. `said` is for screen readers, and changes with each tenth of the run."""

    done: int
    total: int
    measured: str
    left: str
    step: str
    remark: str
    said: str
    now: Part
    last: Part
    charts: tuple[LiveChart, ...]


def live(info: RunInfo, progress: RunProgress | None) -> Response:
    """Answer with the page of a run in progress."""
    return render("live.html.j2", info=info, live=_laid_out(info, progress), size=chart)


def left_in_words(progress: RunProgress) -> str:
    """Say how long a run will still take, in minutes and seconds."""
    seconds = round(progress.left_s)
    return f"about {seconds // 60}:{seconds % 60:02d} left"


def _laid_out(info: RunInfo, progress: RunProgress | None) -> Live:
    if progress is None:
        total = info.cells * info.blocks
        remark = "There is no news of it yet: it is being set up."
        return Live(0, total, "", "", "", remark, "", _part(None), _part(None), _charts(None))
    tenths = 10 * progress.done // progress.total
    return Live(
        done=progress.done,
        total=progress.total,
        measured=f"{progress.done:,} of {counted(progress.total, 'cell')} measured",
        left=left_in_words(progress),
        step=progress.step,
        remark=_silence(progress),
        said=f"{10 * tenths} % measured",
        now=_now(progress),
        last=_part(progress.last),
        charts=_charts(progress),
    )


def _silence(progress: RunProgress) -> str:
    silent_s = progress.silent_s()
    if silent_s < SILENT_S:
        return ""
    return f"Nothing was heard of it for {silent_s:,.0f} s: its process may have been stopped, or be unable to write."


def _now(progress: RunProgress) -> Part:
    shown = _part(progress.now)
    if progress.now or progress.cell is None:
        return shown
    remark = "No second of its window is over yet."
    if not progress.tells_each_second:
        remark = f"{progress.driver} tells nothing before it ends: its figures come when the cell is done."
    return Part(progress.cell, shown.figures, remark)


def _part(figures: Figures | None) -> Part:
    """Lay out what was measured, or the same without any figure."""
    if figures is None:
        return Part(ABSENT, (Figure("rate", ABSENT, "requests/s"), Figure("p99", ABSENT, "ms")))
    rate = Figure("rate", number(figures.rate_per_s), "requests/s")
    if figures.items_per_s is not None:
        rate = Figure("rate", number(figures.items_per_s), "items/s")
    p99 = ABSENT if figures.p99_ms is None else number(figures.p99_ms)
    shown = [rate, Figure(f"p99 {_CLOCKS[figures.clock]}" if figures.clock else "p99", p99, "ms")]
    if figures.failed_per_s:
        shown.append(Figure("failed", number(figures.failed_per_s), "requests/s"))
    return Part(figures.cell, tuple(shown))


def _charts(progress: RunProgress | None) -> tuple[LiveChart, ...]:
    history = progress.history if progress else ()
    now = progress.updated_at if progress else datetime.now(UTC)
    streams = bool(progress and (shown := progress.now or progress.last) and shown.items_per_s is not None)
    return (
        chart.draw("Rate", "items/s" if streams else "requests/s", history, lambda point: point.rate_per_s, now),
        chart.draw("p99", "ms", history, lambda point: point.p99_ms, now),
    )
