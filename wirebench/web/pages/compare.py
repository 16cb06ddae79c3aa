"""`/compare`: two runs held against each other, cell by cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from wirebench.errors import UsageError
from wirebench.index import Filters, RunRow
from wirebench.report.charts.forest import LANES, Forest, Lane
from wirebench.report.numbers import moment, number
from wirebench.stats import METRICS, across_words, names
from wirebench.stats.across import Across, Change, across
from wirebench.stats.names import in_common
from wirebench.stats.words import interval
from wirebench.web.catalogue import Catalogue
from wirebench.web.pages.form import address
from wirebench.web.parameters import Parameter, read, text
from wirebench.web.render import render

#: So many of the newest runs can be chosen from.
CHOICES_MAX = 200

_PARAMETERS = (
    Parameter(name="base", description="The run that the other is held against.", parse=text),
    Parameter(name="head", description="The run that is held against it.", parse=text),
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
    return render(
        "compare.html.j2",
        here="/compare",
        base=base,
        head=head,
        choices=_choices(catalogue, base, head),
        found=_compared(catalogue, base, head) if base and head else None,
    )


def _address_of(chosen: Sequence[str]) -> str:
    """Return the address of the comparison of two runs, whose names begin with when they started."""
    if len(chosen) != 2:  # noqa: PLR2004 - a comparison is of two
        told = f"{len(chosen)} runs were chosen" if len(chosen) > 1 else "only one run was chosen"
        raise UsageError(f"{told}, and two can be compared", "go back, and tick two of them")
    base, head = sorted(chosen)
    return address("/compare", (("base", base), ("head", head)))


def _choices(catalogue: Catalogue, *asked: str) -> tuple[Choice, ...]:
    with catalogue.index() as index:
        newest = index.runs(Filters(), limit=CHOICES_MAX).rows
        known = {run.run_id for run in newest}
        others = tuple(run_id for run_id in asked if run_id and run_id not in known)
        older = index.runs(Filters(run_id=others)).rows if others else ()
    return tuple(map(_choice, (*newest, *older)))


def _choice(run: RunRow) -> Choice:
    return Choice(run.run_id, f"{moment(run.started_at.isoformat())} · {run.scenario} · {run.target} · {run.machine}")


def _compared(catalogue: Catalogue, base: str, head: str) -> Comparison:
    found = across(catalogue.run(base), catalogue.run(head))
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
