"""What is known of one run, or of two that are compared, read from their folders."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from wirebench.analysis.compare_runs import compare_runs
from wirebench.present.run import RunView, make_run_view
from wirebench.present.two_runs import RunComparisonView, make_run_comparison_view
from wirebench.store.query import One, Query
from wirebench.web.api.endpoint import ApiRequest


def run(asked: ApiRequest[Query]) -> RunView:
    """Show a run."""
    return make_run_view(asked.store.load(asked.run_id))


class CompareQuery(Query):
    """Two runs."""

    base: Annotated[str, One] = Field(description="The run that is compared with.")
    head: Annotated[str, One] = Field(description="The run that is judged.")


def compare(asked: ApiRequest[CompareQuery]) -> RunComparisonView:
    """Compare two runs by the cells that both have."""
    base, head = asked.store.load(asked.query.base), asked.store.load(asked.query.head)
    return make_run_comparison_view(compare_runs(base, head))
