"""Closed loads whose connections aren't all served: a gate fails that says so."""

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


@pytest.mark.parametrize(("transport", "driver"), SETUP_CASES)
def test_connections_without_an_answer_are_noticed(tmp_path: Path, transport: Transport, driver: Driver) -> None:
    """Half of the connections wait until the window has closed: throughput and latency of the others are fine."""
    late = ("-latency", "20ms", "-behaviour", "late-start", "-slow", "2s", "-slow-first", str(CONCURRENCY // 2))
    load = Load(model="closed", warmup_s=0.4, window_s=1.0)
    of = cell(transport, driver, concurrency=CONCURRENCY)
    with truth_server(transport, tmp_path, *late) as address:
        job = Job(of, load, address, 1, 1, tmp_path / "out.json", tmp_path / "out.log", None)
        record = make_record(job, observe(job, replicas=()))
    # A second has few samples, and the server one user for all.
    failed = {gate.name for gate in record.gates if not gate.passed} - {"samples", "conformance"}
    assert {"connections"} == failed
