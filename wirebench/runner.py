"""Carrying out a plan: the one place that knows the whole way from services to records."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from wirebench import clients
from wirebench.drivers import DRIVERS, Job
from wirebench.drivers.driver import CREATED_FIRST_ID
from wirebench.errors import UsageError, WirebenchError
from wirebench.interrupts import Interrupted
from wirebench.measure import Subject, environment, measure_cell
from wirebench.measure.conformance import Conformance, check
from wirebench.measure.counters import wait_until_settled
from wirebench.measure.ids import IdLayout, find_free, lay_out
from wirebench.measure.record import Record
from wirebench.scenario import Plan, PlannedCell, ServiceSpec
from wirebench.scenario.contract import TRANSPORTS
from wirebench.store import RunInfo, RunWriter
from wirebench.targets import Endpoint, Target

CONFORMANCE_REQUESTS = 100
#: Ids that conformance creates and deletes again: below the seeded ones and every job's range.
CONFORMANCE_FIRST_ID = 100_000


class Progress(Protocol):
    """Is told how a run goes."""

    def step(self, text: str) -> None:
        """Hear that something has begun that takes a moment."""

    def measured(self, record: Record, done: int, total: int) -> None:
        """Hear that a cell's record is on disk; `done` of `total` are."""


@dataclass(slots=True)
class _Execution:
    """A plan being carried out, and where its time goes, in seconds."""

    plan: Plan
    target: Target
    writer: RunWriter
    progress: Progress
    ids: IdLayout
    #: The least id that the run creates users with.
    first_id: int = CREATED_FIRST_ID
    started: float = field(default_factory=time.monotonic)
    measured_s: float = 0.0
    services_s: float = 0.0

    def run_block(self, block: tuple[PlannedCell, ...]) -> None:
        """Measure every cell of a block, on freshly started services where the target can start them."""
        number = block[0].block
        starting = ": starting services" if self.target.restarts_services else ""
        self.progress.step(f"block {number} of {len(self.plan.blocks)}{starting}")
        before = time.monotonic()
        endpoints = self.target.start(self.plan.services)
        self.services_s += time.monotonic() - before
        try:
            if number == 1:
                self.progress.step("verifying that all services answer alike")
                _verify(endpoints, self.plan.seed, self.writer)
                self._find_ids(endpoints)
                wait_until_settled([each.admin_url for each in endpoints.values() if each.admin_url])
            for planned in block:
                self._measure(planned, endpoints[planned.cell.service])
        finally:
            before = time.monotonic()
            self.target.stop()
            self.services_s += time.monotonic() - before

    def _find_ids(self, endpoints: Mapping[ServiceSpec, Endpoint]) -> None:
        """Choose ids that are free on services that have a past, and say in the run which ones: they stay there."""
        if self.target.restarts_services or not self.ids.count:
            return
        self.first_id = find_free(self.ids.count, endpoints.values())
        last_id = self.first_id + self.ids.count - 1
        note = f"users were created, and stay in the services: their ids are among {self.first_id} to {last_id}"
        self.writer.update(notes=(*self.writer.info.notes, note))

    def _measure(self, planned: PlannedCell, endpoint: Endpoint) -> None:
        output = self.writer.histogram_path(planned.id)
        job = Job(
            cell=planned.cell,
            load=self.plan.scenario.load,
            address=endpoint.address,
            seed=self.plan.seed + planned.block,
            id_base=self.first_id + self.ids.offsets.get(planned, 0),
            output=output,
            log=self.writer.log_path(planned.id),
            cores=self.target.cores.generator if self.target.cores else None,
        )
        info = self.writer.info
        subject = Subject(
            run=info.id,
            scenario=info.scenario,
            record_id=planned.id,
            block=planned.block,
            order=planned.order,
            endpoint=endpoint,
            cores=self.target.cores,
            histogram_file=output.relative_to(self.writer.folder),
            versions=info.versions,
            machine=info.machine,
            commit=info.commit,
        )
        try:
            record = measure_cell(subject, job)
        except WirebenchError:
            # If a service has died, that is the news, and not that its driver then failed.
            self.target.check()
            raise
        self.writer.add(record)
        self.measured_s += job.load.warmup_s + job.load.window_s
        cells = len(self.plan.cells)
        self.progress.measured(record, (planned.block - 1) * cells + planned.order + 1, cells * len(self.plan.blocks))


def prepare(plan: Plan, target: Target) -> None:
    """See that all that a plan needs can be had, before anything is written. Raises WirebenchError."""
    for name in sorted({cell.driver for cell in plan.cells}):
        if DRIVERS[name].version() is None:
            raise UsageError(f"the driver {name} is not at {DRIVERS[name].path()}", "run `make setup`")
    _lay_out_ids(plan, target)
    target.prepare(plan.services)


def start_info(plan: Plan, scenario_path: Path, target: Target, run: str) -> RunInfo:
    """Return what is said of a run before it starts."""
    return RunInfo(
        id=run,
        scenario=scenario_path.stem,
        scenario_text=scenario_path.read_text(encoding="utf-8"),
        question=plan.scenario.question,
        command=shlex.join(["wirebench", *sys.argv[1:]]),
        target=target.name,
        seed=plan.seed,
        blocks=len(plan.blocks),
        cells=len(plan.cells),
        status="running",
        reason="",
        pid=os.getpid(),
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        duration_s=None,
        measured_s=None,
        services_start_s=None,
        conformance_requests=0,
        conformance_mismatches=(),
        compare=plan.scenario.compare,
        equivalence_margin=plan.scenario.equivalence_margin,
        versions=environment.versions(),
        machine=environment.machine() | ({"core_separation": str(target.cores)} if target.cores else {}),
        notes=(*_notes(target), *environment.warnings(target.cores)),
        commit=environment.commit(),
    )


def _notes(target: Target) -> Iterator[str]:
    if not target.restarts_services:
        yield "services were not restarted between blocks: intervals leave out what differs from start to start"


def execute(plan: Plan, target: Target, writer: RunWriter, progress: Progress) -> None:
    """Measure every cell of the plan; every record is on disk before the next cell starts.

    However it ends, services are stopped, and the run is marked complete, or incomplete with the reason. Where nothing
    was measured, the folder stays only for what a failed process has said. Raises WirebenchError, Interrupted.
    """
    execution = _Execution(plan, target, writer, progress, _lay_out_ids(plan, target))
    status, reason, logs_count = "incomplete", "it failed", True
    try:
        for block in plan.blocks:
            execution.run_block(block)
        status, reason = "complete", ""
    except Interrupted as interrupt:
        reason, logs_count = f"it was interrupted ({interrupt})", False
        raise
    except WirebenchError as error:
        reason = error.message
        raise
    finally:
        target.stop()
        writer.update(
            status=status,
            reason=reason,
            duration_s=round(time.monotonic() - execution.started, 3),
            measured_s=round(execution.measured_s, 3),
            services_start_s=round(execution.services_s, 3),
        )
        if not writer.is_worth_keeping(logs_count=logs_count):
            writer.discard()


def _verify(endpoints: Mapping[ServiceSpec, Endpoint], seed: int, writer: RunWriter) -> None:
    outcome = verify(endpoints, seed)
    writer.update(conformance_requests=outcome.requests, conformance_mismatches=outcome.mismatches)
    if not outcome.passed:
        raise WirebenchError(
            f"the services don't answer alike: {len(outcome.mismatches)} of {outcome.requests} requests differ",
            "what differs is no fair comparison; correct the service, and try `wirebench verify`",
            "\n".join(outcome.mismatches[:10]),
        )


def verify(endpoints: Mapping[ServiceSpec, Endpoint], seed: int) -> Conformance:
    """Send the same random requests to all services, in all their codecs, and compare their answers.

    Raises ClientError.
    """
    # A worker's memory doesn't know what another worker stored: such services are only read.
    writes = all(service.workers == 1 or service.store != "memory" for service in endpoints)
    with contextlib.ExitStack() as opened:
        connected = [
            opened.enter_context(contextlib.closing(clients.connect(service.transport, endpoint.address, codec=codec)))
            for service, endpoint in endpoints.items()
            for codec in TRANSPORTS[service.transport].codecs
        ]
        return check(connected, seed, CONFORMANCE_REQUESTS, CONFORMANCE_FIRST_ID, writes=writes)


def _lay_out_ids(plan: Plan, target: Target) -> IdLayout:
    return lay_out(plan, fresh_services=target.restarts_services)
