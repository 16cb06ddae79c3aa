"""Links measured against the truth: what is asked of the proxy is what a round trip gets, and never less."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.driver_cases import SETUP_CASES, quantiles_ms
from tests.support.jobs import cell
from tests.support.latency_servers import truth_server
from wirebench.drivers import DRIVERS, Job
from wirebench.measure import toxiproxy
from wirebench.measure.observe import observe
from wirebench.model.contract import Driver, Transport
from wirebench.model.scenario import Load

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
    shaped = cell(transport, driver, delay_ms=20)
    load = Load(model="closed", warmup_s=0.2, window_s=0.8)
    with truth_server(transport, tmp_path, "-behaviour", "constant", "-latency", "20ms") as address:
        job = Job(shaped, load, address, 1, 1, tmp_path / "out.json", tmp_path / "out.log", None)
        observed = observe(job, (), None)
    assert {"ok"} == set(observed.file.count_by_code())
    least, median = quantiles_ms(observed.file, 0, 0.5)
    assert 39.9 <= least <= median <= 60
