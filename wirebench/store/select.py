"""What is selected from the tables: pages of cells and of runs, the newest run first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter
from sqlalchemy import ColumnElement, Connection, FromClause, Row, Select, and_, exists, func, or_, select

from wirebench.analysis.results import Result, RunRow
from wirebench.errors import UsageError
from wirebench.store.query import Filters, ParameterError
from wirebench.store.runs import is_run_name
from wirebench.store.tables import cells, results, runs

#: A page has no more rows.
PAGE_ROWS_MAX = 1000
_CHOSEN: dict[FromClause, tuple[str, ...]] = {
    runs: ("scenario",),
    cells: ("transport", "driver"),
}
_RESULTS = TypeAdapter(tuple[Result, ...])
_RUNS = TypeAdapter(tuple[RunRow, ...])
#: After which run, or which cell of a run, a page begins.
_CURSOR = re.compile(r"([^:]+)(?::([0-9]{1,9}))?", re.ASCII)

#: The levels in the index of each filter that can be chosen from, sorted, by its name.
Choices = Mapping[str, tuple[Any, ...]]
_Row = TypeVar("_Row")


@dataclass(frozen=True, slots=True)
class ResultPage(Generic[_Row]):
    """Some of the rows that were asked for; `total` is how many there are, `next_cursor` is None on the last page."""

    rows: tuple[_Row, ...]
    total: int
    next_cursor: str | None


def select_results(connection: Connection, filters: Filters, limit: int, cursor: str | None) -> ResultPage[Result]:
    """Return a page of cells with their figures. Raises UsageError."""
    matching = select(results).where(*_filter_runs(results, filters), *_filter_cells(results, filters))
    page = matching.order_by(results.c.run_id.desc(), results.c.place)
    if cursor is not None:
        run_id, place = _read_cursor(cursor, of_cells=True)
        after = and_(results.c.run_id == run_id, results.c.place > int(place))
        page = page.where(or_(results.c.run_id < run_id, after))
    shown, last = _fetch_page(connection, page, limit)
    rows = _RESULTS.validate_python([row._asdict() for row in shown])
    return ResultPage(rows, _count(connection, matching), f"{last.run_id}:{last.place}" if last else None)


def select_runs(connection: Connection, filters: Filters, limit: int, cursor: str | None) -> ResultPage[RunRow]:
    """Return a page of runs; filters of cells find those that have such a cell. Raises UsageError."""
    matching = select(runs).where(*_filter_runs(runs, filters))
    if of_cells := list(_filter_cells(cells, filters)):
        matching = matching.where(exists().where(cells.c.run_id == runs.c.run_id, *of_cells))
    page = matching.order_by(runs.c.run_id.desc())
    if cursor is not None:
        run_id, _ = _read_cursor(cursor, of_cells=False)
        page = page.where(runs.c.run_id < run_id)
    shown, last = _fetch_page(connection, page, limit)
    rows = _RUNS.validate_python([row._asdict() for row in shown])
    return ResultPage(rows, _count(connection, matching), last.run_id if last else None)


def select_choices(connection: Connection) -> Choices:
    """Return the levels of each filter; those of one table take one look at it."""
    choices: dict[str, tuple[Any, ...]] = {}
    for table, names in _CHOSEN.items():
        found = connection.execute(select(*(table.c[name] for name in names)).distinct()).all()
        choices |= {name: tuple(sorted({row[place] for row in found} - {None})) for place, name in enumerate(names)}
    return choices


def _fetch_page(connection: Connection, page: Select[Any], limit: int) -> tuple[Sequence[Row[Any]], Row[Any] | None]:
    """Return so many rows, and the last of them if there are more. Raises UsageError."""
    if not 1 <= limit <= PAGE_ROWS_MAX:
        raise UsageError(f"limit: {limit} is not between 1 and {PAGE_ROWS_MAX}", "go through the pages by their cursor")
    found = connection.execute(page.limit(limit + 1)).all()
    return found[:limit], found[limit - 1] if len(found) > limit else None


def _filter_runs(of: FromClause, filters: Filters) -> Iterator[ColumnElement[bool]]:
    for name in ("run_id", "scenario", "target"):
        if levels := getattr(filters, name):
            yield of.c[name].in_(levels)


def _filter_cells(of: FromClause, filters: Filters) -> Iterator[ColumnElement[bool]]:
    with_aliases = {"transport": filters.transports, "driver": filters.drivers}
    for name in ("transport", "variant", "driver", "concurrency", "operation"):
        if levels := with_aliases.get(name) or getattr(filters, name):
            yield of.c[name].in_(levels)


def _read_cursor(cursor: str, *, of_cells: bool) -> tuple[str, str]:
    """Return the run and the cell's place after which a page begins. Raises ParameterError for a cursor of others."""
    found = _CURSOR.fullmatch(cursor)
    if not found or not is_run_name(found[1]) or bool(found[2]) != of_cells:
        hint = "use next_cursor of the previous page; leave it out for the first page"
        raise ParameterError("cursor", "it isn't from a page of this list", hint)
    return found[1], found[2] or ""


def _count(connection: Connection, matching: Select[Any]) -> int:
    return connection.scalar(select(func.count()).select_from(matching.subquery())) or 0
