"""From what was observed to a record."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.histogram_files import make_histogram_file
from tests.support.report_run import cell
from wirebench.drivers import Job
from wirebench.measure.figures import make_record
from wirebench.measure.observe import Observation
from wirebench.model.record import Record
from wirebench.model.scenario import Load

JOB = Job(
    cell=cell("rest", workers=2, replicas=2, balancing="headless", cpu_limit_millicores=250),
    load=Load(warmup_s=0.5, window_s=2),
    address="127.0.0.1:1",
    seed=1,
    id_base=1,
    output=Path("h.json"),
    log=Path("driver.log"),
    cores=None,
)
#: The second worker of b had none, and so isn't listed.
REQUESTS = {"a": {"70": 2, "71": 2}, "b": {"80": 3}}


def seen(cpu_s: float, requests: dict[str, dict[str, int]] | None = None, start_s: int = 100) -> Observation:
    """Return what was seen of a generator of two cores, and what was counted at the server if that was seen."""
    return Observation(
        file=make_histogram_file(start_s, [1, 2, 3], (2, 1)),
        window_s=2.0,
        generator_cpu_s=cpu_s,
        generator_share=cpu_s / (2 * 2.0),
        generator_throttled_periods=1,
        server_cpu_s=0.3,
        server_memory_bytes=2**20,
        server_throttled_periods=4,
        server_requests=requests,
    )


def record_of(folder: Path, observation: Observation, job: Job = JOB) -> Record:
    """Return the record of an observation."""
    return make_record(replace(job, output=folder / "h.json"), observation, spare_cores=0.75)


def test_the_warm_up_counts_from_the_start_of_the_last_user(tmp_path: Path) -> None:
    """Its first requests are those that the window must not see."""
    load = Load(warmup_s=0.5, window_s=2, spawn_rate_per_s=10)
    job = replace(JOB, cell=replace(JOB.cell, concurrency=4), load=load)
    gates = {gate.name: gate.limit for gate in record_of(tmp_path, seen(1.0), job=job).gates}
    assert 0.2 == pytest.approx(gates["warmup"])


def test_requests_are_told_by_replica_and_by_worker(tmp_path: Path) -> None:
    """Replicas share evenly or not; workers do so within the replica where it is worst."""
    record = record_of(tmp_path, seen(1.0, REQUESTS))
    assert {"a": 4, "b": 3} == record.server.requests_by_replica
    assert 0.5 == record.server.fairness
    assert 49 / (2 * 25) == record.server.replica_fairness
    gates = {gate.name: gate.passed for gate in record.gates}
    assert gates["replica_balance"]
    assert [] == [name for name in gates if "worker" in name], "how a server shares among its workers is a finding"
    by_service = replace(JOB, cell=replace(JOB.cell, balancing="service"))
    record = record_of(tmp_path, seen(1.0, {"a": {"0": 3}, "b": {"0": 0}}), job=by_service)
    assert 0.5 == record.server.replica_fairness
    assert "replica_balance" not in {gate.name for gate in record.gates}, "only a client that balances promises it"
