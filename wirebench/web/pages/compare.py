"""`/compare`: two runs compared cell by cell."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from http import HTTPStatus

from pydantic import Field
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from wirebench.analysis.compare_runs import compare_runs
from wirebench.analysis.results import RunRow
from wirebench.errors import UsageError
from wirebench.model.labels import capitalise
from wirebench.present.numbers import format_moment
from wirebench.present.table import make_comparison_table
from wirebench.present.two_runs import make_run_comparison_view
from wirebench.store.query import Filters, Query, Single
from wirebench.store.store import Store
from wirebench.web.pages.form import make_address
from wirebench.web.render import render_template

#: So many of the newest runs can be chosen from.
CHOICES_MAX = 200


class ComparePageQuery(Query):
    """The two runs, or a choice of two, of which the older is the base."""

    base: Single[str] = Field(None, description="The run that the other is compared with.")
    head: Single[str] = Field(None, description="The run that is judged.")
    run_id: tuple[str, ...] = Field((), description="Two runs: the older is the base.")


def show_comparison(request: Request) -> Response:
    """Answer with the comparison of two runs, or with the choice of them."""
    store: Store = request.app.state.store
    query = ComparePageQuery.read(request.query_params.multi_items())
    if query.run_id:
        return RedirectResponse(_make_address({*query.run_id}), HTTPStatus.SEE_OTHER)
    base, head = query.base or "", query.head or ""
    store.update()
    choices = _list_choices(store, base, head)
    before = "" if base or not head else _run_before(store, head)
    found, notice = None, ""
    if base and head:
        runs = store.load(base), store.load(head)
        try:
            found = make_run_comparison_view(compare_runs(*runs))
        except UsageError as error:  # nothing in them can be compared; others may be chosen
            notice = f"{capitalise(error.message)}."
    text = render_template(
        "compare.html.j2",
        current_page="/compare",
        base=base or before,
        head=head,
        choices=choices,
        notice=notice,
        found=found,
        changes=make_comparison_table(found.changes) if found else None,
    )
    return HTMLResponse(text)


def _make_address(chosen: Collection[str]) -> str:
    """Return the address of the comparison of two runs, whose names begin with when they started."""
    if len(chosen) != 2:  # noqa: PLR2004 - a comparison is of two
        chosen_runs = f"{len(chosen)} runs were chosen" if len(chosen) > 1 else "only one run was chosen"
        raise UsageError(f"{chosen_runs}, and two can be compared", "go back, and tick two of them")
    base, head = sorted(chosen)
    return make_address("/compare", (("base", base), ("head", head)))


def _list_choices(store: Store, *asked: str) -> Mapping[str, Mapping[str, str]]:
    """Return the runs that can be chosen, and what they are called, by scenario, first that of what is asked for."""
    chosen = store.runs(Filters(run_id=tuple(filter(None, asked)))).rows if any(asked) else ()
    runs = {run.run_id: run for run in (*chosen, *store.runs(Filters(), limit=CHOICES_MAX).rows)}
    by_scenario: dict[str, list[RunRow]] = {}
    for run in runs.values():
        by_scenario.setdefault(run.scenario, []).append(run)
    return {
        scenario: {
            run.run_id: f"{format_moment(run.started_at)} · {run.target} · {run.machine}"
            for run in sorted(found, key=lambda run: run.started_at, reverse=True)
        }
        for scenario, found in by_scenario.items()
    }


def _run_before(store: Store, run_id: str) -> str:
    """Return the run that a run is compared with most likely: the one before, of its scenario, machine and target."""
    for run in store.runs(Filters(run_id=(run_id,))).rows:
        like = Filters(scenario=(run.scenario,), machine=(run.machine,), target=(run.target,), until=run.started_at)
        return next((each.run_id for each in store.runs(like, limit=2).rows if each.run_id != run_id), "")
    return ""
