"""Carrying out a plan: the one place that knows the whole way from services to records."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
import shlex
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import psutil

from wirebench import network
from wirebench.drivers import DRIVERS, Job, room
from wirebench.drivers.driver import CREATED_FIRST_ID
from wirebench.errors import UsageError, WirebenchError
from wirebench.generator import pods
from wirebench.interrupts import Interrupted
from wirebench.measure import Observation, Subject, environment, make_record, observe
from wirebench.measure.calibrate import Probe, choose_probes, measure_coarsely, plan_probes, write_undisturbed
from wirebench.measure.calibration import Calibration, Conditions, read_calibration
from wirebench.measure.conformance import Conformance, check_services
from wirebench.measure.counters import wait_until_settled
from wirebench.measure.ids import IdLayout, find_free, lay_out
from wirebench.measure.record import Record
from wirebench.measure.usage import Interference
from wirebench.model.application import builtin
from wirebench.progress import Everyone, Progress, ProgressFile, TimeLeft
from wirebench.scenario import Cell, Plan, PlannedCell, ServiceSpec
from wirebench.scenario.drivers import DRIVERS as CAN
from wirebench.stats.names import counted
from wirebench.store import RunInfo, RunWriter
from wirebench.targets import Cores, Description, Disrupted, Endpoint, LoadPods, Target
from wirebench.targets.kubernetes.values import POSTGRES_CPU_MILLICORES

_VERIFIED_MILLICORES = 250
_USAGE_PROBLEM = "a service replaced or started a process under load, or could not be read, in at least one cell"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Where a run's time has gone, in seconds; what starting services took isn't known of a run that was killed."""

    duration_s: float = 0.0
    measured_s: float = 0.0
    services_start_s: float | None = 0.0


@dataclass(slots=True)
class _Execution:
    """A plan being carried out, and where its time goes, in seconds: `before` is what went into its earlier parts."""

    plan: Plan
    target: Target
    writer: RunWriter
    progress: Progress
    ids: IdLayout
    description: Description
    before: Spent
    #: How many of the run's records are on disk.
    done: int
    is_verified: bool = False
    #: The least id that the run creates users with.
    first_id: int = CREATED_FIRST_ID
    started: float = field(default_factory=time.monotonic)
    measured_s: float = 0.0
    services_s: float = 0.0
    #: What is known of the drivers' own error; None where it isn't looked up.
    calibration: Calibration | None = None

    def calibrate(self) -> None:
        """Look up what the drivers' figures are worth, and measure it coarsely at loads where that isn't known.

        A load of several pods, or on cores that it isn't bound to, is none that could be measured beforehand. What goes
        wrong is noted, and the run goes on without.
        """
        load_pods = self.target.load_pods if self.plan.scenario.load.generators == 1 else None
        if load_pods:
            self.target.start(())  # makes the namespace that load pods run in
        try:
            if load_pods:
                self._calibrate_in_pod(load_pods)
            elif self.target.cores:
                self._calibrate_here(self.target.cores)
        except WirebenchError as error:
            self._warn(f"the drivers' error isn't known everywhere: {error.message}: {error.hint}")

    def _calibrate_here(self, cores: Cores) -> None:
        """Keep what is measured for later runs, unless others disturbed it. Raises WirebenchError."""
        self.calibration, stale = read_calibration(Conditions.of(cores))
        probes, left_out = self._choose_probes(self.calibration, f"{stale}; " if stale else "")
        if left_out:
            self._warn(f"{counted(left_out, 'load')} left to calibrate for the next run, or `wirebench calibrate`")
        if probes:
            interference = Interference(cores.all)
            points, problems = measure_coarsely(probes, cores)
            self._warn_of_uncalibrated(problems)
            self.calibration = self.calibration.with_points(points)
            try:
                write_undisturbed(self.calibration, interference)
            except WirebenchError as error:
                self._warn(f"the next run will calibrate again: {error.message}: {error.hint}")

    def _calibrate_in_pod(self, load_pods: LoadPods) -> None:
        """Measure for this run alone. Raises WirebenchError."""
        probes, left_out = self._choose_probes(None, "in a load pod: ")
        if left_out:
            self._warn(f"no time to calibrate {counted(left_out, 'load')}")
        if probes:
            calibrated = pods.calibrate(load_pods, self.plan.scenario.load, probes)
            self._warn_of_uncalibrated(calibrated.problems)
            self.calibration = calibrated.calibration

    def _choose_probes(self, known: Calibration | None, about: str) -> tuple[list[Probe], int]:
        """Choose what there is time for, and say how long it takes; return also how many loads are left out."""
        plan = self.plan
        cells = dict.fromkeys(planned.cell for block in plan.blocks for planned in plan.left_of(block))
        probes, left_out = choose_probes(plan_probes(cells, plan.scenario.load, known))
        if probes:
            drivers = ", ".join(dict.fromkeys(probe.driver for probe in probes))
            expected_s = sum(probe.expected_s for probe in probes)
            self.progress.step(f"{about}calibrating {drivers}, about {expected_s:.0f} s")
        return probes, left_out

    def _warn_of_uncalibrated(self, problems: Sequence[str]) -> None:
        if problems:
            self._warn(f"the drivers' error isn't known everywhere: {'; '.join(problems)}")

    def _warn(self, text: str) -> None:
        self.writer.note(text)
        self.progress.step(f"note: {text}")

    def run_block(self, block: tuple[PlannedCell, ...]) -> None:
        """Measure every cell of a block that is left, on freshly started services where the target can start them.

        Where they run at once, all services of the block do, also those whose cells are done: they are what the others
        were measured beside. Before the first window all are verified.
        """
        left = self.plan.left_of(block)
        if not left:
            return
        starting = ": starting services" if self.target.restarts_services else ""
        self.progress.step(f"block {block[0].block} of {len(self.plan.blocks)}{starting}")
        if self.target.runs_all_services:
            with self._running(tuple(dict.fromkeys(planned.cell.service for planned in block))) as endpoints:
                if not self.is_verified:
                    self._verify(endpoints)
                for planned in left:
                    self._measure(planned, endpoints[planned.cell.service])
        else:
            if not self.is_verified:
                self._verify_in_turns()
            for planned in left:
                with self._running((planned.cell.service,)) as endpoints:
                    self._measure(planned, endpoints[planned.cell.service])
        self.is_verified = True

    @property
    def spent(self) -> Spent:
        """Where the time has gone up to now, in all parts of the run."""
        services_s = self.before.services_start_s
        return Spent(
            duration_s=round(self.before.duration_s + time.monotonic() - self.started, 3),
            measured_s=round(self.before.measured_s + self.measured_s, 3),
            services_start_s=None if services_s is None else round(services_s + self.services_s, 3),
        )

    @contextlib.contextmanager
    def _running(self, services: Sequence[ServiceSpec]) -> Iterator[Mapping[ServiceSpec, Endpoint]]:
        """Have services running for as long as they are needed."""
        before = time.monotonic()
        endpoints = self.target.start(services)
        self.services_s += time.monotonic() - before
        try:
            yield endpoints
        finally:
            before = time.monotonic()
            self.target.stop()
            self.services_s += time.monotonic() - before

    def _verify_in_turns(self) -> None:
        """Verify as many services at a time as there are transports: a cluster may have no room for more.

        Answers depend on neither replicas nor limits, so that one small replica of each will do.
        """
        services = [
            dataclasses.replace(
                each, replicas=1, disrupted=False, beside_load=False, cpu_limit_millicores=_VERIFIED_MILLICORES
            )
            for each in self.plan.services
        ]
        by_transport: dict[str, dict[ServiceSpec, None]] = {}
        for service in services:
            by_transport.setdefault(service.transport, {})[service] = None
        for turn in itertools.zip_longest(*by_transport.values()):
            with self._running([service for service in turn if service]) as endpoints:
                self._verify(endpoints)

    def _verify(self, endpoints: Mapping[ServiceSpec, Endpoint]) -> None:
        self.progress.step("verifying that all services answer alike")
        load_pods, seed = self.target.load_pods, self.plan.seed
        outcome = pods.verify(load_pods, endpoints.values(), seed) if load_pods else verify(endpoints.values(), seed)
        info = self.writer.info
        self.writer.update(
            conformance_requests=info.conformance_requests + outcome.requests,
            conformance_mismatches=(*info.conformance_mismatches, *outcome.mismatches),
        )
        if not outcome.passed:
            raise WirebenchError(
                f"the services don't answer alike: {len(outcome.mismatches)} of {outcome.requests} requests differ",
                "what differs is no fair comparison; correct the service, and try `wirebench verify`",
                "\n".join(outcome.mismatches[:10]),
            )
        if not load_pods:
            self._find_ids(endpoints)
            replicas = [replica for endpoint in endpoints.values() for replica in endpoint.replicas]
            wait_until_settled([replica.admin_url for replica in replicas if replica.admin_url])

    def _find_ids(self, endpoints: Mapping[ServiceSpec, Endpoint]) -> None:
        """Choose ids that are free on services that have a past, and say in the run which ones: they stay there."""
        if self.target.restarts_services or not self.ids.count:
            return
        self.first_id = find_free(self.ids.count, endpoints.values())
        last_id = self.first_id + self.ids.count - 1
        self.writer.note(
            f"users that it creates stay in the services: their ids are among {self.first_id} to {last_id}"
        )

    def _measure(self, planned: PlannedCell, endpoint: Endpoint) -> None:
        # What a load in pods tells stays there until its end.
        tells = DRIVERS[planned.cell.driver].tells_each_second and self.target.load_pods is None
        snapshot = self.writer.snapshot_path if tells else None
        self.progress.measuring(planned, snapshot)
        try:
            record = self._measure_cell(planned, endpoint, snapshot)
            self.done += 1
            self.progress.measured(record, self.done, self.plan.cells_total)
        finally:
            self.writer.remove_snapshot()

    def _measure_cell(self, planned: PlannedCell, endpoint: Endpoint, snapshot: Path | None) -> Record:
        cell, output = planned.cell, self.writer.histogram_path(planned.id)
        job = Job(
            cell=cell,
            load=self.plan.scenario.load,
            address=endpoint.address,
            seed=self.plan.seed + planned.block,
            id_base=self.first_id + self.ids.offsets.get(planned, 0),
            output=output,
            log=self.writer.log_path(planned.id),
            cores=self.target.cores.generator if self.target.cores else None,
            snapshot=snapshot,
            tls=endpoint.tls,
        )
        try:
            observed, disrupted = self._observe(job, endpoint)
        except WirebenchError:
            # If a service has died, that is the news, and not that its driver then failed.
            self.target.check()
            raise
        info = self.writer.info
        subject = Subject(
            run=info.id,
            scenario=info.scenario,
            record_id=planned.id,
            block=planned.block,
            order=planned.order,
            cell=cell,
            load=job.load,
            cores=self.target.cores,
            host_share=self._host_share(cell),
            histogram_file=output.relative_to(self.writer.folder),
            versions=info.versions,
            machine=info.machine,
            commit=info.commit,
            calibration=self.calibration,
        )
        record = make_record(subject, observed, output, disrupted)
        self.writer.add(record)
        if record.server.cpu_s is None and not cell.is_disrupted:
            self.writer.note(f"server CPU and memory are missing: {endpoint.usage_problem or _USAGE_PROBLEM}")
        self.measured_s += job.load.warmup_s + record.window_s
        return record

    def _observe(self, job: Job, endpoint: Endpoint) -> tuple[tuple[Observation, ...], Disrupted | None]:
        if not self.target.load_pods:
            pinned = self.target.cores.all if self.target.cores else frozenset[int]()
            return (observe(job, endpoint.replicas, _cores(job), pinned=pinned),), None
        disrupted = None

        def meanwhile() -> None:
            nonlocal disrupted
            if job.cell.disruption and job.cell.is_disrupted:
                disrupted = self.target.disrupt(endpoint.service, job.cell.disruption)

        return pods.observe(self.target.load_pods, job, endpoint, meanwhile), disrupted

    def _host_share(self, cell: Cell) -> float | None:
        """Return which share of a machine's cores its services and generators may use by their limits."""
        load_pods, shared_cores = self.target.load_pods, self.description.shared_cores
        if not (load_pods and shared_cores and cell.cpu_limit_millicores):
            return None
        load = self.plan.scenario.load
        generators = load_pods.cores_of(load) * load.generators
        database_millicores = POSTGRES_CPU_MILLICORES if cell.store == "postgres" else 0
        services = (cell.cpu_limit_millicores * cell.replicas + database_millicores) / 1000
        return (services + generators) / shared_cores


def _cores(job: Job) -> float | None:
    """Return how many cores a load can use: those that it has, but no more than its driver knows to use."""
    if job.cores is None:
        return None
    return min(len(job.cores), DRIVERS[job.cell.driver].cores_max or len(job.cores))


def prepare(plan: Plan, target: Target) -> None:
    """See that all that a plan needs can be had, before anything is written. Raises WirebenchError."""
    here = {cell.driver for cell in plan.cells} if target.load_pods is None else ()
    for name in sorted(here):
        if DRIVERS[name].version() is None:
            hint = f"run `{DRIVERS[name].setup}`; nothing was started"
            raise UsageError(f"the driver {name} is not at {DRIVERS[name].path()}", hint)
    shaped = target.load_pods is None and any(cell.link for cell in plan.cells)
    if shaped and network.version() is None:
        raise UsageError(f"toxiproxy, which factors.network needs, is not at {network.path()}", "run `make setup`")
    if target.load_pods is None:
        _make_room(plan)
    _lay_out_ids(plan, target)
    target.prepare(plan.services)


def _make_room(plan: Plan) -> None:
    """Refuse users that don't fit on this machine: it would swap, or end one of its processes, in mid-run."""
    found = room.here()
    if squeeze := room.tightest(plan.cells, found):
        cell = squeeze.cell
        field = ("load", "concurrency_max") if plan.scenario.load.swept else ("factors", "concurrency")
        raise UsageError(
            f"{plan.scenario.where(field)}: {cell.concurrency:,} {cell.driver} users of {cell.transport} take "
            f"{squeeze.taken}, and {squeeze.free}: {squeeze.fitting:,} fit",
            "lower it, make room, or share the load among pods of a cluster: load.generators",
        )
    room.raise_open_files(found)


def start_info(plan: Plan, scenario_path: Path, target: Target, run: str) -> RunInfo:
    """Return what is said of a run before it starts."""
    description = target.describe()
    driver, *others = {cell.driver for cell in plan.cells}
    return RunInfo(
        id=run,
        scenario=scenario_path.stem,
        scenario_text=scenario_path.read_text(encoding="utf-8"),
        question=plan.scenario.question,
        command=shlex.join(["wirebench", *sys.argv[1:]]),
        target=target.name,
        seed=plan.seed,
        blocks=len(plan.blocks),
        driver=None if others else driver,
        cells=len(plan.cells),
        status="running",
        reason="",
        pid=os.getpid(),
        process_began_unix_s=psutil.Process().create_time(),
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        duration_s=None,
        measured_s=None,
        services_start_s=None,
        conformance_requests=0,
        conformance_mismatches=(),
        compare=plan.scenario.compare,
        equivalence_margin=plan.scenario.equivalence_margin,
        versions={**environment.versions(), **description.versions},
        machine={**environment.machine(), **description.machine},
        notes=(*_left_out(plan, target), *_not_alike(plan), *description.notes, *environment.warnings(target.cores)),
        commit=environment.commit(),
    )


def _left_out(plan: Plan, target: Target) -> Iterator[str]:
    if plan.left_out:
        yield f"left out, as the {target.name} target has no such thing: {', '.join(plan.left_out)}"


def _not_alike(plan: Plan) -> Iterator[str]:
    """Say which drivers don't send quite what the others do."""
    varied = {name for name, operation in builtin().operations.items() if operation.varies}
    choosing = {cell.driver for cell in plan.cells if cell.operation in varied}
    yield from (CAN[name].not_random for name in sorted(choosing) if CAN[name].not_random)


def execute(  # noqa: PLR0913 - what a run is
    plan: Plan,
    target: Target,
    writer: RunWriter,
    progress: Progress,
    before: Spent | None = None,
    *,
    calibrate: bool = True,
) -> None:
    """Measure every cell of the plan that is left; every record is on disk before the next cell starts.

    `before` is what the run has taken so far, where it goes on. Without `calibrate`, records don't say what the
    drivers' figures are worth. However it ends, services are stopped, and the run is
    marked complete, or incomplete with the reason. Where nothing was measured, the folder stays only for what a failed
    process has said. Raises WirebenchError, Interrupted.
    """
    file = ProgressFile(writer.folder, plan, TimeLeft.of(plan, target.name))
    everyone = Everyone((progress, file))
    ids = _lay_out_ids(plan, target)
    execution = _Execution(
        plan, target, writer, everyone, ids, target.describe(), before=before or Spent(), done=len(plan.done)
    )
    logs_count = True
    try:
        with file:
            _carry_out(execution, calibrate=calibrate)
    except Interrupted:
        logs_count = False
        raise
    finally:
        if not writer.is_worth_keeping(logs_count=logs_count):
            writer.discard()


def _carry_out(execution: _Execution, *, calibrate: bool) -> None:
    target, status, reason = execution.target, "incomplete", "it failed"
    try:
        if calibrate:
            execution.calibrate()
        for block in execution.plan.blocks:
            execution.run_block(block)
        status, reason = "complete", ""
    except Interrupted as interrupt:
        reason = f"it was interrupted ({interrupt})"
        raise
    except WirebenchError as error:
        reason = error.message
        raise
    finally:
        try:
            target.stop()
            target.clean_up()
        finally:
            execution.writer.update(status=status, reason=reason, **dataclasses.asdict(execution.spent))


def verify(endpoints: Iterable[Endpoint], seed: int) -> Conformance:
    """Send the same random requests to all services, in all their codecs, and compare their answers.

    Raises ClientError.
    """
    return check_services(tuple(endpoints), seed)


def _lay_out_ids(plan: Plan, target: Target) -> IdLayout:
    return lay_out(plan, fresh_services=target.restarts_services)
