"""Loads of a scenario, measured as `wirebench run` does, but on services that several tests share."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from wirebench.drivers import Job
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


@dataclass
class Loads:
    """Sends the loads of scenarios to services that stay, each started when it is first needed."""

    folder: Path
    stack: contextlib.ExitStack
    _endpoints: dict[ServiceSpec, Endpoint] = field(default_factory=dict)

    def measure(self, scenario: Path) -> list[Record]:
        """Measure each cell of a scenario once, and return the records."""
        plan = make_plan(read_scenario(scenario), seed=1)
        endpoints = [self._endpoint(service) for service in plan.services]
        ids = lay_out(plan, restarts_services=False)
        first_id = find_free(ids.count, endpoints)
        records = []
        for planned in plan.blocks[0]:
            endpoint, load = self._endpoint(planned.cell.service), plan.scenario.load
            id_base = first_id + ids.offsets.get(planned, 0)
            output, log = scenario.with_name(f"{planned.id}.json"), scenario.with_name(f"{planned.id}.log")
            job = Job(planned.cell, load, endpoint.address, 1, id_base, output, log, None, tls=endpoint.tls)
            records.append(make_record(job, observe(job, endpoint.replicas)))
        return records

    def _endpoint(self, service: ServiceSpec) -> Endpoint:
        if service not in self._endpoints:
            # Its cores aren't claimed: what is counted here is right on a busy machine, too.
            target = LocalTarget(divide_cores(), lambda name: self.folder / f"{name}.log")
            self.stack.callback(target.stop)
            self._endpoints |= target.start([service])
        return self._endpoints[service]


@contextlib.contextmanager
def shared_loads(folder: Path) -> Iterator[Loads]:
    """Yield what sends loads; its services end with the `with` block."""
    with contextlib.ExitStack() as stack:
        yield Loads(folder, stack)
