"""`/history`: a cell's figure over the runs of a scenario, machines and targets kept apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from wirebench.history import Results, find_cells, named, read_histories
from wirebench.index import Filters, Index
from wirebench.report.charts.style import Style
from wirebench.report.numbers import ABSENT, moment, number
from wirebench.stats import METRICS
from wirebench.stats.across_words import withheld_for
from wirebench.stats.history import History, Point
from wirebench.stats.names import in_common
from wirebench.stats.words import interval
from wirebench.store import DamagedRun
from wirebench.web.catalogue import Catalogue
from wirebench.web.charts import history as chart
from wirebench.web.charts import plot
from wirebench.web.charts.plot import Plot
from wirebench.web.pages.form import Option
from wirebench.web.parameters import Parameter, one_of, read, text
from wirebench.web.parameters import moment as a_moment
from wirebench.web.render import render

_PARAMETERS = (
    Parameter(name="scenario", description="The scenario whose runs are looked at.", parse=text),
    Parameter(name="cell", description="A cell's name, or a part of it.", parse=text),
    Parameter(name="metric", description=f"The figure: {', '.join(METRICS)}.", parse=one_of(*METRICS)),
    Parameter(name="since", description="Only runs from this date on.", parse=a_moment()),
)


@dataclass(frozen=True, slots=True)
class Row:
    """A run: its figure with its interval, and what has become of it since the run before."""

    run_id: str
    started_at: str
    version: str
    blocks: int
    figure: str
    interval: str
    verdict: str
    change: str
    gates: str


@dataclass(frozen=True, slots=True)
class Shown:
    """The history of a cell; `tables` by machine and target."""

    name: str
    heading: str
    plot: Plot
    legend: tuple[Style, ...]
    tables: Mapping[str, tuple[Row, ...]]


@dataclass(frozen=True, slots=True)
class Page:
    """What the template shows; `history` is None while there is no run."""

    scenarios: tuple[Option, ...]
    cells: tuple[Option, ...]
    metrics: tuple[Option, ...]
    since: str
    notice: str
    history: Shown | None
    damaged: tuple[DamagedRun, ...]


def history(request: Request) -> Response:
    """Answer with the history of the cell that is asked for, or of the first of the newest run's scenario."""
    pairs = [(name, value) for name, value in request.query_params.multi_items() if value]
    levels = {name: next(iter(found), None) for name, found in read(pairs, _PARAMETERS).items()}
    page = _page(request.app.state.catalogue, levels, dict(pairs).get("since", ""))
    return render("history.html.j2", here="/history", page=page, size=plot)


def _page(catalogue: Catalogue, asked: Mapping[str, Any], since: str) -> Page:
    metric = METRICS[asked["metric"]] if asked["metric"] else None
    damaged: list[DamagedRun] = []
    with catalogue.index() as index:
        scenarios = index.choices().scenarios
        scenario = asked["scenario"] or _newest_scenario(index)
        cells = find_cells(index, scenario, {}, asked["since"]) if scenario else ()
    chosen = _chosen(cells, asked["cell"] or "")
    found = read_histories(chosen, catalogue.folder, metric, damaged.append)[0] if chosen else None
    names = [in_common(cell[-1].factors) for cell in cells]
    name = in_common(found.factors) if found else ""
    return Page(
        scenarios=_options({each: each for each in (*scenarios, *([scenario] if scenario else []))}, scenario),
        cells=_options({each: each for each in names}, name),
        metrics=_options({each.name: each.label for each in METRICS.values()}, found.metric.name if found else ""),
        since=since,
        notice=_notice(asked["cell"], name, scenario),
        history=_shown(found) if found else None,
        damaged=tuple(damaged),
    )


def _newest_scenario(index: Index) -> str:
    return next((result.scenario for result in index.results(Filters(), limit=1).rows), "")


def _chosen(cells: Sequence[Results], name: str) -> Sequence[Results]:
    """Return the first cell of that name, or else the first of all: the form keeps a name from another scenario."""
    return (named(cells, name) or cells)[:1] if name else cells[:1]


def _notice(asked: str | None, name: str, scenario: str) -> str:
    """Say that it is another cell which is shown, if it is."""
    if not asked or not name or asked.casefold() in name.casefold():
        return ""
    return f"{scenario} has no cell {asked}: this is the first that it has."


def _options(texts: Mapping[str, str], chosen: str) -> tuple[Option, ...]:
    return tuple(Option(value, label, value == chosen) for value, label in texts.items())


def _shown(found: History) -> Shown:
    metric = found.metric
    return Shown(
        name=in_common(found.factors),
        heading=metric.label if metric.unit == "1/s" else f"{metric.label}, {metric.unit}",
        plot=chart.draw(found),
        legend=tuple(chart.styles(found).values()),
        tables={line.name: tuple(map(_row, reversed(line.points))) for line in found.lines},
    )


def _row(point: Point) -> Row:
    figure, change = point.figure, point.change
    told = interval(change.ratios[change.metric.name]) if change and change.metric.name in change.ratios else ABSENT
    return Row(
        run_id=point.run.id,
        started_at=moment(point.run.started_at),
        version=point.version[: chart.VERSION_LENGTH],
        blocks=figure.blocks,
        figure=number(figure.estimate),
        interval=ABSENT if figure.low is None else f"{number(figure.low)}–{number(figure.high)}",
        verdict=change.verdict if change else "",
        change=f"{told} ({withheld_for(change)})" if change and change.verdict == "withheld" else told,
        gates=", ".join(gate.name.replace("_", " ") for gate in point.failed_gates) or "passed",
    )
