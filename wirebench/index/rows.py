"""The rows of the index that a run and its records come to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from wirebench.errors import WirebenchError
from wirebench.stats import METRICS
from wirebench.stats.names import machine_name
from wirebench.stats.summary import clock_of
from wirebench.store import Latency, Record, RunInfo

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class RecordRows:
    """A record's rows by table, without the id of its cell, which the database gives."""

    cell: Row
    block: Row
    statistics: tuple[Row, ...]
    gates: tuple[Row, ...]

    def of_cell(self, cell_id: int) -> None:
        """Say which cell they belong to."""
        for row in (self.block, *self.statistics, *self.gates):
            row["cell_id"] = cell_id


def run_row(info: RunInfo) -> Row:
    """Return the row of a run. Raises WirebenchError if it doesn't say when it began."""
    return {
        "run_id": info.id,
        "scenario": info.scenario,
        "question": info.question,
        "started_at": _moment(info.started_at),
        "duration_s": info.duration_s,
        "status": info.status,
        "reason": info.reason,
        "target": info.target,
        "machine": machine_name(info.machine),
        "versions": info.versions,
        "commit_id": info.commit,
        "seed": info.seed,
        "blocks": info.blocks,
        "cells": info.cells,
    }


def record_rows(record: Record) -> RecordRows:
    """Return the rows of a record."""
    factors, streams = record.factors, record.streams
    cell = {
        "cell": record.cell,
        "operation": factors["operation"],
        "concurrency": factors["concurrency"],
        "transport": factors["transport"],
        "driver": factors["driver"],
        "factors": factors,
    }
    block = {
        "block": record.block,
        "place": record.order,
        "window_start_unix_ns": record.window_start_unix_ns,
        "window_s": record.window_s,
        "requests": record.requests,
        "failed": sum(record.errors.values()),
        "throughput_per_s": METRICS["throughput"].of(record),
        "cpu_ms_per_request": METRICS["cpu"].of(record),
        "rate_asked_per_s": record.rate_asked_per_s,
        "dropped_iterations": record.dropped_iterations,
        "mismatches": record.mismatches,
        "memory_bytes": record.server.memory_bytes,
        "generator_cpu_share": record.generator.cpu_share,
        "items": streams.items if streams else None,
        "item_rate_per_s": METRICS["item_rate"].of(record),
        "cpu_us_per_item": METRICS["item_cpu"].of(record),
        "clock": clock_of(record),
    }
    return RecordRows(cell, block, tuple(_statistics(record)), tuple(_gates(record)))


def _statistics(record: Record) -> Iterator[Row]:
    clocks: dict[str, Latency | None] = {"service": record.service, "response": record.response}
    if record.streams:
        clocks |= {"first_item": record.streams.first_item, "gap": record.streams.gap}
    for clock, latency in clocks.items():
        if latency:
            yield {"block": record.block, "clock": clock, **dict(latency)}


def _gates(record: Record) -> Iterator[Row]:
    for place, gate in enumerate(record.gates):
        yield {
            "block": record.block,
            "place": place,
            "name": gate.name,
            "passed": gate.passed,
            "value": gate.value,
            "limit_value": gate.limit,
            "unit": gate.unit,
            "metrics": " ".join(gate.metrics),
        }


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise WirebenchError(f"run.json: started_at: {text!r} is no time", "correct it, or move the run away") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
