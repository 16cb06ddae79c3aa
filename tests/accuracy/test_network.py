"""Links measured against the truth: what is asked of the proxy is what a round trip gets, and never less."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.driver_cases import SETUP_CASES, quantiles_ms
from tests.support.jobs import cell
from tests.support.latency_servers import truth_server
from wirebench.drivers import DRIVERS, Job
from wirebench.measure.observe import observe
from wirebench.model.contract import Connection, Driver, Transport
from wirebench.model.scenario import Load
from wirebench.targets import toxiproxy

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timing,
    pytest.mark.skipif(
        toxiproxy.read_version() is None or DRIVERS["wireload"].read_version() is None,
        reason="the tools are not built: make setup",
    ),
]


@pytest.mark.parametrize(("transport", "driver"), SETUP_CASES)
def test_a_delay_is_found_on_top_of_a_known_latency(tmp_path: Path, transport: Transport, driver: Driver) -> None:
    """A server that takes 20 ms, 20 ms away, is measured as 40 ms."""
    least, median = through_a_delay(tmp_path, transport, driver, "keep")
    assert 39.9 <= least <= median <= 60


@pytest.mark.parametrize("transport", ["rest", "grpc", "socket"])
def test_a_reopened_connection_is_delayed_as_well(tmp_path: Path, transport: Transport) -> None:
    """With a connection for every request, each of them goes through the link."""
    least, median = through_a_delay(tmp_path, transport, "wireload", "reopen")
    assert 39.9 <= least <= median <= 90


def through_a_delay(folder: Path, transport: Transport, driver: Driver, connection: Connection) -> list[float]:
    """Load a server of 20 ms through a delay of 20 ms; return the least and the median latency."""
    shaped = cell(transport, driver, connection=connection, delay_ms=20)
    load = Load(model="closed", warmup_s=0.2, window_s=0.8)
    with truth_server(transport, folder, "-behaviour", "constant", "-latency", "20ms") as address:
        observed = observe(Job(shaped, load, address, 1, 1, folder / "out.json", folder / "out.log", None), (), None)
    assert {"ok"} == set(observed.file.count_by_code())
    return quantiles_ms(observed.file, 0, 0.5)
