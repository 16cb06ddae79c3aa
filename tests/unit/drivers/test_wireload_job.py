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
    """Over the time of a stream, or the warm-up of half a second: together they'd wait at the same moments."""
    streaming = replace(JOB.cell, operation="ledger.stream_transactions", driver="wireload", stream_items=items)
    job = replace(JOB, cell=replace(streaming, stream_rate_limit_per_s=limit_per_s))
    assert expected_per_s == describe_job(job)["spawn_rate_per_s"]


@pytest.mark.parametrize(
    ("load", "expected"),
    [
        (Load(model="open", concurrency_max=64), 64),
        (Load(model="open"), None),
        # Where a sweep ends is nothing to one of its cells.
        (Load(model="sweep", concurrency_max=64), None),
    ],
)
def test_an_open_load_may_open_more_connections(load: Load, expected: int | None) -> None:
    """Its job says how many; it begins with those of its cell."""
    of = cell("rest", "wireload", concurrency=8, rate_per_s=100 if load.model == "open" else None)
    described = describe_job(replace(JOB, cell=of, load=load))
    assert (8, expected) == (described["concurrency"], described["concurrency_max"])


def test_http_2_is_spoken_without_tls() -> None:
    """HTTP/1.1 is wireload's own choice."""
    over_http_1 = replace(JOB, cell=cell("rest", "wireload"))
    assert not describe_job(over_http_1)["h2c"]
    assert describe_job(replace(JOB, cell=replace(over_http_1.cell, http=2)))["h2c"]


def test_users_share_connections_where_they_are_given() -> None:
    """Without them, each user has its own."""
    assert describe_job(JOB)["connections"] is None
    assert 4 == describe_job(replace(JOB, cell=cell("grpc", "wireload", concurrency=64, connections=4)))["connections"]
