"""Each kind of load by wireload, on real services that count every request."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.runs import needs_cross_check, needs_tools
from wirebench.drivers import Job
from wirebench.measure import toxiproxy
from wirebench.measure.figures import make_record
from wirebench.measure.observe import observe
from wirebench.model.cell import ServiceSpec
from wirebench.model.record import Record
from wirebench.plan.load import read_scenario
from wirebench.plan.plan import make_plan
from wirebench.run.ids import find_free, lay_out
from wirebench.targets.cores import divide_cores
from wirebench.targets.endpoint import Endpoint
from wirebench.targets.local import LocalTarget

pytestmark = needs_tools

ALL = "transport: [rest, grpc, socket], implementation: go"
#: The rest of a scenario, by what it is about.
SCENARIOS = {
    "closed": f"factors: {{{ALL}, operation: [users.create, users.list], concurrency: 4}}\n"
    "load: {warmup_s: 0.1, window_s: 0.5}",
    "protobuf": f"factors: {{{ALL.replace('grpc, ', '')}, codec: protobuf, http: {{rest: [1, 2]}}, concurrency: 4,\n"
    "  connection: [keep, reopen]}\n"
    "load: {warmup_s: 0.1, window_s: 0.5}",
    "tls": f"factors: {{{ALL}, tls: server, concurrency: 4, connection: [keep, reopen]}}\n"
    "load: {warmup_s: 0.2, window_s: 0.5}",
    "open": f"factors: {{{ALL}, driver: {{rest: [wireload, k6]}}, rate_per_s: 200, concurrency: 50}}\n"
    "load: {model: open, warmup_s: 0.4, window_s: 0.6}",
    "streams": "factors: {transport: [rest, grpc], implementation: go, operation: ledger.stream_transactions,\n"
    "  http: {rest: [1, 2]}, stream_items: 50, concurrency: 2}\n"
    "load: {warmup_s: 0.1, window_s: 0.5}",
    "mix": f"factors: {{{ALL}, operation: crud, concurrency: 4}}\n"
    "load: {warmup_s: 0.1, window_s: 0.5, workloads: {crud: {mix: {users.create: 2, users.get: 5, users.delete: 1}}}}",
    "calls": f"factors: {{{ALL}, operation: crud, concurrency: 3}}\n"
    "load: {model: calls, calls: 40, warmup_calls: 20, workloads: {crud: {sequence: [users.create, users.get]}}}",
    "phases": f"factors: {{{ALL}, operation: crud, payload: list, concurrency: 2}}\n"
    "load: {model: calls, calls: 40, warmup_calls: 6,\n"
    "  workloads: {crud: {phases: [users.create, users.list, users.get, users.delete]}}}",
    "arrivals": f"factors: {{{ALL}, concurrency: 6}}\nload: {{spawn_rate_per_s: 20, warmup_s: 0.5, window_s: 0.5}}",
}


@dataclass
class Loads:
    """Sends the loads of scenarios to services that stay, each started when it is first needed."""

    folder: Path
    stack: ExitStack
    endpoints: dict[ServiceSpec, Endpoint] = field(default_factory=dict)

    def measure(self, scenario: Path) -> list[Record]:
        """Measure each cell of a scenario once, as `wirebench run` does, and return the records."""
        plan = make_plan(read_scenario(scenario), seed=1)
        for service in plan.services:
            if service not in self.endpoints:
                # Its cores aren't claimed: what is counted here is right on a busy machine, too.
                target = LocalTarget(divide_cores(), lambda name: self.folder / f"{name}.log")
                self.stack.callback(target.stop)
                self.endpoints |= target.start([service])
        ids = lay_out(plan, restarts_services=False)
        first_id = find_free(ids.count, [self.endpoints[each] for each in plan.services])
        records = []
        for planned in plan.blocks[0]:
            endpoint, load = self.endpoints[planned.cell.service], plan.scenario.load
            id_base = first_id + ids.offsets.get(planned, 0)
            output, log = scenario.with_name(f"{planned.id}.json"), scenario.with_name(f"{planned.id}.log")
            job = Job(planned.cell, load, endpoint.address, 1, id_base, output, log, None, tls=endpoint.tls)
            records.append(make_record(job, observe(job, endpoint.replicas)))
        return records


@pytest.fixture(scope="module")
def loads(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loads]:
    """Return what sends loads to services that all tests of this module share."""
    with ExitStack() as stack:
        yield Loads(tmp_path_factory.mktemp("services"), stack)


@pytest.fixture
def measure(loads: Loads, scenario: Callable[[str], Path]) -> Callable[[str], list[Record]]:
    """Return a function that measures the rest of a scenario, and checks its replies and counts."""

    def measure(text: str) -> list[Record]:
        records = loads.measure(scenario(f"question: Is this load sent?\n{text}\nblocks: 1\n"))
        for record in records:
            assert {} == record.errors, record.error_texts
            assert 0 == record.mismatches
            assert record.requests
            checked = {"calls", "counts", "conformance"}
            assert [] == [gate for gate in record.gates if gate.name in checked and not gate.passed]
        return records

    return measure


@pytest.mark.parametrize(
    "about", [pytest.param(each, marks=[needs_cross_check] * (each == "open")) for each in SCENARIOS]
)
def test_each_kind_of_load(about: str, measure: Callable[[str], list[Record]]) -> None:
    """Server and driver count the same requests, none fails, and each reply that is looked at is right."""
    records = measure(SCENARIOS[about])
    assert len({record.factors["transport"] for record in records}) >= 2
    for record in records:
        match about:
            case "open":
                assert record.response
                assert record.service
                assert record.service.count == record.response.count
                assert record.response.mean_ms >= record.service.mean_ms * 0.99
            case "streams":
                assert record.streams
                assert record.streams.items > record.requests
            case "calls":
                assert (120, 180) == (record.requests, record.requests_total)
            case "phases":
                phases = ("users.create", "users.list", "users.get", "users.delete")
                assert dict.fromkeys(phases, 20) == {name: each.requests for name, each in record.operations.items()}
        if about == "open":
            assert 200 == record.rate_asked_per_s
            # For 1 s, by k6 for 1.05 s, whether or not the machine was too busy for all of them.
            assert 205 == pytest.approx(record.requests_total + record.dropped_iterations, rel=0.05)


def test_a_replay_sends_every_recorded_request(measure: Callable[[str], list[Record]], tmp_path: Path) -> None:
    """A burst of more requests than connections is sent late and not left out."""
    (tmp_path / "timing.json").write_text(json.dumps([0, *[0.2] * 60, *(0.3 + each / 100 for each in range(39))]))
    for record in measure(
        f"factors: {{{ALL}, concurrency: 8}}\nload: {{model: replay, timing: timing.json, warmup_s: 0.1}}"
    ):
        assert 100 == record.requests
        assert 0 == record.dropped_iterations


@needs_cross_check
@pytest.mark.skipif(toxiproxy.read_version() is None, reason="toxiproxy is not built: make setup")
def test_a_request_that_takes_longer_than_the_timeout_has_failed(loads: Loads, scenario: Callable[[str], Path]) -> None:
    """By each driver that has a timeout, through a network that is slower than the timeout allows."""
    text = """\
question: What does an impatient client see?
factors: {transport: [rest, grpc], implementation: go, driver: {rest: [wireload, k6], grpc: [wireload, ghz]},
  concurrency: 2, delay_ms: 600}
load: {timeout_s: 0.2, warmup_s: 0.3, window_s: 1}
blocks: 1
"""
    records = loads.measure(scenario(text))
    assert 4 == len(records)
    for record in records:
        assert {"deadline_exceeded": record.requests} == record.errors, record.error_texts
