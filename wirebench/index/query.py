"""What is selected from the tables: pages of cells and runs, newest run first, and their figures.

The page is found over cells alone; only its cells' blocks are read then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import ColumnElement, Connection, Row, Select, and_, exists, func, literal, or_, select, tuple_

from wirebench.errors import UsageError
from wirebench.index import cursor as cursors
from wirebench.index.cursor import AfterResult, AfterRun
from wirebench.index.model import PAGE_ROWS_MAX, Choices, Filters, KnownCell, Page, Result, RunRow
from wirebench.index.tables import Moment, Words, blocks, cells, gates, results, runs
from wirebench.scenario.cell import complete_factors

_INT32_MAX = 2**31 - 1
_AFTER_RESULT: TypeAdapter[AfterResult] = TypeAdapter(AfterResult)
_AFTER_RUN: TypeAdapter[AfterRun] = TypeAdapter(AfterRun)


def page_of_results(connection: Connection, filters: Filters, limit: int, cursor: str | None) -> Page[Result]:
    """Return a page of cells with their figures. Raises UsageError."""
    _check(limit)
    matching = (
        select(cells.c.id, runs.c.started_at, runs.c.run_id, cells.c.operation, cells.c.concurrency, cells.c.cell)
        .join_from(runs, cells, cells.c.run == runs.c.id)
        .where(*_of_runs(filters), *_of_cells(filters))
    )
    page = matching.order_by(
        runs.c.started_at.desc(), runs.c.run_id.desc(), cells.c.operation, cells.c.concurrency, cells.c.cell
    )
    if cursor is not None:
        page = page.where(_after_result(cursors.read(cursor, _AFTER_RESULT)))
    found = connection.execute(page.limit(limit + 1)).all()
    shown = found[:limit]
    last = shown[-1] if len(found) > limit else None
    return Page(
        tuple(_results(connection, [row.id for row in shown])),
        _count(connection, matching),
        cursors.write(("result", *last[1:])) if last else None,
    )


def page_of_runs(connection: Connection, filters: Filters, limit: int, cursor: str | None) -> Page[RunRow]:
    """Return a page of runs. Raises UsageError."""
    _check(limit)
    matching = select(runs).where(*_of_runs(filters))
    if of_cells := list(_of_cells(filters)):
        matching = matching.where(exists().where(cells.c.run == runs.c.id, *of_cells))
    page = matching.order_by(runs.c.started_at.desc(), runs.c.run_id.desc())
    if cursor is not None:
        _, started_at, run_id = cursors.read(cursor, _AFTER_RUN)
        page = page.where(_is_older(started_at, run_id))
    found = connection.execute(page.limit(limit + 1)).all()
    shown = found[:limit]
    last = shown[-1] if len(found) > limit else None
    return Page(
        tuple(_runs(connection, shown)),
        _count(connection, matching),
        cursors.write(("run", last.started_at, last.run_id)) if last else None,
    )


def cells_of_runs(connection: Connection, filters: Filters) -> Iterator[KnownCell]:
    """Yield the cells of all runs that match, each once, by operation, concurrency and id; no figure is read."""
    grouped = (
        select(func.max(cells.c.id).label("newest"), func.count().label("runs"))
        .join_from(runs, cells, cells.c.run == runs.c.id)
        .where(*_of_runs(filters), *_of_cells(filters))
        .group_by(cells.c.cell)
        .subquery()
    )
    found = connection.execute(
        select(cells.c.cell, cells.c.factors, grouped.c.runs)
        .join_from(grouped, cells, cells.c.id == grouped.c.newest)
        .order_by(cells.c.operation, cells.c.concurrency, cells.c.cell)
    )
    for row in found:
        yield KnownCell(cell=row.cell, factors=complete_factors(row.factors), runs=row.runs)


def choices(connection: Connection) -> Choices:
    """Return the levels of each filter."""

    def levels(*columns: ColumnElement[Any]) -> Iterator[tuple[Any, ...]]:
        """Yield the levels of each column; all of them take one look at the table."""
        found = connection.execute(select(*columns).distinct()).all()
        return (tuple(sorted({row[place] for row in found})) for place in range(len(columns)))

    scenarios, machines, targets = levels(runs.c.scenario, runs.c.machine, runs.c.target)
    protocols, clients, concurrencies, operations = levels(
        cells.c.transport, cells.c.driver, cells.c.concurrency, cells.c.operation
    )
    return Choices(
        scenarios=scenarios,
        protocols=protocols,
        clients=clients,
        concurrencies=concurrencies,
        operations=operations,
        machines=machines,
        targets=targets,
    )


def _check(limit: int) -> None:
    if not 1 <= limit <= PAGE_ROWS_MAX:
        raise UsageError(f"limit: {limit} is not between 1 and {PAGE_ROWS_MAX}", "go through the pages by their cursor")


def _of_runs(filters: Filters) -> Iterator[ColumnElement[bool]]:
    for column, levels in (
        (runs.c.run_id, filters.run_id),
        (runs.c.scenario, filters.scenario),
        (runs.c.machine, filters.machine),
        (runs.c.target, filters.target),
    ):
        if levels:
            yield column.in_(levels)
    if filters.since:
        yield runs.c.started_at >= filters.since
    if filters.until:
        yield runs.c.started_at <= filters.until


def _of_cells(filters: Filters) -> Iterator[ColumnElement[bool]]:
    for column, levels in (
        (cells.c.transport, filters.protocol),
        (cells.c.driver, filters.client),
        (cells.c.operation, filters.operation),
        (cells.c.cell, filters.cell),
    ):
        if levels:
            yield column.in_(levels)
    if filters.concurrency:
        # No cell has more; PostgreSQL would refuse to compare.
        yield cells.c.concurrency.in_([level for level in filters.concurrency if abs(level) <= _INT32_MAX])


def _after_result(after: AfterResult) -> ColumnElement[bool]:
    _, started_at, run_id, *place = after
    further = tuple_(cells.c.operation, cells.c.concurrency, cells.c.cell) > tuple_(*place)
    return or_(_is_older(started_at, run_id), and_(runs.c.run_id == run_id, further))


def _is_older(started_at: datetime, run_id: str) -> ColumnElement[bool]:
    return tuple_(runs.c.started_at, runs.c.run_id) < tuple_(literal(started_at, Moment), literal(run_id, Words))


def _count(connection: Connection, matching: Select[Any]) -> int:
    return connection.scalar(select(func.count()).select_from(matching.subquery())) or 0


def _results(connection: Connection, ids: Sequence[int]) -> Iterator[Result]:
    if not ids:  # an empty list would have the database work out the figures of all cells, to find none of them
        return
    found = {row.cell_id: row for row in connection.execute(select(results).where(results.c.cell_id.in_(ids)))}
    failed = _failed_gates(
        connection,
        select(gates.c.cell_id, gates.c.name)
        .where(gates.c.cell_id.in_(ids), ~gates.c.passed)
        .order_by(gates.c.block, gates.c.place),
    )
    for cell_id in ids:
        yield _result(found[cell_id], failed.get(cell_id, ()))


def _result(row: Row[Any], failed_gates: tuple[str, ...]) -> Result:
    return Result(
        run_id=row.run_id,
        scenario=row.scenario,
        started_at=row.started_at,
        target=row.target,
        machine=row.machine,
        cell=row.cell,
        protocol=row.transport,
        client=row.driver,
        operation=row.operation,
        concurrency=row.concurrency,
        blocks=row.blocks,
        throughput=row.throughput_per_s,
        p50_latency_ms=row.p50_ms,
        p90_latency_ms=row.p90_ms,
        p95_latency_ms=row.p95_ms,
        p99_latency_ms=row.p99_ms,
        p99_9_latency_ms=row.p99_9_ms,
        cpu_ms_per_request=row.cpu_ms_per_request,
        item_rate_per_s=row.item_rate_per_s,
        first_item_ms=row.first_item_p50_ms,
        p99_item_gap_ms=row.gap_p99_ms,
        cpu_us_per_item=row.cpu_us_per_item,
        total_samples=row.requests,
        successful=row.requests - row.failed,
        failed=row.failed,
        items=row.items,
        failed_gates=failed_gates,
        factors=complete_factors(row.factors),
    )


def _runs(connection: Connection, shown: Sequence[Row[Any]]) -> Iterator[RunRow]:
    ids = [row.id for row in shown]
    counted = connection.execute(
        select(cells.c.run, func.count())
        .join_from(cells, blocks, blocks.c.cell_id == cells.c.id)
        .where(cells.c.run.in_(ids))
        .group_by(cells.c.run)
    )
    records: dict[int, int] = dict(counted.all())
    failed = _failed_gates(
        connection,
        select(cells.c.run, gates.c.name)
        .join_from(cells, gates, gates.c.cell_id == cells.c.id)
        .where(cells.c.run.in_(ids), ~gates.c.passed)
        .distinct(),
    )
    for row in shown:
        yield RunRow(
            run_id=row.run_id,
            scenario=row.scenario,
            question=row.question,
            started_at=row.started_at,
            duration_s=row.duration_s,
            status=row.status,
            reason=row.reason,
            target=row.target,
            machine=row.machine,
            versions=row.versions,
            commit=row.commit_id,
            seed=row.seed,
            blocks=row.blocks,
            cells=row.cells,
            records=records.get(row.id, 0),
            failed_gates=tuple(sorted(failed.get(row.id, ()))),
        )


def _failed_gates(connection: Connection, owned: Select[Any]) -> dict[int, tuple[str, ...]]:
    """Return the names of failed gates by who has them, each once."""
    found: dict[int, dict[str, None]] = {}
    for owner, name in connection.execute(owned):
        found.setdefault(owner, {})[name] = None
    return {owner: tuple(names) for owner, names in found.items()}
