"""The tables of the index, and a view with the figures a cell. How they come to be: migrations/."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Dialect,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    column,
    table,
)
from sqlalchemy.types import TypeEngine


class Words(TypeDecorator[str]):
    """Text that sorts by its bytes on every database; what a database can't hold is replaced."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[str]:
        """Have PostgreSQL sort as SQLite does."""
        return dialect.type_descriptor(Text(collation="C" if dialect.name == "postgresql" else None))

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - the interface
        """Replace U+0000, which PostgreSQL has no room for, and halves of characters."""
        if value is None or (value.isascii() and "\x00" not in value):
            return value
        return value.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()


class Moment(TypeDecorator[datetime]):
    """A point in time, in UTC; SQLite, which has no type for it, gets it as text."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """Take an aware time; in UTC the first and the last day may have none."""
        if value is None:
            return None
        try:
            return value.astimezone(UTC)
        except OverflowError:
            return value.replace(tzinfo=UTC)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:  # noqa: ANN401, ARG002
        """Return an aware time, in UTC."""
        if value is None:
            return None
        moment: datetime = value
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


metadata = MetaData()

#: What run.json says, as far as runs are found by it.
runs = Table(
    "runs",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("run_id", Words, nullable=False, unique=True),
    Column("scenario", Words, nullable=False),
    Column("question", Words, nullable=False),
    Column("started_at", Moment, nullable=False),
    Column("duration_s", Double),
    Column("status", Words, nullable=False),
    Column("reason", Words, nullable=False),
    Column("target", Words, nullable=False),
    Column("machine", Words, nullable=False),
    Column("versions", JSON, nullable=False),
    Column("commit_id", Words),
    Column("seed", BigInteger, nullable=False),
    Column("blocks", Integer, nullable=False),
    Column("cells", Integer, nullable=False),
    Index("runs_by_start", "started_at", "run_id"),
)

#: One combination of factors in one run.
cells = Table(
    "cells",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("run", ForeignKey(runs.c.id, ondelete="CASCADE"), nullable=False),
    Column("operation", Words, nullable=False),
    Column("concurrency", Integer, nullable=False),
    Column("cell", Words, nullable=False),
    Column("transport", Words, nullable=False),
    Column("driver", Words, nullable=False),
    Column("factors", JSON, nullable=False),
    UniqueConstraint("run", "cell"),
    # As the pages are sorted, with all that they are filtered by.
    Index("cells_of_runs", "run", "operation", "concurrency", "cell", "transport", "driver"),
)

#: One record: a cell in one block.
blocks = Table(
    "blocks",
    metadata,
    Column("cell_id", ForeignKey(cells.c.id, ondelete="CASCADE"), primary_key=True),
    Column("block", Integer, primary_key=True),
    #: Its place among the cells of the block, from 0.
    Column("place", Integer, nullable=False),
    Column("window_start_unix_ns", BigInteger, nullable=False),
    Column("window_s", Double, nullable=False),
    Column("requests", BigInteger, nullable=False),
    Column("failed", BigInteger, nullable=False),
    #: None of streams.
    Column("throughput_per_s", Double),
    Column("cpu_ms_per_request", Double),
    Column("rate_asked_per_s", Double),
    Column("dropped_iterations", BigInteger, nullable=False),
    Column("mismatches", BigInteger, nullable=False),
    Column("memory_bytes", BigInteger),
    Column("generator_cpu_share", Double),
    #: None of requests.
    Column("items", BigInteger),
    Column("item_rate_per_s", Double),
    Column("cpu_us_per_item", Double),
    #: Which of its statistics says what users waited for a reply.
    Column("clock", Text),
    sqlite_with_rowid=False,
)

#: The latencies of a record on one clock: service, response, first_item or gap.
statistics = Table(
    "statistics",
    metadata,
    Column("cell_id", Integer, primary_key=True),
    Column("block", Integer, primary_key=True),
    Column("clock", Text, primary_key=True),
    Column("count", BigInteger, nullable=False),
    Column("min_ms", Double, nullable=False),
    Column("mean_ms", Double, nullable=False),
    Column("stdev_ms", Double, nullable=False),
    Column("p50_ms", Double, nullable=False),
    Column("p90_ms", Double, nullable=False),
    Column("p95_ms", Double, nullable=False),
    Column("p99_ms", Double, nullable=False),
    Column("p99_9_ms", Double, nullable=False),
    Column("max_ms", Double, nullable=False),
    ForeignKeyConstraint(["cell_id", "block"], ["blocks.cell_id", "blocks.block"], ondelete="CASCADE"),
    sqlite_with_rowid=False,
)

#: The gates of a record, in its order; their advice is in the record.
gates = Table(
    "gates",
    metadata,
    Column("cell_id", Integer, primary_key=True),
    Column("block", Integer, primary_key=True),
    Column("place", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("passed", Boolean, nullable=False),
    Column("value", Double, nullable=False),
    Column("limit_value", Double, nullable=False),
    Column("unit", Text, nullable=False),
    #: The metrics that can't be trusted if it failed, with a space between two.
    Column("metrics", Text, nullable=False),
    ForeignKeyConstraint(["cell_id", "block"], ["blocks.cell_id", "blocks.block"], ondelete="CASCADE"),
    sqlite_with_rowid=False,
)

# Those that are asked for, among many that passed.
Index("failed_gates", gates.c.cell_id, gates.c.name, sqlite_where=~gates.c.passed, postgresql_where=~gates.c.passed)

#: From those that others refer to, to those that refer to them.
TABLES = (runs, cells, blocks, statistics, gates)

#: The view: a cell's typical block. Its rows are found by cell_id; all other columns are for people.
results = table(
    "results",
    column("cell_id", Integer),
    column("run_id", Words),
    column("scenario", Words),
    column("started_at", Moment),
    column("target", Words),
    column("machine", Words),
    column("cell", Words),
    column("transport", Words),
    column("driver", Words),
    column("operation", Words),
    column("concurrency", Integer),
    column("factors", JSON),
    column("blocks", Integer),
    column("requests", BigInteger),
    column("failed", BigInteger),
    column("items", BigInteger),
    column("throughput_per_s", Double),
    column("p50_ms", Double),
    column("p90_ms", Double),
    column("p95_ms", Double),
    column("p99_ms", Double),
    column("p99_9_ms", Double),
    column("cpu_ms_per_request", Double),
    column("item_rate_per_s", Double),
    column("first_item_p50_ms", Double),
    column("gap_p99_ms", Double),
    column("cpu_us_per_item", Double),
)
