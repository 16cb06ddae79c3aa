"""Putting runs and records into the tables: once or again, it comes to the same rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from operator import itemgetter
from typing import Any

import orjson
from sqlalchemy import Connection, Table, delete, insert, select
from sqlalchemy.exc import DBAPIError

from wirebench.errors import WirebenchError
from wirebench.model.labels import name_machine
from wirebench.model.metric import COMBINED
from wirebench.model.record import Latency, Record
from wirebench.model.run_info import RunInfo
from wirebench.store.index.tables import TABLES, blocks, cells, gates, latencies, runs, statistics

IndexRow = dict[str, Any]


def write_run(connection: Connection, info: RunInfo, records: Iterable[Record]) -> int:
    """Put a run and all its records in the place of what is there of it, and return the number of records.

    The latencies of a cell are those of its record that was measured last. Raises WirebenchError if two records are of
    the same cell and block.
    """
    row = make_run_row(info)
    connection.execute(delete(runs).where(runs.c.run_id == info.id))
    run: int = connection.execute(insert(runs).values(row).returning(runs.c.id)).scalar_one()
    # In the order of their measuring: the last one of a cell has its latencies.
    in_order = sorted(records, key=lambda record: (record.window_end_unix_ns, record.block))
    for (cell, block), count in Counter((record.cell, record.block) for record in in_order).items():
        if count > 1:
            raise WirebenchError(f"two records are of block {block} of {cell}", "remove one of them")
    last = {record.cell: record for record in in_order}
    if last:
        connection.execute(insert(cells), [{"run": run, **_make_cell_row(record)} for record in last.values()])
    ids = dict(connection.execute(select(cells.c.cell, cells.c.id).where(cells.c.run == run)).all())
    for table, list_rows in ((blocks, _list_blocks), (statistics, _list_statistics), (gates, _list_gates)):
        rows = ((record, row) for record in in_order for row in list_rows(record))
        _insert(connection, table, [{"cell_id": ids[of.cell], "block": of.block, **row} for of, row in rows])
    merged = ((ids[cell], *each) for cell, record in last.items() for each in record.merged.items())
    _insert(
        connection, latencies, [{"cell_id": each, "clock": clock, **dict(latency)} for each, clock, latency in merged]
    )
    return len(in_order)


def analyse(connection: Connection) -> None:
    """Let the database see what is in the tables: without, it finds each page by sorting all cells."""
    for table in TABLES:
        connection.exec_driver_sql(f"ANALYZE {table.name}")


def _insert(connection: Connection, table: Table, rows: Sequence[IndexRow]) -> None:
    """Insert rows of values that the driver knows: past SQLAlchemy's own way, which would take most of a rebuild."""
    if not rows:
        return
    names = [column.name for column in table.c]
    values = map(itemgetter(*names), rows)
    if connection.dialect.name == "postgresql":
        _copy(connection, f"COPY {table.name} ({', '.join(names)}) FROM STDIN", values)
    else:
        connection.exec_driver_sql(str(insert(table).compile(connection)), list(values))


def _copy(connection: Connection, statement: str, values: Iterable[tuple[Any, ...]]) -> None:
    import psycopg

    try:
        with closing(connection.connection.cursor()) as cursor, cursor.copy(statement) as copy:
            for row in values:
                copy.write_row(row)
    except psycopg.Error as error:
        raise DBAPIError.instance(statement, None, error, psycopg.Error) from error


def make_run_row(info: RunInfo) -> IndexRow:
    """Return the row of a run."""
    others = {"run_id": info.id, "commit_id": info.commit}
    own = {name: getattr(info, name) for name in {*runs.c.keys()} - {"id", *others}}
    return {**own, **others, "machine": name_machine(info.machine)}


def _make_cell_row(record: Record) -> IndexRow:
    names = ("operation", "concurrency", "transport", "driver", "variant")
    return {"cell": record.cell, "factors": record.factors, **{name: record.factors[name] for name in names}}


def _list_blocks(record: Record) -> Iterator[IndexRow]:
    yield {
        "place": record.order,
        "window_start_unix_ns": record.window_start_unix_ns,
        "window_s": record.window_s,
        **{metric.field: metric.of(record) for metric in COMBINED},
        "errors": orjson.dumps(record.errors).decode(),
        "rate_asked_per_s": record.rate_asked_per_s,
        "dropped_iterations": record.dropped_iterations,
        "mismatches": record.mismatches,
        "memory_bytes": record.server.memory_bytes,
        "generator_cpu_share": record.generator.cpu_share,
        "clock": record.clock,
    }


def _list_statistics(record: Record) -> Iterator[IndexRow]:
    clocks: dict[str, Latency | None] = {"service": record.service, "response": record.response}
    if record.streams:
        clocks |= {"first_item": record.streams.first_item, "gap": record.streams.gap}
    for clock, latency in clocks.items():
        if latency:
            yield {"clock": clock, **dict(latency)}


def _list_gates(record: Record) -> Iterator[IndexRow]:
    for place, gate in enumerate(record.gates):
        yield {
            "place": place,
            "name": gate.name,
            "passed": gate.passed,
            "value": gate.value,
            "limit_value": gate.limit,
            "unit": gate.unit,
            "metrics": " ".join(gate.metrics),
        }
