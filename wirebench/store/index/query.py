"""What is selected from the tables: pages of cells and runs, newest run first, and their figures.

The page is found over cells alone; only its cells' blocks are read then.
"""

from __future__ import annotations

import base64
import binascii
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, TypeVar

import orjson
from pydantic import AwareDatetime, Field, TypeAdapter, ValidationError
from sqlalchemy import ColumnElement, Connection, Row, Select, and_, exists, func, literal, or_, select, tuple_

from wirebench.errors import UsageError
from wirebench.store.index.tables import UtcMoment, Words, blocks, cells, gates, results, runs
from wirebench.store.query import Filters, ParameterError
from wirebench.store.rows import PAGE_ROWS_MAX, Choices, Result, ResultPage, RunRow, group_by_metric

_CHOSEN = {
    runs: ("scenario", "machine", "target"),
    cells: ("transport", "variant", "driver", "concurrency", "operation"),
}
_Whole = Annotated[int, Field(ge=-(2**31), lt=2**31)]
#: The start and the name of the run, and the cell's place in it.
_AfterResult = tuple[Literal["result"], AwareDatetime, str, str, _Whole, str]
_AfterRun = tuple[Literal["run"], AwareDatetime, str]

_After = TypeVar("_After", _AfterResult, _AfterRun)

_CURSOR_LENGTH_MAX = 4096

_AFTER_RESULT: TypeAdapter[_AfterResult] = TypeAdapter(_AfterResult)
_AFTER_RUN: TypeAdapter[_AfterRun] = TypeAdapter(_AfterRun)


def select_results(connection: Connection, filters: Filters, limit: int, cursor: str | None) -> ResultPage[Result]:
    """Return a page of cells with their figures. Raises UsageError."""
    matching = (
        select(cells.c.id, runs.c.started_at, runs.c.run_id, cells.c.operation, cells.c.concurrency, cells.c.cell)
        .join_from(runs, cells, cells.c.run == runs.c.id)
        .where(*_filter_runs(filters), *_filter_cells(filters))
    )
    page = matching.order_by(
        runs.c.started_at.desc(), runs.c.run_id.desc(), cells.c.operation, cells.c.concurrency, cells.c.cell
    )
    if cursor is not None:
        page = page.where(_select_after(_read_cursor(cursor, _AFTER_RESULT)))
    shown, last = _fetch_page(connection, page, limit)
    return ResultPage(
        tuple(_read_results(connection, [row.id for row in shown])),
        _count(connection, matching),
        _write_cursor(("result", last.started_at, last.run_id, last.operation, last.concurrency, last.cell))
        if last
        else None,
    )


def select_runs(connection: Connection, filters: Filters, limit: int, cursor: str | None) -> ResultPage[RunRow]:
    """Return a page of runs. Raises UsageError."""
    matching = select(runs).where(*_filter_runs(filters))
    if of_cells := list(_filter_cells(filters)):
        matching = matching.where(exists().where(cells.c.run == runs.c.id, *of_cells))
    page = matching.order_by(runs.c.started_at.desc(), runs.c.run_id.desc())
    if cursor is not None:
        _, started_at, run_id = _read_cursor(cursor, _AFTER_RUN)
        page = page.where(_is_older(started_at, run_id))
    shown, last = _fetch_page(connection, page, limit)
    return ResultPage(
        tuple(_read_runs(connection, shown)),
        _count(connection, matching),
        _write_cursor(("run", last.started_at, last.run_id)) if last else None,
    )


def select_choices(connection: Connection) -> Choices:
    """Return the levels of each filter; those of one table take one look at it."""
    choices: dict[str, tuple[Any, ...]] = {}
    for table, names in _CHOSEN.items():
        found = connection.execute(select(*(table.c[name] for name in names)).distinct()).all()
        levels = zip(*found, strict=True) if found else ((),) * len(names)
        choices |= {name: tuple(sorted({*each} - {None})) for name, each in zip(names, levels, strict=True)}
    return choices


def _fetch_page(connection: Connection, page: Select[Any], limit: int) -> tuple[Sequence[Row[Any]], Row[Any] | None]:
    """Return so many rows, and the last of them if there are more. Raises UsageError."""
    if not 1 <= limit <= PAGE_ROWS_MAX:
        raise UsageError(f"limit: {limit} is not between 1 and {PAGE_ROWS_MAX}", "go through the pages by their cursor")
    found = connection.execute(page.limit(limit + 1)).all()
    return found[:limit], found[limit - 1] if len(found) > limit else None


def _filter_runs(filters: Filters) -> Iterator[ColumnElement[bool]]:
    for name in ("run_id", "scenario", "machine", "target"):
        if levels := getattr(filters, name):
            yield runs.c[name].in_(levels)
    if filters.since:
        yield runs.c.started_at >= filters.since
    if filters.until:
        yield runs.c.started_at <= filters.until


def _filter_cells(filters: Filters) -> Iterator[ColumnElement[bool]]:
    with_aliases = {"transport": filters.transports, "driver": filters.drivers}
    for name in ("transport", "variant", "driver", "concurrency", "operation", "cell"):
        if levels := with_aliases.get(name) or getattr(filters, name):
            yield cells.c[name].in_(levels)


def _select_after(after: _AfterResult) -> ColumnElement[bool]:
    _, started_at, run_id, *place = after
    further = tuple_(cells.c.operation, cells.c.concurrency, cells.c.cell) > tuple_(*place)
    return or_(_is_older(started_at, run_id), and_(runs.c.run_id == run_id, further))


def _is_older(started_at: datetime, run_id: str) -> ColumnElement[bool]:
    return tuple_(runs.c.started_at, runs.c.run_id) < tuple_(literal(started_at, UtcMoment), literal(run_id, Words))


def _write_cursor(after: _After) -> str:
    return base64.urlsafe_b64encode(orjson.dumps(after)).decode().rstrip("=")


def _read_cursor(cursor: str, kind: TypeAdapter[_After]) -> _After:
    """Return where a page continues. Raises ParameterError for a cursor of another kind of page."""
    try:
        padded = cursor[:_CURSOR_LENGTH_MAX] + "=" * (-len(cursor) % 4)
        return kind.validate_json(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, binascii.Error, ValidationError):
        hint = "use next_cursor of the previous page; leave it out for the first page"
        raise ParameterError("cursor", "it isn't from a page of this list", hint) from None


def _count(connection: Connection, matching: Select[Any]) -> int:
    return connection.scalar(select(func.count()).select_from(matching.subquery())) or 0


def _read_results(connection: Connection, ids: Sequence[int]) -> Iterator[Result]:
    if not ids:  # an empty list would have the database work out the figures of all cells, to find none of them
        return
    found = {row.cell_id: row for row in connection.execute(select(results).where(results.c.cell_id.in_(ids)))}
    failed: dict[int, dict[str, list[str]]] = {}
    of_gates = (
        select(gates.c.cell_id, gates.c.name, gates.c.metrics)
        .where(gates.c.cell_id.in_(ids), ~gates.c.passed)
        .order_by(gates.c.block, gates.c.place)
    )
    for cell_id, name, metrics in connection.execute(of_gates):
        failed.setdefault(cell_id, {})[name] = metrics.split()
    errors: dict[int, Counter[str]] = {}
    of_blocks = select(blocks.c.cell_id, blocks.c.errors).where(blocks.c.cell_id.in_(ids), blocks.c.failed > 0)
    for cell_id, counts in connection.execute(of_blocks):
        errors.setdefault(cell_id, Counter()).update(counts or {})
    for cell_id in ids:
        values = found[cell_id]._asdict()
        del values["cell_id"]
        values |= {
            "protocol": values["transport"],
            "client": values["driver"],
            "successful": values["requests"] - values["failed"],
            "errors": dict(errors.get(cell_id, Counter()).most_common()),
            "failed_gates": tuple(failed.get(cell_id, ())),
            "failed_gates_by_metric": group_by_metric(failed.get(cell_id, {})),
        }
        yield Result(**values)


def _read_runs(connection: Connection, shown: Sequence[Row[Any]]) -> Iterator[RunRow]:
    ids = [row.id for row in shown]
    counted = connection.execute(
        select(cells.c.run, func.count())
        .join_from(cells, blocks, blocks.c.cell_id == cells.c.id)
        .where(cells.c.run.in_(ids))
        .group_by(cells.c.run)
    )
    records: dict[int, int] = dict(counted.all())
    failed: dict[int, list[str]] = {}
    of_gates = (
        select(cells.c.run, gates.c.name)
        .join_from(cells, gates, gates.c.cell_id == cells.c.id)
        .where(cells.c.run.in_(ids), ~gates.c.passed)
        .distinct()
    )
    for run, name in connection.execute(of_gates):
        failed.setdefault(run, []).append(name)
    for row in shown:
        values = row._asdict()
        run = values.pop("id")
        gate_names = tuple(sorted(failed.get(run, ())))
        yield RunRow(commit=values.pop("commit_id"), records=records.get(run, 0), failed_gates=gate_names, **values)
