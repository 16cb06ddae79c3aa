"""Closed loads whose connections aren't all served, or not from the beginning: a gate fails that says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.driver_cases import SETUP_CASES
from tests.support.jobs import cell
from tests.support.latency_servers import truth_server
from wirebench.drivers import Job
from wirebench.measure.figures import make_record
from wirebench.measure.observe import observe
from wirebench.model.contract import Driver, Transport
from wirebench.model.scenario import Load

CONCURRENCY = 8

pytestmark = [pytest.mark.slow, pytest.mark.timing]


def failed_gates(folder: Path, transport: Transport, driver: Driver, *behaviour: str) -> set[str]:
    """Load a server of known latency, 0.4 s and then a second that is measured; return the gates that failed."""
    measured = cell(transport, driver, concurrency=CONCURRENCY)
    load = Load(model="closed", warmup_s=0.4, window_s=1.0)
    with truth_server(transport, folder, "-latency", "20ms", "-behaviour", *behaviour) as address:
        job = Job(measured, load, address, 1, 1, folder / "out.json", folder / "out.log", None)
        observed = observe(job, replicas=())
    record = make_record(job, [observed])
    # A second has few samples, and the server one user for all.
    return {gate.name for gate in record.gates if not gate.passed} - {"samples", "conformance"}


@pytest.mark.parametrize(("transport", "driver"), SETUP_CASES)
def test_connections_without_an_answer_are_noticed(tmp_path: Path, transport: Transport, driver: Driver) -> None:
    """Half of the connections wait until the window has closed: throughput and latency of the others are fine."""
    late = ("late-start", "-slow", "2s", "-slow-first", str(CONCURRENCY // 2))
    assert {"connections"} == failed_gates(tmp_path, transport, driver, *late)


@pytest.mark.parametrize(("transport", "driver"), SETUP_CASES)
def test_connections_that_open_late_are_noticed(tmp_path: Path, transport: Transport, driver: Driver) -> None:
    """Each connection's first request takes longer than the warm-up, and ends in the window."""
    late = ("late-start", "-slow", "600ms", "-slow-first", str(CONCURRENCY))
    assert {"warmup"} == failed_gates(tmp_path, transport, driver, *late)
