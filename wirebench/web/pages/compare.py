"""`/compare`: two runs compared cell by cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import Field
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from wirebench.analysis.compare_runs import compare_runs
from wirebench.analysis.results import RunRow
from wirebench.errors import UsageError
from wirebench.present.labels import capitalise
from wirebench.present.table import make_comparison_table
from wirebench.present.two_runs import make_run_comparison_view
from wirebench.store.query import Filters, Query, Single
from wirebench.store.store import Store
from wirebench.web.render import render_template

#: So many of the newest runs can be chosen from.
CHOICES_MAX = 200


class ComparePageQuery(Query):
    """The two runs."""

    base: Single[str] = Field(None, description="The run that the other is compared with.")
    head: Single[str] = Field(None, description="The run that is judged.")


def show_comparison(request: Request) -> Response:
    """Answer with the comparison of two runs, or with the choice of them."""
    store: Store = request.app.state.store
    query = ComparePageQuery.read(request.query_params.multi_items())
    base, head = query.base or "", query.head or ""
    store.update()
    choices = _list_choices(store, base, head)
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
        base=base or _find_run_before(choices, head),
        head=head,
        choices=choices,
        notice=notice,
        found=found,
        changes=make_comparison_table(found.changes) if found else None,
    )
    return HTMLResponse(text)


def _list_choices(store: Store, *asked: str) -> Mapping[str, Sequence[RunRow]]:
    """Return the runs that can be chosen, the newest first, by scenario, first that of what is asked for."""
    chosen = store.runs(Filters(run_id=tuple(filter(None, asked)))).rows if any(asked) else ()
    runs = {run.run_id: run for run in (*chosen, *store.runs(Filters(), limit=CHOICES_MAX).rows)}
    by_scenario: dict[str, list[RunRow]] = {}
    for run in runs.values():
        by_scenario.setdefault(run.scenario, []).append(run)
    return {name: sorted(found, key=lambda run: run.started_at, reverse=True) for name, found in by_scenario.items()}


def _find_run_before(choices: Mapping[str, Sequence[RunRow]], run_id: str) -> str:
    """Return the run that a run is compared with most likely: the one before, of its scenario, machine and target."""
    for runs in choices.values():
        alike = [(run.machine, run.target) for run in runs if run.run_id == run_id]
        before = (run.run_id for run in runs if run.run_id < run_id and (run.machine, run.target) in alike)
        if alike:
            return next(before, "")
    return ""
