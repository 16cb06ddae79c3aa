"""Runs, cells, blocks, statistics and gates, and the figures a cell."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_WORDS = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")

# The geometric mean of the blocks' positive figures: exp(avg(ln(x))).
_TYPICAL = "exp(avg(CASE WHEN {0} > 0 THEN ln({0}) END))"

_RESULTS = f"""
CREATE VIEW results AS SELECT figures.cell_id, runs.run_id, runs.scenario, runs.started_at, runs.target, runs.machine,
    cells.cell, cells.transport, cells.driver, cells.operation, cells.concurrency, cells.factors,
    figures.blocks, figures.requests, figures.failed, figures.items,
    figures.throughput_per_s, figures.p50_ms, figures.p90_ms, figures.p95_ms, figures.p99_ms, figures.p99_9_ms,
    figures.cpu_ms_per_request, figures.item_rate_per_s, figures.first_item_p50_ms, figures.gap_p99_ms,
    figures.cpu_us_per_item
FROM (
    SELECT blocks.cell_id AS cell_id,
        count(*) AS blocks,
        CAST(sum(blocks.requests) AS BIGINT) AS requests,
        CAST(sum(blocks.failed) AS BIGINT) AS failed,
        CAST(sum(blocks.items) AS BIGINT) AS items,
        {_TYPICAL.format("blocks.throughput_per_s")} AS throughput_per_s,
        {_TYPICAL.format("reply.p50_ms")} AS p50_ms,
        {_TYPICAL.format("reply.p90_ms")} AS p90_ms,
        {_TYPICAL.format("reply.p95_ms")} AS p95_ms,
        {_TYPICAL.format("reply.p99_ms")} AS p99_ms,
        {_TYPICAL.format("reply.p99_9_ms")} AS p99_9_ms,
        {_TYPICAL.format("blocks.cpu_ms_per_request")} AS cpu_ms_per_request,
        {_TYPICAL.format("blocks.item_rate_per_s")} AS item_rate_per_s,
        {_TYPICAL.format("first_item.p50_ms")} AS first_item_p50_ms,
        {_TYPICAL.format("gap.p99_ms")} AS gap_p99_ms,
        {_TYPICAL.format("blocks.cpu_us_per_item")} AS cpu_us_per_item
    FROM blocks
    LEFT JOIN statistics AS reply
        ON reply.cell_id = blocks.cell_id AND reply.block = blocks.block AND reply.clock = blocks.clock
    LEFT JOIN statistics AS first_item
        ON first_item.cell_id = blocks.cell_id AND first_item.block = blocks.block AND first_item.clock = 'first_item'
    LEFT JOIN statistics AS gap
        ON gap.cell_id = blocks.cell_id AND gap.block = blocks.block AND gap.clock = 'gap'
    GROUP BY blocks.cell_id
) AS figures
JOIN cells ON cells.id = figures.cell_id
JOIN runs ON runs.id = cells.run
"""  # noqa: S608 - put together from constants


def upgrade() -> None:
    """Make the tables and the view."""
    _make_runs_and_cells()
    _make_blocks()
    op.execute(_RESULTS)


def _make_runs_and_cells() -> None:
    op.create_table(
        "runs",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("run_id", _WORDS, nullable=False, unique=True),
        sa.Column("scenario", _WORDS, nullable=False),
        sa.Column("question", _WORDS, nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("duration_s", sa.Double),
        sa.Column("status", _WORDS, nullable=False),
        sa.Column("reason", _WORDS, nullable=False),
        sa.Column("target", _WORDS, nullable=False),
        sa.Column("machine", _WORDS, nullable=False),
        sa.Column("versions", sa.JSON, nullable=False),
        sa.Column("commit_id", _WORDS),
        sa.Column("seed", sa.BigInteger, nullable=False),
        sa.Column("blocks", sa.Integer, nullable=False),
        sa.Column("cells", sa.Integer, nullable=False),
    )
    op.create_index("runs_by_start", "runs", ["started_at", "run_id"])
    op.create_table(
        "cells",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("run", sa.Integer, sa.ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),
        sa.Column("operation", _WORDS, nullable=False),
        sa.Column("concurrency", sa.Integer, nullable=False),
        sa.Column("cell", _WORDS, nullable=False),
        sa.Column("transport", _WORDS, nullable=False),
        sa.Column("driver", _WORDS, nullable=False),
        sa.Column("factors", sa.JSON, nullable=False),
        sa.UniqueConstraint("run", "cell"),
    )
    op.create_index("cells_of_runs", "cells", ["run", "operation", "concurrency", "cell", "transport", "driver"])


def _make_blocks() -> None:
    op.create_table(
        "blocks",
        sa.Column("cell_id", sa.Integer, sa.ForeignKey("cells.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("block", sa.Integer, primary_key=True),
        sa.Column("place", sa.Integer, nullable=False),
        sa.Column("window_start_unix_ns", sa.BigInteger, nullable=False),
        sa.Column("window_s", sa.Double, nullable=False),
        sa.Column("requests", sa.BigInteger, nullable=False),
        sa.Column("failed", sa.BigInteger, nullable=False),
        sa.Column("throughput_per_s", sa.Double),
        sa.Column("cpu_ms_per_request", sa.Double),
        sa.Column("rate_asked_per_s", sa.Double),
        sa.Column("dropped_iterations", sa.BigInteger, nullable=False),
        sa.Column("mismatches", sa.BigInteger, nullable=False),
        sa.Column("memory_bytes", sa.BigInteger),
        sa.Column("generator_cpu_share", sa.Double),
        sa.Column("items", sa.BigInteger),
        sa.Column("item_rate_per_s", sa.Double),
        sa.Column("cpu_us_per_item", sa.Double),
        sa.Column("clock", sa.Text),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "statistics",
        sa.Column("cell_id", sa.Integer, primary_key=True),
        sa.Column("block", sa.Integer, primary_key=True),
        sa.Column("clock", sa.Text, primary_key=True),
        sa.Column("count", sa.BigInteger, nullable=False),
        *(
            sa.Column(f"{name}_ms", sa.Double, nullable=False)
            for name in ("min", "mean", "stdev", "p50", "p90", "p95", "p99", "p99_9", "max")
        ),
        sa.ForeignKeyConstraint(["cell_id", "block"], ["blocks.cell_id", "blocks.block"], ondelete="CASCADE"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "gates",
        sa.Column("cell_id", sa.Integer, primary_key=True),
        sa.Column("block", sa.Integer, primary_key=True),
        sa.Column("place", sa.Integer, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("passed", sa.Boolean, nullable=False),
        sa.Column("value", sa.Double, nullable=False),
        sa.Column("limit_value", sa.Double, nullable=False),
        sa.Column("unit", sa.Text, nullable=False),
        sa.Column("metrics", sa.Text, nullable=False),
        sa.ForeignKeyConstraint(["cell_id", "block"], ["blocks.cell_id", "blocks.block"], ondelete="CASCADE"),
        sqlite_with_rowid=False,
    )
    failed = sa.not_(sa.column("passed", sa.Boolean))
    op.create_index("failed_gates", "gates", ["cell_id", "name"], sqlite_where=failed, postgresql_where=failed)
