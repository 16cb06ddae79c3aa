"""Measuring a plan, block after block: from services to records."""

from __future__ import annotations

import contextlib
import dataclasses
import platform
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from wirebench.drivers import DRIVERS, Job
from wirebench.drivers.driver import ID_STEP
from wirebench.drivers.metrics_push import MetricsPush
from wirebench.errors import WirebenchError
from wirebench.measure.calibration import (
    Calibration,
    Fingerprint,
    keep_undisturbed,
    measure_coarsely,
    plan_probes,
    read_calibration,
)
from wirebench.measure.cell import Conditions, make_record, place_record
from wirebench.measure.ids import IdLayout, count_steps
from wirebench.measure.observe import Observation, observe
from wirebench.measure.search import search_capacity
from wirebench.measure.usage import Interference
from wirebench.measure.variants import Variants
from wirebench.model.cell import Cell, ServiceSpec
from wirebench.model.labels import pluralise
from wirebench.model.record import Record
from wirebench.plan.plan import Plan, PlannedCell
from wirebench.results.runs import RunWriter
from wirebench.run.load_pod import pods
from wirebench.run.preparation import lay_out_ids
from wirebench.run.progress import Progress
from wirebench.run.verifier import Verifier
from wirebench.system.signals import Interrupted
from wirebench.targets import Description, Endpoint, Target, divide_cores
from wirebench.targets.kubernetes.namespace import name_namespace
from wirebench.targets.kubernetes.release import POSTGRES_CPU_MILLICORES
from wirebench.targets.target import LoadLostError

#: How long a service whose load has failed may take to end.
_ENDING_S = 2.0
_ENDING_POLL_S = 0.1
_USAGE_PROBLEM = "a service replaced or started a process under load, or could not be read, in at least one cell"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSpent:
    """What a run took, in seconds. How long services took to start is unknown for a killed run."""

    duration_s: float = 0.0
    measured_s: float = 0.0
    services_start_s: float | None = 0.0


@dataclass(slots=True)
class _Execution:
    """A plan that is being measured. `before` is what the earlier parts of a resumed run took."""

    plan: Plan
    target: Target
    writer: RunWriter
    progress: Progress
    ids: IdLayout
    verifier: Verifier
    description: Description
    before: TimeSpent
    #: How many of the run's records are on disk.
    done: int
    started: float = field(default_factory=time.monotonic)
    measured_s: float = 0.0
    services_s: float = 0.0
    #: What is known of the drivers' own error; None where it isn't looked up.
    calibration: Calibration | None = None
    #: How many windows had pushes that failed, and why the last of them did.
    failed_pushes: int = 0
    push_problem: str = ""

    def find_calibration(self) -> Calibration | None:
        """Return what is known of the drivers' error, measured coarsely at the loads where it wasn't known.

        None if that fails, which is noted. What is measured here is kept for later runs, unless others disturbed it;
        what a load pod measures isn't: its next one may run on another node. The target `external` leaves the driver
        all cores of this machine: it is at least as good there as on its half.
        """
        load, load_pods, cores = self.plan.scenario.load, self.target.load_pods, self.target.cores or divide_cores()
        cells = dict.fromkeys(each.cell for block in self.plan.blocks for each in self.plan.list_cells_left(block))
        known, about, conditions = Calibration(), "in a load pod: ", None
        try:
            if not load_pods:
                conditions = Fingerprint.of(cores)
                known, stale = read_calibration(conditions)
                about = f"{stale}; " if stale else ""
            probes, left_out = plan_probes(cells, load, known)
            if left_out:
                more = "" if load_pods else " for the next run, or `wirebench calibrate`"
                self.writer.note(f"{pluralise(left_out, 'load')} left to calibrate{more}")
            if not probes:
                return known
            drivers = ", ".join(dict.fromkeys(probe.driver for probe in probes))
            expected_s = sum(probe.expected_s for probe in probes)
            self.progress.step(f"{about}calibrating {drivers}, about {expected_s:.0f} s")
            interference = Interference(cores.all)
            if load_pods:
                self.target.start(())  # creates the namespace of the load pods
                points, problems = pods.calibrate(load_pods, load, probes)
            else:
                points, problems = measure_coarsely(probes, cores)
        except WirebenchError as error:
            self.writer.note(f"the drivers' error isn't known everywhere: {error.message}: {error.hint}")
            return None
        if problems:
            self.writer.note(f"the drivers' error isn't known everywhere: {'; '.join(problems)}")
        known = known.add_points(points)
        if conditions:
            try:
                keep_undisturbed(known, conditions, interference)
            except WirebenchError as error:
                self.writer.note(f"the next run will calibrate again: {error.message}: {error.hint}")
        return known

    def run_block(self, block: tuple[PlannedCell, ...]) -> None:
        """Measure every cell of a block that is left, on freshly started services where the target can start them.

        If services run side by side, so do those whose cells are done: the others were measured beside them. All are
        verified before the first window.
        """
        left = self.plan.list_cells_left(block)
        if not left:
            return
        starting = ": starting services" if self.target.restarts_services else ""
        self.progress.step(f"{self.plan.describe_block(block[0].block)}{starting}")
        if self.target.runs_all_services:
            with self._run_services(tuple(dict.fromkeys(planned.cell.service for planned in block))) as endpoints:
                if self.verifier.is_due:
                    self.verifier.verify(endpoints)
                for planned in left:
                    self._measure(planned, endpoints[planned.cell.service])
        else:
            if not self.verifier.is_done:
                self.verifier.verify_in_turns(self._run_services)
            for planned in left:
                try:
                    self._measure_alone(planned)
                except LoadLostError as error:
                    if not self.target.restarts_services:
                        raise  # what was sent would be sent again to the same services
                    self.progress.step(f"{error.message}: measuring {planned.cell.id} again")
                    self.writer.note(f"{planned.id} was measured twice, as the load pod of the first time was lost")
                    self._measure_alone(planned)

    def _measure_alone(self, planned: PlannedCell) -> None:
        with self._run_services((planned.cell.service,)) as endpoints:
            self._measure(planned, endpoints[planned.cell.service])

    @property
    def spent(self) -> TimeSpent:
        """What all parts of the run took up to now."""
        services_s = self.before.services_start_s
        return TimeSpent(
            duration_s=round(self.before.duration_s + time.monotonic() - self.started, 3),
            measured_s=round(self.before.measured_s + self.measured_s, 3),
            services_start_s=None if services_s is None else round(services_s + self.services_s, 3),
        )

    @contextlib.contextmanager
    def _run_services(self, services: Sequence[ServiceSpec]) -> Iterator[Mapping[ServiceSpec, Endpoint]]:
        before = time.monotonic()
        endpoints = self.target.start(services)
        self.services_s += time.monotonic() - before
        try:
            yield endpoints
        finally:
            before = time.monotonic()
            self.target.stop()
            self.services_s += time.monotonic() - before

    def _measure(self, planned: PlannedCell, endpoint: Endpoint) -> None:
        self.progress.begin_cell()
        record = self._measure_cell(planned, endpoint)
        self.done += 1
        self.progress.end_cell(record, self.done, self.plan.cells_total)

    def _measure_cell(self, planned: PlannedCell, endpoint: Endpoint) -> Record:
        cell, output = planned.cell, self.writer.histogram_path(planned.id)
        job = Job(
            cell=cell,
            load=self.plan.scenario.load,
            address=endpoint.address,
            seed=self.plan.seed + planned.block,
            id_base=self.verifier.first_id + self.ids.offsets.get(planned, 0),
            output=output,
            log=self.writer.log_path(planned.id),
            cores=self.target.cores.generator if self.target.cores else None,
            tls=endpoint.tls,
            metrics_push=self._make_metrics_push(cell),
        )
        if self.verifier.variants:
            sent = self.verifier.variants.prepare(endpoint)
            job = replace(job, application=sent.application, descriptors=sent.descriptors)
        conditions = Conditions(
            cores=self.target.cores,
            host_share=self._compute_host_share(cell),
            calibration=self.calibration,
        )
        try:
            record = self._send_load(job, conditions, endpoint)
        except WirebenchError:
            # If a service has died, report that: its driver failed because of it.
            deadline = time.monotonic() + _ENDING_S
            while time.monotonic() < deadline:  # its ports close before it has ended
                self.target.check()
                time.sleep(_ENDING_POLL_S)
            raise
        record = place_record(record, planned, self.writer.info, output.relative_to(self.writer.folder))
        self.writer.add(record)
        if record.server.cpu_s is None:
            self.writer.note(f"server CPU and memory are missing: {endpoint.usage_problem or _USAGE_PROBLEM}")
        if any(replica.relies_on_metrics for replica in endpoint.replicas):
            self.writer.note(
                f"CPU time and memory of {cell.variant} come from its metrics, read once a second and interpolated at "
                "the window's edges: most services count CPU time in hundredths of a second"
            )
        self.measured_s += record.compute_load_s(job.load.warmup_s)
        return record

    def _send_load(self, job: Job, conditions: Conditions, endpoint: Endpoint) -> Record:
        if job.cell.shape == "capacity":
            ids = ID_STEP * count_steps(job.cell, self.plan.scenario)
            return search_capacity(job, conditions, lambda window: self._observe(window, endpoint), ids)
        return make_record(job, self._observe(job, endpoint), conditions)

    def _make_metrics_push(self, cell: Cell) -> MetricsPush | None:
        """Return where metrics of a cell's load are pushed; load pods have labels of their own.

        A run's namespace is called the same on all targets. All cells share a pod, so that a run has few series.
        """
        if self.target.prometheus is None:
            return None
        namespace = name_namespace(self.writer.info.id)
        labels = {"namespace": namespace, "pod": "load", "node": platform.node(), "transport": cell.transport}
        return MetricsPush(self.target.prometheus, labels)

    def _observe(self, job: Job, endpoint: Endpoint) -> tuple[Observation, ...]:
        # Of this window alone: those of a search share a job's.
        push = job.metrics_push and replace(job.metrics_push, problem="")
        observed = self._observe_window(replace(job, metrics_push=push), endpoint)
        if problems := [each.metrics_push_problem for each in observed if each.metrics_push_problem]:
            self.failed_pushes += 1
            self.push_problem = problems[-1]
        return observed

    def _observe_window(self, job: Job, endpoint: Endpoint) -> tuple[Observation, ...]:
        if self.target.load_pods:
            return pods.observe(self.target.load_pods, job, endpoint)
        return (observe(job, endpoint.replicas, _count_usable_cores(job), pinned=self.target.cores),)

    def note_failed_pushes(self) -> None:
        """Add a caveat, if live metrics are incomplete."""
        if self.failed_pushes:
            self.writer.note(
                f"Prometheus lacks live metrics of {pluralise(self.failed_pushes, 'window')}; the figures here have "
                f"all of them: {self.push_problem}"
            )

    def _compute_host_share(self, cell: Cell) -> float | None:
        """Return which share of a machine's cores its services and generators may use by their limits."""
        load_pods, shared_cores = self.target.load_pods, self.description.shared_cores
        if not (load_pods and shared_cores and cell.cpu_limit_millicores):
            return None
        load = self.plan.scenario.load
        generators = load_pods.count_cores(load) * load.generators
        database_millicores = POSTGRES_CPU_MILLICORES if cell.store == "postgres" else 0
        services = (cell.cpu_limit_millicores * (cell.replicas or 1) + database_millicores) / 1000
        return (services + generators) / shared_cores


def _count_usable_cores(job: Job) -> float | None:
    """Return how many cores a load can use: all that it has, but no more than its driver can."""
    if job.cores is None:
        return None
    return min(len(job.cores), DRIVERS[job.cell.driver].cores_max or len(job.cores))


def measure_plan(plan: Plan, target: Target, writer: RunWriter, progress: Progress, before: TimeSpent) -> None:
    """Measure every cell of the plan that is left; every record is on disk before the next cell starts.

    `before` is what the parts of a resumed run took. However it ends, services are stopped, and the run is marked
    complete, or incomplete with the reason. Without any record, the folder stays only if a failed process has logged
    something. Raises WirebenchError, Interrupted.
    """
    ids = lay_out_ids(plan, target)
    sender = pods.PodSender(target.load_pods) if target.load_pods else None
    logs_count = True
    try:
        with tempfile.TemporaryDirectory(prefix="wirebench-") as folder:
            variants = Variants(plan.scenario, Path(folder), writer.folder, sender) if plan.scenario.variants else None
            verifier = Verifier(plan, target, writer, progress, variants, ids.count)
            execution = _Execution(
                plan, target, writer, progress, ids, verifier, target.describe(), before, done=len(plan.done)
            )
            _run_blocks(execution)
    except (Interrupted, KeyboardInterrupt):
        logs_count = False
        raise
    finally:
        if not writer.is_worth_keeping(logs_count=logs_count):
            writer.discard()


def _run_blocks(execution: _Execution) -> None:
    target, status, reason = execution.target, "incomplete", "it failed"
    try:
        if execution.writer.info.calibrate:
            execution.calibration = execution.find_calibration()
        for block in execution.plan.blocks:
            execution.run_block(block)
        status, reason = "complete", ""
    except (Interrupted, KeyboardInterrupt) as interrupt:
        reason = f"it was interrupted ({str(interrupt) or 'SIGINT'})"
        raise
    except WirebenchError as error:
        reason = error.message
        raise
    finally:
        try:
            try:
                target.stop()
            finally:
                target.clean_up()
        finally:
            execution.note_failed_pushes()
            execution.writer.update(status=status, reason=reason, **dataclasses.asdict(execution.spent))
