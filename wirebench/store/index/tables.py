"""The schema of the index: its tables, and a view with the figures a cell."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.schema import CreateView
from sqlalchemy.types import TypeEngine

from wirebench.model.metric import CAPACITIES, COMBINED, LATENCIES, METRICS, SPREAD, Metric, name_spread


class Words(sa.TypeDecorator[str]):
    """Text that sorts by its bytes on every database; what a database can't hold is replaced."""

    impl = sa.Text
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> TypeEngine[str]:
        """Have PostgreSQL sort as SQLite does."""
        return dialect.type_descriptor(sa.Text(collation="C" if dialect.name == "postgresql" else None))

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:  # noqa: ARG002 - the interface
        """Replace U+0000, which PostgreSQL has no room for, and halves of characters."""
        if value is None or (value.isascii() and "\x00" not in value):
            return value
        return value.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()


class UtcMoment(sa.TypeDecorator[datetime]):
    """A point in time, in UTC; SQLite, which has no type for it, gets it as text."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:  # noqa: ARG002
        """Take an aware time; in UTC the first and the last day may have none."""
        if value is None:
            return None
        try:
            return value.astimezone(UTC)
        except OverflowError:
            return value.replace(tzinfo=UTC)

    def process_result_value(self, value: Any | None, dialect: sa.Dialect) -> datetime | None:  # noqa: ANN401, ARG002
        """Return an aware time, in UTC."""
        if value is None:
            return None
        moment: datetime = value
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


metadata = sa.MetaData()
#: What run.json says, as far as runs are found by it.
runs = sa.Table(
    "runs",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("run_id", Words, nullable=False, unique=True),
    sa.Column("scenario", Words, nullable=False),
    sa.Column("question", Words, nullable=False),
    sa.Column("started_at", UtcMoment, nullable=False),
    sa.Column("duration_s", sa.Double),
    sa.Column("status", Words, nullable=False),
    sa.Column("reason", Words, nullable=False),
    sa.Column("target", Words, nullable=False),
    sa.Column("machine", Words, nullable=False),
    sa.Column("versions", sa.JSON, nullable=False),
    sa.Column("commit_id", Words),
    sa.Column("seed", sa.BigInteger, nullable=False),
    sa.Column("blocks", sa.Integer, nullable=False),
    sa.Column("cells", sa.Integer, nullable=False),
    sa.Index("runs_by_start", "started_at", "run_id"),
)

#: One combination of factors in one run.
cells = sa.Table(
    "cells",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("run", sa.ForeignKey(runs.c.id, ondelete="CASCADE"), nullable=False),
    sa.Column("operation", Words, nullable=False),
    sa.Column("concurrency", sa.Integer, nullable=False),
    sa.Column("cell", Words, nullable=False),
    sa.Column("transport", Words, nullable=False),
    sa.Column("driver", Words, nullable=False),
    sa.Column("factors", sa.JSON, nullable=False),
    #: None for the built-in application.
    sa.Column("variant", Words),
    sa.UniqueConstraint("run", "cell"),
    # As the pages are sorted, with all that they are filtered by.
    sa.Index("cells_of_runs", "run", "operation", "concurrency", "cell", "transport", "driver", "variant"),
)

#: One record: a cell in one block.
blocks = sa.Table(
    "blocks",
    metadata,
    sa.Column("cell_id", sa.ForeignKey(cells.c.id, ondelete="CASCADE"), primary_key=True),
    sa.Column("block", sa.Integer, primary_key=True),
    #: Its place among the cells of the block, from 0.
    sa.Column("place", sa.Integer, nullable=False),
    sa.Column("window_start_unix_ns", sa.BigInteger, nullable=False),
    sa.Column("window_s", sa.Double, nullable=False),
    *(sa.Column(metric.field, sa.BigInteger if metric.over_blocks == "sum" else sa.Double) for metric in COMBINED),
    sa.Column("rate_asked_per_s", sa.Double),
    sa.Column("dropped_iterations", sa.BigInteger, nullable=False),
    sa.Column("mismatches", sa.BigInteger, nullable=False),
    sa.Column("memory_bytes", sa.BigInteger),
    sa.Column("generator_cpu_share", sa.Double),
    #: Which of its statistics says what users waited for a reply.
    sa.Column("clock", sa.Text),
    #: Failed requests by class, as JSON; null in what was indexed before it had the column.
    sa.Column("errors", sa.JSON),
    sqlite_with_rowid=False,
)

#: The latencies of a record on one clock: service, response, first_item or gap.
statistics = sa.Table(
    "statistics",
    metadata,
    sa.Column("cell_id", sa.Integer, primary_key=True),
    sa.Column("block", sa.Integer, primary_key=True),
    sa.Column("clock", sa.Text, primary_key=True),
    sa.Column("count", sa.BigInteger, nullable=False),
    *(sa.Column(metric.field, sa.Double, nullable=metric.name == "p99_9") for metric in LATENCIES),
    sa.ForeignKeyConstraint(["cell_id", "block"], ["blocks.cell_id", "blocks.block"], ondelete="CASCADE"),
    sqlite_with_rowid=False,
)

#: The latencies of a cell on one clock: the histograms of its blocks merged.
latencies = sa.Table(
    "latencies",
    metadata,
    sa.Column("cell_id", sa.ForeignKey(cells.c.id, ondelete="CASCADE"), primary_key=True),
    sa.Column("clock", sa.Text, primary_key=True),
    sa.Column("count", sa.BigInteger, nullable=False),
    *(sa.Column(metric.field, sa.Double, nullable=metric.name == "p99_9") for metric in LATENCIES),
    sqlite_with_rowid=False,
)

#: The gates of a record, in its order; their advice is in the record.
gates = sa.Table(
    "gates",
    metadata,
    sa.Column("cell_id", sa.Integer, primary_key=True),
    sa.Column("block", sa.Integer, primary_key=True),
    sa.Column("place", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("passed", sa.Boolean, nullable=False),
    sa.Column("value", sa.Double, nullable=False),
    sa.Column("limit_value", sa.Double, nullable=False),
    sa.Column("unit", sa.Text, nullable=False),
    #: The metrics that can't be trusted if it failed, with a space between two.
    sa.Column("metrics", sa.Text, nullable=False),
    sa.ForeignKeyConstraint(["cell_id", "block"], ["blocks.cell_id", "blocks.block"], ondelete="CASCADE"),
    sqlite_with_rowid=False,
)

# Those that are asked for, among many that passed.
sa.Index("failed_gates", gates.c.cell_id, gates.c.name, sqlite_where=~gates.c.passed, postgresql_where=~gates.c.passed)

#: From those that others refer to, to those that refer to them.
TABLES = (runs, cells, blocks, statistics, latencies, gates)

#: Changes with the schema, so that an index of another one is recognized. Such numbers only grow.
SCHEMA = "0010"
version = sa.Table("wirebench_index_version", metadata, sa.Column("version_num", sa.Text, primary_key=True))


def _select_results() -> sa.Select[Any]:
    """Select the figures of cells, as `Metric.over_blocks` says; columns of the cell and of the run are for people."""
    of_block = sa.and_(
        statistics.c.cell_id == blocks.c.cell_id,
        statistics.c.block == blocks.c.block,
        statistics.c.clock == blocks.c.clock,
    )
    over_blocks = (
        sa.select(
            blocks.c.cell_id,
            sa.func.count().label("blocks"),
            # Response time where any block has it.
            sa.func.min(blocks.c.clock).label("clock"),
            *(_combine(metric, blocks.c[metric.field]).label(metric.field) for metric in COMBINED),
            *(each for metric in SPREAD for each in _select_spread(metric)),
        )
        .select_from(blocks.outerjoin(statistics, of_block))
        .group_by(blocks.c.cell_id)
        .subquery("over_blocks")
    )
    reply, first_item, gap = (latencies.alias(name) for name in ("reply", "first_item", "gap"))
    of_run = (runs.c.run_id, runs.c.scenario, runs.c.started_at, runs.c.target, runs.c.machine)
    of_cell = (cells.c[name] for name in ("cell", "transport", "driver", "operation", "concurrency", "factors"))
    selected = (
        sa.select(
            over_blocks.c.cell_id,
            *of_run,
            *of_cell,
            *(each for each in over_blocks.c if each.name not in ("cell_id", "clock")),
            *(reply.c[metric.field] for metric in LATENCIES),
            first_item.c.p50_ms.label(METRICS["first_item"].field),
            gap.c.p99_ms.label(METRICS["gap"].field),
        )
        .join_from(over_blocks, cells, cells.c.id == over_blocks.c.cell_id)
        .join(runs, runs.c.id == cells.c.run)
    )
    for each, clock in ((reply, over_blocks.c.clock), (first_item, "first_item"), (gap, "gap")):
        selected = selected.outerjoin(each, sa.and_(each.c.cell_id == over_blocks.c.cell_id, each.c.clock == clock))
    return selected


def _select_spread(metric: Metric) -> Iterator[sa.ColumnElement[Any]]:
    figure, (lowest, highest) = statistics.c[metric.field], name_spread(metric)
    yield sa.func.min(figure).label(lowest)
    yield sa.func.max(figure).label(highest)


def _combine(metric: Metric, figure: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    if metric.over_blocks == "sum":
        return sa.cast(sa.func.sum(figure), sa.BigInteger)
    # Of the figures that are positive.
    mean = sa.func.exp(sa.func.avg(sa.case((figure > 0, sa.func.ln(figure)))), type_=sa.Double)
    # There is no capacity if a block's search found none.
    found = sa.func.count(blocks.c[METRICS["capacity"].field]) == sa.func.count()
    return sa.case((found, mean)) if metric.name in CAPACITIES else mean


results = CreateView(_select_results(), "results", metadata=metadata).table
