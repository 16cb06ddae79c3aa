"""`/compare`: two runs held against each other, cell by cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from wirebench.errors import UsageError
from wirebench.index import Filters, Index, RunRow
from wirebench.report.charts.forest import LANES, Forest, Lane
from wirebench.report.numbers import moment, number
from wirebench.selection.parameters import Parameter, read, text
from wirebench.stats import METRICS, across_words, names
from wirebench.stats.across import Across, Change, across
from wirebench.stats.names import in_common
from wirebench.stats.words import interval
from wirebench.web.catalogue import Catalogue
from wirebench.web.pages.form import address
from wirebench.web.render import render

#: So many of the newest runs can be chosen from.
CHOICES_MAX = 200

_PARAMETERS = (
    Parameter(name="base", description="The run that the other is compared with.", parse=text),
    Parameter(name="head", description="The run that is judged.", parse=text),
    Parameter(name="run_id", description="Two runs: the older is the base.", parse=text, several=True),
)


@dataclass(frozen=True, slots=True)
class Choice:
    """A run that can be chosen."""

    run_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Cell:
    """What has become of a cell: in a sentence, as a picture, and in figures."""

    name: str
    verdict: str
    regressed: bool
    text: str
    lanes: Sequence[Lane]
    #: Of each metric that both runs measured: its label, base, head, and the ratio with its interval.
    figures: tuple[tuple[str, str, str, str], ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs, and all that is said of them."""

    across: Across
    summary: str
    remarks: tuple[str, ...]
    forest: Forest
    cells: tuple[Cell, ...]


def compare(request: Request) -> Response:
    """Answer with the comparison of two runs, or with the choice of them."""
    catalogue: Catalogue = request.app.state.catalogue
    pairs = [(name, value) for name, value in request.query_params.multi_items() if value]
    levels = read(pairs, _PARAMETERS)
    if chosen := levels["run_id"]:
        return RedirectResponse(_address_of(chosen), HTTPStatus.SEE_OTHER)
    base, head = (next(iter(levels[name]), "") for name in ("base", "head"))
    with catalogue.index() as index:
        choices = _choices(catalogue, index, base, head)
        before = "" if base or not head else _run_before(catalogue, index, head)
    found, notice = _compared(catalogue, base, head) if base and head else (None, "")
    return render(
        "compare.html.j2",
        here="/compare",
        base=base or before,
        head=head,
        choices=choices,
        notice=notice,
        found=found,
    )


def _address_of(chosen: Sequence[str]) -> str:
    """Return the address of the comparison of two runs, whose names begin with when they started."""
    if len(chosen) != 2:  # noqa: PLR2004 - a comparison is of two
        told = f"{len(chosen)} runs were chosen" if len(chosen) > 1 else "only one run was chosen"
        raise UsageError(f"{told}, and two can be compared", "go back, and tick two of them")
    base, head = sorted(chosen)
    return address("/compare", (("base", base), ("head", head)))


def _choices(catalogue: Catalogue, index: Index, *asked: str) -> Mapping[str, Sequence[Choice]]:
    """Return the runs that can be chosen by their scenarios, first that of what is asked for: others share no cell.

    The index may know of runs that aren't in the folder, with which nothing can be compared.
    """
    chosen = index.runs(Filters(run_id=tuple(filter(None, asked)))).rows if any(asked) else ()
    runs = {run.run_id: run for run in (*chosen, *index.runs(Filters(), limit=CHOICES_MAX).rows)}
    by_scenario: dict[str, list[RunRow]] = {}
    for run in runs.values():
        if catalogue.find_folder(run.run_id):
            by_scenario.setdefault(run.scenario, []).append(run)
    return {
        scenario: [_choice(run) for run in sorted(found, key=lambda run: run.started_at, reverse=True)]
        for scenario, found in by_scenario.items()
    }


def _run_before(catalogue: Catalogue, index: Index, run_id: str) -> str:
    """Return the run that a run is compared with most likely: the one before, of its scenario, machine and target."""
    for run in index.runs(Filters(run_id=(run_id,))).rows:
        like = Filters(scenario=(run.scenario,), machine=(run.machine,), target=(run.target,), until=run.started_at)
        others = (each.run_id for each in index.runs(like, limit=CHOICES_MAX).rows if each.run_id != run_id)
        return next(filter(catalogue.find_folder, others), "")
    return ""


def _choice(run: RunRow) -> Choice:
    return Choice(run.run_id, f"{moment(run.started_at.isoformat())} · {run.target} · {run.machine}")


def _compared(catalogue: Catalogue, base: str, head: str) -> tuple[Comparison | None, str]:
    """Compare two runs; if nothing in them can be compared, say why: others may be chosen."""
    runs = catalogue.run(base), catalogue.run(head)
    try:
        found = across(*runs)
    except UsageError as error:
        return None, f"{names.capitalised(error.message)}."
    return _comparison(found), ""


def _comparison(found: Across) -> Comparison:
    forest = Forest.of(found.changes, found.margin)
    return Comparison(
        across=found,
        summary=names.capitalised(across_words.summary(found)),
        remarks=tuple(map(names.capitalised, across_words.remarks(found))),
        forest=forest,
        cells=tuple(_cell(change, forest) for change in found.changes),
    )


def _cell(change: Change, forest: Forest) -> Cell:
    said = across_words.claim(change)
    return Cell(
        name=in_common(change.subject.factors),
        verdict=change.verdict,
        regressed=change.regressed,
        text=said[:1].upper() + said[1:],
        lanes=forest.lanes(change),
        figures=tuple(
            (
                f"{LANES[name]}, {METRICS[name].unit}" if name != "throughput" else LANES[name],
                number(change.baseline.typical(METRICS[name])),
                number(change.subject.typical(METRICS[name])),
                interval(ratio),
            )
            for name, ratio in change.ratios.items()
            if name in LANES
        ),
    )
