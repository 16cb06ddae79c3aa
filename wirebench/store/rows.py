"""What is asked of the index, and what it answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

#: A page has no more rows.
PAGE_ROWS_MAX = 1000

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One cell of one run: latencies of its blocks merged, sums of counts, and of other figures the geometric mean.

    The metrics have their `field` here (wirebench.model.metric).

    Latencies are on the response clock where there is one. Of streams there are no figures of requests but those of
    items; requests have none of items. A figure that no block has is None.
    """

    run_id: str
    scenario: str
    started_at: datetime
    target: str
    machine: str
    cell: str
    transport: str
    driver: str
    #: Aliases of `transport` and `driver`.
    protocol: str
    client: str
    operation: str
    concurrency: int
    blocks: int
    throughput_per_s: float | None
    #: Of a search for it; None of other loads.
    capacity_per_s: float | None
    capacity_core_per_s: float | None
    capacity_memory_per_s: float | None
    min_ms: float | None
    mean_ms: float | None
    stdev_ms: float | None
    p50_ms: float | None
    p90_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    p99_9_ms: float | None
    max_ms: float | None
    #: Beside the latencies of all blocks together: those of the blocks that differ most.
    p50_lowest_block_ms: float | None
    p50_highest_block_ms: float | None
    p99_lowest_block_ms: float | None
    p99_highest_block_ms: float | None
    cpu_us_per_request: float | None
    item_rate_per_s: float | None
    first_item_ms: float | None
    gap_ms: float | None
    cpu_us_per_item: float | None
    #: What the driver's figures are worth; None where it wasn't calibrated.
    ceiling_share_percent: float | None
    coarse_blocks: int | None
    requests: int
    successful: int
    failed: int
    #: Failed requests by their class.
    errors: dict[str, int]
    retried: int
    #: Items of streams; None where there are no streams.
    items: int | None
    #: Gates that failed in any block.
    failed_gates: tuple[str, ...]
    #: The same by the metric that can't be trusted because of them: others are fit for verdicts.
    failed_gates_by_metric: dict[str, tuple[str, ...]]
    factors: dict[str, str | int | float | None]


def group_by_metric(failed: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    """Return the names of failed gates by metric; `failed` has the metrics of each gate."""
    grouped: dict[str, tuple[str, ...]] = {}
    for gate, metrics in failed.items():
        for metric in metrics:
            grouped[metric] = (*grouped.get(metric, ()), gate)
    return grouped


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One run: `records` of its `cells` × `blocks` are there."""

    run_id: str
    scenario: str
    question: str
    started_at: datetime
    duration_s: float | None
    status: str
    reason: str
    target: str
    machine: str
    versions: dict[str, str]
    commit: str | None
    seed: int
    blocks: int
    cells: int
    records: int
    #: Gates that failed in any record.
    failed_gates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ResultPage(Generic[Row]):
    """Some of the rows that were asked for; `total` is how many there are, `next_cursor` is None on the last page."""

    rows: tuple[Row, ...]
    total: int
    next_cursor: str | None


#: The levels in the index of each filter that can be chosen from, sorted, by its name.
Choices = Mapping[str, tuple[Any, ...]]
