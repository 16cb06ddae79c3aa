"""Measures a plan, block after block and cell after cell: from services to records."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
import platform
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType

from wirebench.drivers import Job
from wirebench.drivers.driver import MetricsPush
from wirebench.errors import WirebenchError, pluralise
from wirebench.measure.answers import Answered
from wirebench.measure.calibration import (
    Calibration,
    estimate_coarse_s,
    keep_undisturbed,
    locate_calibration,
    plan_probes,
    read_calibration,
)
from wirebench.measure.conformance import Conformance
from wirebench.measure.counters import wait_until_settled
from wirebench.measure.figures import make_record
from wirebench.measure.observe import Observation
from wirebench.measure.search import search_capacity
from wirebench.measure.usage import Interference
from wirebench.model.cell import Cell, ServiceSpec
from wirebench.model.run_info import APPLICATION_FILE, TIMING_FILE
from wirebench.model.variant import CONTRACT_FILE
from wirebench.plan.plan import Plan, PlannedCell
from wirebench.run.environment import read_machine
from wirebench.run.ids import CREATED_FIRST_ID, ID_STEP, IdLayout, count_steps, find_free
from wirebench.run.load_pod.task import CalibrateTask, MeasureTask, VerifyTask
from wirebench.run.load_source import LoadSource
from wirebench.run.own_variants import VERIFIED_IDS, Variants, describe_verification
from wirebench.run.progress import Progress
from wirebench.store.runs import RunWriter
from wirebench.system.files import name_temporary
from wirebench.system.processes import ProcessError
from wirebench.system.signals import Interrupted
from wirebench.targets.cluster.namespace import name_namespace
from wirebench.targets.cores import divide_cores
from wirebench.targets.endpoint import Endpoint
from wirebench.targets.target import Target

#: How long a service whose load has failed may take to end.
_ENDING_S = 2.0
_ENDING_POLL_S = 0.1
#: The CPU limit of a replica that is only verified.
_VERIFIED_MILLICORES = 250
_USAGE_PROBLEM = "a service replaced or started a process under load, or could not be read, in at least one cell"


class Execution:
    """A plan that is being measured; every record is on disk before the next cell starts."""

    def __init__(self, plan: Plan, target: Target, ids: IdLayout, writer: RunWriter, progress: Progress) -> None:
        self.plan, self.target, self.ids, self.writer, self.progress = plan, target, ids, writer, progress
        self.source = LoadSource(target.load_pods)
        self.folder = tempfile.TemporaryDirectory(prefix=name_temporary())
        self.variants: Variants | None = None
        if plan.scenario.variants:
            self.variants = Variants(plan.scenario, Path(self.folder.name), self.source)
        #: The least id that the run creates records with.
        self.first_id = CREATED_FIRST_ID
        #: The first ids of records that verification creates, one for each kind of request.
        self.verified_ids = itertools.count(self.first_id + self.ids.count, VERIFIED_IDS)
        self.calibration: Calibration | None = None
        self.is_verified = self.is_complete = False
        self.shared_cores = target.describe().shared_cores
        self.done = len(plan.done)
        self.before, self.started = writer.info, time.monotonic()

    def run(self) -> None:
        """Measure every cell that is left. Raises WirebenchError, Interrupted.

        Each block has freshly started services where the target can start them. If services run side by side, so do
        those whose cells are done: the others were measured beside them.
        """
        if self.writer.info.calibrate and self.target.load_pods:  # while services don't take the room of its pod
            self.calibration = self.find_calibration()
        if self.variants:
            self._choose_ids(())
        for block in self.plan.blocks:
            left = self.plan.list_cells_left(block)
            if not left:
                continue
            starting = ": starting services" if self.target.restarts_services else ""
            self.progress.step(f"block {block[0].block} of {len(self.plan.blocks)}{starting}")
            if self.target.runs_all_services:
                with self._run_services(tuple(dict.fromkeys(each.cell.service for each in block))) as endpoints:
                    # A restarted variant may answer differently.
                    if not self.is_verified or (self.variants and self.target.restarts_services):
                        self._verify([contextlib.nullcontext(endpoints)])
                    for planned in left:
                        self.measure(planned, endpoints[planned.cell.service])
                continue
            if not self.is_verified:
                self._verify(map(self._run_services, self._list_turns()))
            for planned in left:
                with self._run_services((planned.cell.service,)) as endpoints:
                    self.measure(planned, endpoints[planned.cell.service])
        self.is_complete = True

    def end(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        """Mark the run complete, or incomplete with the reason, as `__exit__` of a context manager.

        Without any record, the folder stays only for the logs of a process that has failed.
        """
        self.folder.cleanup()
        is_interrupt = kind is not None and issubclass(kind, (Interrupted, KeyboardInterrupt))
        if self.is_complete:
            status, reason = "complete", ""
        elif is_interrupt:
            status, reason = "incomplete", f"it was interrupted ({str(error) or 'SIGINT'})"
        else:
            status, reason = "incomplete", error.message if isinstance(error, WirebenchError) else "it failed"
        self.writer.update(status=status, reason=reason, duration_s=self._compute_duration_s())
        self.writer.discard_if_empty(logs_count=isinstance(error, ProcessError))

    def _compute_duration_s(self) -> float:
        """Return what all parts of the run took up to now."""
        return round((self.before.duration_s or 0.0) + time.monotonic() - self.started, 3)

    def find_calibration(self) -> Calibration:
        """Return what is known of the drivers' error, measured coarsely at the loads where it wasn't known.

        What fails is noted. What is measured here is kept for later runs, unless others disturbed it; what a load pod
        measures isn't: its next one may run on another node.
        """
        load, load_pods, cores = self.plan.scenario.load, self.target.load_pods, divide_cores()
        cells = dict.fromkeys(each.cell for block in self.plan.blocks for each in self.plan.list_cells_left(block))
        known, kept = Calibration(), None
        try:
            if not load_pods:
                kept = locate_calibration(cores, read_machine())
                known = read_calibration(kept)
            probes, left_out = plan_probes(cells, load, known)
            if left_out:
                more = "" if load_pods else " for the next run, or `wirebench calibrate`"
                self.writer.note(f"{pluralise(left_out, 'load')} left to calibrate{more}")
            if not probes:
                return known
            drivers = ", ".join(dict.fromkeys(probe.driver for probe in probes))
            where = "in a load pod: " if load_pods else ""
            self.progress.step(f"{where}calibrating {drivers}, about {estimate_coarse_s(probes):.0f} s")
            if load_pods:
                self.target.start(())  # creates the namespace of the load pods
            interference = Interference(cores.all)
            points = self.source.run(CalibrateTask(probes=tuple(probes)))
            known = known.add_points(points)
        except WirebenchError as error:
            self.writer.note(f"the drivers' error isn't known everywhere: {error.message}: {error.hint}")
            return known
        if kept:
            try:
                keep_undisturbed(known, kept, interference)
            except WirebenchError as error:
                self.writer.note(f"the next run will calibrate again: {error.message}: {error.hint}")
        return known

    @contextlib.contextmanager
    def _run_services(self, services: Sequence[ServiceSpec]) -> Iterator[Mapping[ServiceSpec, Endpoint]]:
        endpoints = self.target.start(services)
        try:
            yield endpoints
        finally:
            self.target.stop()

    def _verify(self, turns: Iterable[AbstractContextManager[Mapping[ServiceSpec, Endpoint]]]) -> None:
        """Verify that services answer alike, which run in turns or all at once. Raises WirebenchError if they don't."""
        is_first = not self.is_verified
        self.progress.step(f"verifying {describe_verification(self.plan.scenario, self.plan.services)}")
        answered: Answered = ()
        first_ids = defaultdict[object, int](self.verified_ids.__next__)
        for turn in turns:
            with turn as endpoints:
                if self.variants:
                    own = self.variants.send(self.plan.cells, endpoints, self.plan.seed, first_ids)
                    answered = (*answered, *own)
                    continue
                running = tuple(endpoints.values())
                self._conclude(self.source.run(VerifyTask(services=running, seed=self.plan.seed), running))
                if not self.target.load_pods:
                    self._choose_ids(running)
                    wait_until_settled([replica for endpoint in running for replica in endpoint.replicas])
        if self.variants:
            self._conclude(self.variants.compare(answered))
        if is_first:
            self._begin()

    def _list_turns(self) -> list[tuple[ServiceSpec, ...]]:
        """Return the services to verify at a time, as a cluster may have no room for more.

        Requests go to one variant after the other. Of the built-in application, one small replica of each transport is
        enough: answers depend on neither replicas nor limits.
        """
        if self.variants:
            ordered = sorted(self.plan.services, key=lambda service: service.transport != "grpc")
            return [(service,) for service in ordered]  # Others are compared by gRPC's messages.
        by_transport: dict[str, dict[ServiceSpec, None]] = {}
        for each in self.plan.services:
            small = dataclasses.replace(each, replicas=1, placement=None, cpu_limit_millicores=_VERIFIED_MILLICORES)
            by_transport.setdefault(each.transport, {})[small] = None
        turns = itertools.zip_longest(*by_transport.values())
        return [tuple(service for service in turn if service) for turn in turns]

    def _conclude(self, outcome: Conformance) -> None:
        """Record the outcome of a verification. Raises WirebenchError if services don't answer alike."""
        info = self.writer.info
        self.writer.update(
            conformance_requests=info.conformance_requests + outcome.requests,
            conformance_mismatches=(*info.conformance_mismatches, *outcome.mismatches),
        )
        outcome.require_passed(of_variants=self.variants is not None)
        self.is_verified = True

    def _begin(self) -> None:
        """Write the run's folder with all that the run depends on, and calibrate. Raises WirebenchError."""
        scenario = self.plan.scenario
        if not self.writer.info.resumed_at:
            self.writer.begin()
            if (recording := scenario.load.recording) and recording.path:
                self.writer.keep(recording.path, TIMING_FILE)
            if self.variants:
                self.writer.write(APPLICATION_FILE, scenario.application.source.text)
        for path in Path(self.folder.name).glob(CONTRACT_FILE.format("*")):
            self.writer.keep(path, path.name)
        if self.writer.info.calibrate and self.calibration is None:
            self.calibration = self.find_calibration()

    def _choose_ids(self, endpoints: Sequence[Endpoint]) -> None:
        """Choose ids that are free on services that aren't restarted, and note them: their records stay there."""
        if self.ids.count and (self.variants or not self.target.restarts_services):
            verified = len(self.plan.blocks) * len(self.plan.cells) * VERIFIED_IDS if self.variants else 0
            count = self.ids.count + math.ceil(verified / ID_STEP) * ID_STEP
            self.first_id = find_free(count, endpoints)
            ids = f"{self.first_id} to {self.first_id + count - 1}"
            what = "records" if self.variants else "users"
            self.writer.note(f"{what} that it creates stay in the services: their ids are among {ids}")
            self.verified_ids = itertools.count(self.first_id + self.ids.count, VERIFIED_IDS)

    def measure(self, planned: PlannedCell, endpoint: Endpoint) -> None:
        """Measure a cell on its running service, and write its record. Raises WirebenchError."""
        cell, cores = planned.cell, self.target.cores
        if cores and cell.cores:
            cores = cores.share()
        job = Job(
            cell=cell,
            load=self.plan.scenario.load,
            address=endpoint.address,
            seed=self.plan.seed + planned.block,
            id_base=self.first_id + self.ids.offsets.get(planned, 0),
            output=self.writer.histogram_path(planned.id),
            log=self.writer.log_path(planned.id),
            cores=cores.generator if cores else None,
            tls=endpoint.tls,
            metrics_push=self.make_metrics_push(cell),
        )
        if self.variants:
            application, descriptors = self.variants.prepare(endpoint)
            job = dataclasses.replace(job, application=application, descriptors=descriptors)
        spare_cores = self._compute_spare_cores(cell)

        def observe(job: Job) -> Observation:
            return self.source.run(MeasureTask.of(job, endpoint, cores), [endpoint])

        try:
            if cell.shape == "capacity":
                ids = ID_STEP * count_steps(cell, self.plan.scenario)
                record = search_capacity(job, observe, ids, self.calibration, spare_cores)
            else:
                record = make_record(job, observe(job), calibration=self.calibration, spare_cores=spare_cores)
        except WirebenchError:
            # If a service has died, report that: its driver failed because of it.
            deadline = time.monotonic() + _ENDING_S
            while time.monotonic() < deadline:  # its ports close before it has ended
                self.target.check()
                time.sleep(_ENDING_POLL_S)
            raise
        record = record.model_copy(update={"block": planned.block, "order": planned.order})
        self.writer.add(record)
        self.done += 1
        self.writer.update(duration_s=self._compute_duration_s())
        if record.server.cpu_s is None:
            self.writer.note(f"server CPU and memory are missing: {endpoint.usage_problem or _USAGE_PROBLEM}")
        if any(replica.relies_on_metrics for replica in endpoint.replicas):
            self.writer.note(
                "CPU time and memory come from the services' metrics, read once a second and interpolated at the "
                "window's edges: most services count CPU time in hundredths of a second"
            )
        self.progress.end_cell(record, self.done)

    def make_metrics_push(self, cell: Cell) -> MetricsPush | None:
        """Return where metrics of a cell's load are pushed; load pods have labels of their own.

        A run's namespace is called the same on all targets. All cells share a pod, so that a run has few series.
        """
        if self.target.prometheus is None:
            return None
        namespace = name_namespace(self.writer.info.id)
        labels = {"namespace": namespace, "pod": "load", "node": platform.node(), "transport": cell.transport}
        return MetricsPush(self.target.prometheus, labels)

    def _compute_spare_cores(self, cell: Cell) -> float | None:
        """Return how many of a machine's cores the limits of a cell's service leave to its generator."""
        if not (self.target.load_pods and self.shared_cores and cell.cpu_limit_millicores):
            return None
        return self.shared_cores - cell.cpu_limit_millicores * (cell.replicas or 1) / 1000
