"""Drivers against servers whose latency is known: the figures are what the server did, on every transport."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.driver_cases import CASES, OPEN_CASES, quantiles_ms
from tests.support.jobs import cell
from tests.support.latency_servers import truth_server
from wirebench.drivers import DRIVERS, Job
from wirebench.measure.truth import measure_truth
from wirebench.model.contract import Driver, Transport
from wirebench.model.histogram_file import HistogramFile
from wirebench.model.scenario import Load
from wirebench.targets.cores import divide_cores

#: What the server does.
CONSTANT = ("-behaviour", "constant", "-latency", "20ms")
SLOW_TENTH = ("-behaviour", "two-modes", "-latency", "20ms", "-slow", "100ms", "-slow-share", "0.1")
STALL = ("-behaviour", "stall", "-latency", "1ms", "-stall-after", "1s", "-stall", "500ms")
#: As real time is measured, nothing else may run.
pytestmark = pytest.mark.timing


def measure(
    tmp_path: Path,
    transport: Transport,
    driver: Driver,
    *behaviour: str,
    concurrency: int = 8,
    rate_per_s: int | None = None,
) -> HistogramFile:
    """Load a server of known latency for two seconds, and return what the driver measured."""
    measured = cell(transport, driver, concurrency=concurrency, rate_per_s=rate_per_s)
    load = Load(model="open" if rate_per_s else "closed", warmup_s=0.3, window_s=2.0)
    with truth_server(transport, tmp_path, *behaviour) as address:
        job = Job(measured, load, address, 1, 1, tmp_path / "out.json", tmp_path / "out.log", None)
        return DRIVERS[driver].run(job, lambda _: None)


@pytest.mark.parametrize(("transport", "driver"), CASES)
def test_a_constant_latency_is_found(transport: Transport, driver: Driver) -> None:
    """Driver and server count the same requests of a window, and neither sees one that took less than its delay.

    A busy machine wakes the server late, and makes it slower by as much: latency and rate agree all the same.
    """
    load = Load(model="closed", warmup_s=0.3, window_s=2.0)
    measured = measure_truth(cell(transport, driver, concurrency=8), load, CONSTANT, 1, divide_cores())
    service = measured.file.merge_histograms("service")
    assert {"ok": service.count} == measured.file.count_by_code()
    assert 0 == measured.file.mismatches
    # At each edge of the window a request of each connection may be on its way back; oha's window is a little early.
    assert measured.truth.count == pytest.approx(service.count, rel=0.1 if driver == "oha" else 0, abs=2 * 8)
    least, median = quantiles_ms(measured.file, 0, 0.5)
    assert 19.9 <= least <= median <= 60
    assert measured.truth.compute_quantiles_ns(0)[0] >= 19.9e6
    # No driver is faster than the server, but for a core that was taken from the server after it had replied.
    assert measured.truth.compute_quantiles_ns(0.5)[0] <= 1.1e6 * median
    assert 2.0 == pytest.approx(measured.window_s, rel=0.1)
    assert 8 == pytest.approx(measured.file.sum_s("service") / measured.window_s, rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(("transport", "driver"), CASES)
def test_a_slow_tenth_is_found_in_its_quantile(tmp_path: Path, transport: Transport, driver: Driver) -> None:
    """A tenth of the requests takes five times as long: the p50 doesn't show it, the p95 does."""
    file = measure(tmp_path, transport, driver, *SLOW_TENTH)
    median, p95 = quantiles_ms(file, 0.5, 0.95)
    assert 19.9 <= median <= 60
    assert 99.9 <= p95 <= 200


@pytest.mark.parametrize(("transport", "driver"), OPEN_CASES)
def test_response_time_holds_the_wait_of_a_stall(tmp_path: Path, transport: Transport, driver: Driver) -> None:
    """A server that stalls for half a second delays every request that is due meanwhile, not only those it has."""
    file = measure(tmp_path, transport, driver, *STALL, concurrency=300, rate_per_s=200)
    (p90,) = quantiles_ms(file, 0.9, clock="response")
    # A quarter of the two seconds' requests wait, evenly between none and all of the stall: a tenth over 300 ms. What
    # else the machine does may lengthen the stall, and doesn't shorten it.
    assert 200 <= p90 <= 5000
    assert 0 == file.dropped_iterations
