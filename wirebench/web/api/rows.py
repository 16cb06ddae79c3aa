"""`/results` and `/runs`: pages of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from wirebench.analysis.results import Result, RunRow
from wirebench.store.query import Filters, Single
from wirebench.store.select import PAGE_ROWS_MAX
from wirebench.web.api.endpoint import ApiRequest

#: The rows of a page, unless the query says otherwise.
_PAGE_ROWS = 100


class RowQuery(Filters):
    """Filters, and which of the rows that match are wanted."""

    limit: Single[Annotated[int, Field(ge=1, le=PAGE_ROWS_MAX)]] = Field(
        None, description=f"Rows: 1 to {PAGE_ROWS_MAX:,}, {_PAGE_ROWS} if it isn't given."
    )
    cursor: Single[str] = Field(None, description="Where the page begins: next_cursor of the page before.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """Results of the newest runs first: `count` of the `total` that match. The last page has no next cursor."""

    results: tuple[Result, ...]
    count: int
    total: int
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """Runs, the newest first: `count` of the `total` that match. The last page has no next cursor."""

    runs: tuple[RunRow, ...]
    count: int
    total: int
    next_cursor: str | None


def results(asked: ApiRequest[RowQuery]) -> Results:
    """Find results: a row for each cell of each run."""
    query = asked.query
    asked.store.update()
    page = asked.store.results(query, limit=query.limit or _PAGE_ROWS, cursor=query.cursor)
    return Results(results=page.rows, count=len(page.rows), total=page.total, next_cursor=page.next_cursor)


def runs(asked: ApiRequest[RowQuery]) -> Runs:
    """Find runs; filters of cells find those that have such a cell."""
    query = asked.query
    asked.store.update()
    page = asked.store.runs(query, limit=query.limit or _PAGE_ROWS, cursor=query.cursor)
    return Runs(runs=page.rows, count=len(page.rows), total=page.total, next_cursor=page.next_cursor)
