"""Streams whose items come at known moments: the figures are what the server did, on every transport."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.driver_cases import STREAM_CASES, quantiles_ms
from tests.support.jobs import cell
from tests.support.latency_servers import Pacing, stream_server
from wirebench.drivers import DRIVERS, Job
from wirebench.model.contract import Driver, Transport
from wirebench.model.histogram_file import HistogramFile
from wirebench.model.scenario import Load

CONCURRENCY = 4

pytestmark = [pytest.mark.slow, pytest.mark.timing]


def measure(tmp_path: Path, transport: Transport, driver: Driver, pacing: Pacing, items: int) -> HistogramFile:
    """Read streams of so many items for a second, and return what was measured."""
    users = cell(transport, driver, concurrency=CONCURRENCY)
    streams = replace(users, operation="ledger.stream_transactions", stream_items=items)
    with stream_server(transport, pacing) as address:
        # Drivers in Python take a while to connect where other programs want the CPU as well.
        load = Load(warmup_s=1.0, window_s=1.0)
        job = Job(streams, load, address, 1, 1, tmp_path / "out.json", tmp_path / "out.log", None)
        file = DRIVERS[driver].run(job, lambda _: None)
    assert 0 == file.mismatches
    return file


@pytest.mark.parametrize(("transport", "driver"), STREAM_CASES)
def test_known_times_of_items_are_found(tmp_path: Path, transport: Transport, driver: Driver) -> None:
    """First items after 50 ms and the others every 20 ms are measured as that; busy machines only make them later.

    By Little's law the waits for items fill the time of all connections.
    """
    file = measure(tmp_path, transport, driver, Pacing(first_s=0.05, gap_s=0.02), items=10)
    least, median = quantiles_ms(file, 0, 0.5, clock="first_item")
    assert 49.9 <= least <= median <= 100
    (median,) = quantiles_ms(file, 0.5, clock="gap")
    assert 18 <= median <= 40
    # Each stream takes 230 ms: 10 items of each of 4 connections, which are 174 a second; those of a part more at most.
    assert 87 <= file.items <= 200
    assert pytest.approx(CONCURRENCY, rel=0.1) == file.sum_s("first_item", "gap")
    assert {"ok"} == set(file.requests_total)


@pytest.mark.parametrize(("transport", "driver"), STREAM_CASES)
def test_streams_that_outlast_the_load_are_measured_by_their_items(
    tmp_path: Path, transport: Transport, driver: Driver
) -> None:
    """Not one stream ends; the items of the window are there all the same, and the streams were cancelled."""
    file = measure(tmp_path, transport, driver, Pacing(first_s=0, gap_s=0.01), items=100_000)
    assert {} == file.requests_total
    assert file.streams is not None
    assert CONCURRENCY == file.streams.cancelled == file.sent
    # 100 a second on each connection.
    assert 100 * CONCURRENCY * 0.5 <= file.items <= 100 * CONCURRENCY * 1.02
    assert 0 < file.items < file.streams.items_total
