"""`/history`: a cell's figure over the runs of a scenario, machines and targets kept apart."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from wirebench.errors import UsageError, WirebenchError
from wirebench.history import FoundCell, Paths, find_cells, named, none_here, paths_of, read_history, results_of
from wirebench.index import Choices, Filters, Index
from wirebench.report.charts.style import Style, styles_of_lines
from wirebench.report.numbers import ABSENT, moment, number
from wirebench.selection.filters import FILTERS, filters_of
from wirebench.selection.parameters import Parameter, one_of, read, text
from wirebench.stats import METRICS, Metric
from wirebench.stats.across import Change
from wirebench.stats.history import History, Point
from wirebench.stats.names import capitalised, in_common
from wirebench.stats.words import gate_names, interval
from wirebench.store import DamagedRun
from wirebench.store.progress import read_progress
from wirebench.store.results import load_info
from wirebench.web.catalogue import Catalogue
from wirebench.web.charts import history as chart
from wirebench.web.charts import plot
from wirebench.web.charts.plot import Plot
from wirebench.web.pages.findings import changed_ns
from wirebench.web.pages.form import Field, Moment, Option, fields, moment_fields
from wirebench.web.render import render

#: The filters of a history besides its scenario: those of runs.
_RUN_FILTERS = ("machine", "target", "since", "until")
_PARAMETERS = (
    Parameter(name="scenario", description="The scenario whose runs are looked at.", parse=text),
    Parameter(name="cell", description="A cell's name, or a part of it.", parse=text),
    Parameter(name="metric", description=f"The figure: {', '.join(METRICS)}.", parse=one_of(*METRICS)),
    *(each for each in FILTERS if each.name in _RUN_FILTERS),
)
#: A page reaches so many runs back: it is read while somebody waits. `wirebench history` reaches further.
_RUNS_MAX = 100
#: So many histories are kept: whoever looks at one looks at it again.
_KEPT_MAX = 16


@dataclass(frozen=True, slots=True)
class Row:
    """A run: its figure with its interval, and what has become of it since the run before."""

    run_id: str
    #: Empty if it is complete.
    status: str
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
    filters: tuple[Field, ...]
    moments: tuple[Moment, ...]
    notices: tuple[str, ...]
    history: Shown | None
    damaged: tuple[DamagedRun, ...]


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is asked for, by the names of the parameters."""

    levels: Mapping[str, tuple[Any, ...]]
    texts: Mapping[str, str]

    def one(self, name: str) -> str:
        """Return the level of a parameter that has one; empty if it isn't given."""
        return next(iter(self.levels[name]), "")

    def filters(self, scenario: str) -> Filters:
        """Return the filters, of this scenario."""
        nothing = {each.name: () for each in FILTERS}
        return filters_of({**nothing, **{name: self.levels[name] for name in _RUN_FILTERS}, "scenario": (scenario,)})


def history(request: Request) -> Response:
    """Answer with the history of the cell that is asked for, or of the first of the newest run's scenario.

    What one field is set to may not fit what another has just been set to: then something that is there is shown, and
    that it isn't what was asked for.
    """
    pairs = [(name, value) for name, value in request.query_params.multi_items() if value]
    page = _page(request.app.state.catalogue, _Asked(read(pairs, _PARAMETERS), dict(pairs)))
    return render("history.html.j2", here="/history", page=page, size=plot)


def _page(catalogue: Catalogue, asked: _Asked) -> Page:
    notices: list[str] = []
    with catalogue.index() as index:
        choices = index.choices()
        scenario = asked.one("scenario") or _newest_scenario(index)
        filters = asked.filters(scenario)
        cells = _cells(index, filters, notices) if scenario else ()
        cell = _chosen(cells, asked.one("cell"), scenario, notices) if cells else None
        results = results_of(index, filters, cell, _RUNS_MAX) if cell else ()
    if cell and cell.runs > len(results):
        notices.append(f"These are the newest {len(results)} of {cell.runs} runs; choose others by their days.")
    paths = paths_of(results, catalogue.folder)
    if cell and not paths:
        notices.append(_said(none_here(scenario)))
    found, damaged = _read(paths, METRICS.get(asked.one("metric")), notices)
    metrics = found.metrics if found else tuple(METRICS.values())
    return Page(
        scenarios=_options({each: each for each in dict.fromkeys((*choices.scenarios, scenario)) if each}, scenario),
        cells=_options({each.name: each.name for each in cells}, cell.name if cell else ""),
        metrics=_options(
            {each.name: each.label for each in metrics}, found.metric.name if found else asked.one("metric")
        ),
        filters=_filters(asked, choices),
        moments=moment_fields(asked.levels, asked.texts),
        notices=tuple(notices),
        history=_shown(found) if found else None,
        damaged=damaged,
    )


def _newest_scenario(index: Index) -> str:
    return next((result.scenario for result in index.results(Filters(), limit=1).rows), "")


def _cells(index: Index, filters: Filters, notices: list[str]) -> tuple[FoundCell, ...]:
    """Return the cells of a scenario; if there are none, say why."""
    try:
        return find_cells(index, filters, {})
    except UsageError as error:
        notices.append(_said(error))
        return ()


def _said(error: UsageError) -> str:
    return f"{capitalised(error.message)}: {error.hint}."


def _chosen(cells: Sequence[FoundCell], name: str, scenario: str, notices: list[str]) -> FoundCell:
    """Return the first cell of that name, or else the first of all: the form keeps a name from another scenario."""
    if of_name := named(cells, name):
        return of_name[0]
    notices.append(f"{scenario} has no cell {name}: this is the first that it has.")
    return cells[0]


def _read(paths: Paths, metric: Metric | None, notices: list[str]) -> tuple[History | None, tuple[DamagedRun, ...]]:
    """Return the history in a figure, or else in that which verdicts are on: the form keeps a figure, too."""
    states = tuple(_state(path) for path, _ in paths)
    found, damaged = _kept(paths, states, metric)
    if found or not metric or not paths:
        return found, damaged
    found, damaged = _kept(paths, states, None)
    if found:
        notices.append(f"{in_common(found.factors)} has no {metric.label}: this is {found.metric.label}.")
    return found, damaged


@functools.lru_cache(maxsize=_KEPT_MAX)
def _kept(
    paths: Paths, _states: tuple[tuple[int, str], ...], metric: Metric | None
) -> tuple[History | None, tuple[DamagedRun, ...]]:
    """Return the history of runs in these states: one that was read is kept as long as none of its runs changes."""
    damaged: list[DamagedRun] = []
    return read_history(paths, metric, damaged.append), tuple(damaged)


def _state(folder: Path) -> tuple[int, str]:
    """Return what is another once a run has changed: when it was written, and whether one that goes was killed."""
    if read_progress(folder) is None:
        return changed_ns(folder), ""
    try:
        return changed_ns(folder), load_info(folder).status
    except WirebenchError as error:
        return changed_ns(folder), error.message


def _filters(asked: _Asked, choices: Choices) -> tuple[Field, ...]:
    """Return the filters that are chosen from: machines and targets."""
    levels = {each.name: asked.levels.get(each.name, ()) for each in FILTERS}
    return tuple(each for each in fields(levels, choices) if each.name in _RUN_FILTERS)


def _options(texts: Mapping[str, str], chosen: str) -> tuple[Option, ...]:
    return tuple(Option(value, label, value == chosen) for value, label in texts.items())


def _shown(found: History) -> Shown:
    metric = found.metric
    return Shown(
        name=in_common(found.factors),
        heading=metric.heading,
        plot=chart.draw(found),
        legend=tuple(styles_of_lines(line.name for line in found.lines).values()),
        tables={line.name: tuple(map(_row, reversed(line.points))) for line in found.lines},
    )


def _row(point: Point) -> Row:
    figure, change = point.figure, point.change
    told = interval(change.ratios[change.metric.name]) if change and change.metric.name in change.ratios else ABSENT
    reason = _reason(change, point) if change else ""
    return Row(
        run_id=point.run.id,
        status="" if point.run.status == "complete" else point.run.status,
        started_at=moment(point.run.started_at),
        version=point.version[: chart.VERSION_LENGTH],
        blocks=figure.blocks,
        figure=number(figure.estimate),
        interval=ABSENT if figure.low is None else f"{number(figure.low)}–{number(figure.high)}",
        verdict=change.verdict if change else "",
        change=f"{told} ({reason})" if reason else told,
        gates=gate_names(point.failed_gates) or "passed",
    )


def _reason(change: Change, point: Point) -> str:
    """Say why there is no verdict, as far as it isn't in the row: its own gates stand beside."""
    own = {gate.name for gate in point.failed_gates}
    before = any(gate.name not in own for gate in change.failed_gates)
    return "; ".join((*change.reasons, *(["a gate failed in the run before"] if before else [])))
