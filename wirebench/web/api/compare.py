"""`/compare`: two runs held against each other, cell by cell."""

from __future__ import annotations

from wirebench.selection.parameters import Parameter, text
from wirebench.stats.across import across
from wirebench.stats.across_data import Compared, compared
from wirebench.web.api.endpoint import Asked, Endpoint


def _compare(asked: Asked) -> Compared:
    base, head = (asked.catalogue.run(*asked.levels[name]) for name in ("base", "head"))
    return compared(across(base, head))


def _run(name: str, description: str) -> Parameter:
    return Parameter(name=name, description=description, parse=text, required=True)


COMPARE = Endpoint(
    name="compare",
    path="/compare",
    summary="Compare two runs by the cells that both have.",
    answer=_compare,
    answers=Compared,
    parameters=(_run("base", "The run that is compared with."), _run("head", "The run that is judged.")),
)
