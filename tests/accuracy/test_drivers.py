"""Drivers against servers whose latency is known: the figures are what the server did, on every transport."""

from __future__ import annotations

from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from tests.accuracy.servers import Delay, server, stall_after
from wirebench.drivers import DRIVERS, HistogramFile, Job
from wirebench.drivers.driver import SETUP
from wirebench.scenario import Cell, Load
from wirebench.scenario.contract import TRANSPORTS, Connection, Driver, Transport
from wirebench.scenario.drivers import DRIVERS as FACTS


def case(transport: Transport, driver: Driver) -> ParameterSet:
    """Return a transport and a driver, to be skipped where the driver isn't installed."""
    absent = DRIVERS[driver].version() is None
    skip = pytest.mark.skipif(absent, reason=f"{driver} is not installed: {DRIVERS[driver].setup}")
    return pytest.param(transport, driver, marks=skip, id=f"{transport}-{driver}")


CASES = [case(transport, driver) for transport, facts in TRANSPORTS.items() for driver in facts.drivers]
#: Those of `make setup`: enough for what is the same with any histogram file.
SETUP_CASES = [each for each in CASES if DRIVERS[str(each.values[1])].setup == SETUP]
#: Those that know when a request was due, and those that reopen connections.
OPEN_CASES = [
    case(transport, driver)
    for transport, facts in TRANSPORTS.items()
    for driver in facts.drivers
    if not FACTS[driver].no_open_load
]
REOPENING_CASES = [
    case(transport, driver)
    for transport, facts in TRANSPORTS.items()
    for driver in facts.drivers
    if transport in FACTS[driver].reopens
]


def cell(  # noqa: PLR0913 - what cells differ in
    transport: Transport,
    driver: Driver,
    *,
    concurrency: int = 8,
    rate_per_s: int | None = None,
    connection: Connection = "keep",
    delay_ms: int | None = None,
) -> Cell:
    """Return a cell that gets users, at its transport's defaults."""
    return Cell(
        transport=transport,
        runtime=TRANSPORTS[transport].runtimes["python"][0],
        driver=driver,
        operation="users.get",
        concurrency=concurrency,
        rate_per_s=rate_per_s,
        workers=1,
        threads=None,
        store="memory",
        codec=TRANSPORTS[transport].codecs[0],
        connection=connection,
        delay_ms=delay_ms,
    )


def measure(  # noqa: PLR0913 - what jobs differ in
    tmp_path: Path,
    transport: Transport,
    driver: Driver,
    delay_s: Delay,
    *,
    concurrency: int = 8,
    rate_per_s: int | None = None,
    connection: Connection = "keep",
) -> HistogramFile:
    """Load a server of known latency for two seconds, and return what the driver measured."""
    measured = cell(transport, driver, concurrency=concurrency, rate_per_s=rate_per_s, connection=connection)
    load = Load(model="open" if rate_per_s else "closed", warmup_s=0.3, window_s=2.0)
    with server(transport, delay_s) as address:
        job = Job(measured, load, address, 1, 1, tmp_path / "out.json", tmp_path / "out.log", None)
        (file,) = DRIVERS[driver].run(job, lambda _: None)
    return file


def quantiles_ms(file: HistogramFile, *quantiles: float, clock: str = "service") -> list[float]:
    """Return quantiles in milliseconds."""
    return [value / 1e6 for value in file.histogram(clock).quantiles_ns(*quantiles)]  # type: ignore[arg-type]


@pytest.mark.parametrize(("transport", "driver"), CASES)
def test_a_constant_latency_is_found(tmp_path: Path, transport: Transport, driver: Driver) -> None:
    """A server that takes 20 ms is measured as one that takes 20 ms, and as fast as that allows.

    A busy machine wakes it late, and makes it slower by as much: latency and rate agree all the same.
    """
    file = measure(tmp_path, transport, driver, lambda _: 0.02)
    least, median = quantiles_ms(file, 0, 0.5)
    assert 19.9 <= least <= median <= 40
    window = file.checked_window()
    assert 2.0 == pytest.approx(window.duration_s, rel=0.1)
    assert 8 == pytest.approx(file.latency_sum_s / window.duration_s, rel=0.1)
    # Eight connections of 20 ms each: 400 requests a second and not more.
    assert 200 <= file.counts_by_code()["ok"] / window.duration_s <= 401


@pytest.mark.parametrize(("transport", "driver"), CASES)
def test_a_slow_tenth_is_found_in_its_quantile(tmp_path: Path, transport: Transport, driver: Driver) -> None:
    """Every tenth request takes five times as long: the p50 doesn't show it, the p95 does."""
    file = measure(tmp_path, transport, driver, lambda number: 0.1 if number % 10 == 0 else 0.02)
    median, p95 = quantiles_ms(file, 0.5, 0.95)
    assert 19.9 <= median <= 40
    assert 99.9 <= p95 <= 200


@pytest.mark.parametrize(("transport", "driver"), OPEN_CASES)
def test_response_time_holds_the_wait_of_a_stall(tmp_path: Path, transport: Transport, driver: Driver) -> None:
    """A server that stalls for half a second delays every request that is due meanwhile, not only those it has."""
    file = measure(tmp_path, transport, driver, stall_after(1.0, 0.5), concurrency=150, rate_per_s=200)
    (p90,) = quantiles_ms(file, 0.9, clock="response")
    # A quarter of the two seconds' requests wait, evenly between none and all of the stall: a tenth over 300 ms.
    assert 200 <= p90 <= 450
    assert 0 == file.dropped_iterations


@pytest.mark.parametrize(("transport", "driver"), REOPENING_CASES)
def test_a_reopened_connection_answers_as_well(tmp_path: Path, transport: Transport, driver: Driver) -> None:
    """With a connection for every request, latency holds the connecting too, and no request fails."""
    file = measure(tmp_path, transport, driver, lambda _: 0.02, connection="reopen")
    assert {"ok"} == set(file.counts_by_code())
    (median,) = quantiles_ms(file, 0.5)
    assert 20 <= median <= 40
