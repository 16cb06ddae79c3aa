"""What the index holds as tables: read page by page, while they are written."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import TypeVar

from wirebench.index import PAGE_ROWS_MAX, Filters, Index, Page, Result, RunRow
from wirebench.tables.table import Table

_Row = TypeVar("_Row")


def results_table(index: Index, filters: Filters, limit: int | None = None, cursor: str | None = None) -> Table:
    """Return the results, or at most so many of them; reading them raises what the index does."""

    def page_from(cursor: str | None) -> Page[Result]:
        return index.results(filters, limit=PAGE_ROWS_MAX, cursor=cursor)

    return Table("results", Result, itertools.islice(_rows(page_from, cursor), limit))


def runs_table(index: Index, filters: Filters, limit: int | None = None, cursor: str | None = None) -> Table:
    """Return the runs, or at most so many of them; reading them raises what the index does."""

    def page_from(cursor: str | None) -> Page[RunRow]:
        return index.runs(filters, limit=PAGE_ROWS_MAX, cursor=cursor)

    return Table("runs", RunRow, itertools.islice(_rows(page_from, cursor), limit))


def _rows(page_from: Callable[[str | None], Page[_Row]], cursor: str | None) -> Iterator[_Row]:
    page = page_from(cursor)
    yield from page.rows
    while page.next_cursor is not None:
        page = page_from(page.next_cursor)
        yield from page.rows
