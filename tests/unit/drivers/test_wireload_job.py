"""What wireload is asked for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.jobs import JOB, cell
from wirebench.drivers.wireload import describe_job
from wirebench.model.scenario import Load


@pytest.mark.parametrize(
    ("items", "limit_per_s", "expected_per_s"), [(100, 1000, 160), (1000, 1000, 32), (0, 1000, 32), (1000, None, None)]
)
def test_streams_with_a_rate_limit_start_spread(
    items: int, limit_per_s: int | None, expected_per_s: float | None
) -> None:
    """Streams that started together would wait at the same moments."""
    streaming = replace(JOB.cell, operation="ledger.stream_transactions", driver="wireload", stream_items=items)
    job = replace(JOB, cell=replace(streaming, stream_rate_limit_per_s=limit_per_s))
    assert expected_per_s == describe_job(job)["spawn_rate_per_s"]


@pytest.mark.parametrize(
    ("load", "levels", "expected"),
    [
        # It begins with the connections of its cell, and may open more.
        (Load(model="open", concurrency_max=64), {"rate_per_s": 100}, {"concurrency": 8, "concurrency_max": 64}),
        (Load(model="open"), {"rate_per_s": 100}, {"concurrency_max": None}),
        # Where a sweep ends is nothing to one of its cells.
        (Load(model="sweep", concurrency_max=64), {}, {"concurrency_max": None}),
        # HTTP/2 is spoken without TLS; each user has a connection, unless they share some.
        (Load(), {}, {"h2c": False, "connections": None}),
        (Load(), {"http": 2, "connections": 4}, {"h2c": True, "connections": 4}),
    ],
)
def test_a_job_says_which_connections_there_are(
    load: Load, levels: dict[str, object], expected: dict[str, object]
) -> None:
    """They are those of the load and of the cell."""
    described = describe_job(replace(JOB, cell=cell("rest", "wireload", **levels), load=load))
    assert expected.items() <= described.items()
