"""A plain load on what is deployed in a cluster: one window on a service as it is."""

from __future__ import annotations

import contextlib
import hashlib
import random
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from wirebench.drivers import Job
from wirebench.drivers.driver import CREATED_FIRST_ID
from wirebench.drivers.metrics_push import MetricsPush
from wirebench.errors import WirebenchError
from wirebench.measure.cell import Conditions, make_record
from wirebench.model.cell import Cell
from wirebench.model.contract import Transport
from wirebench.model.labels import pluralise
from wirebench.model.record import Record
from wirebench.model.scenario import Load
from wirebench.plan.driver_support import count_parts
from wirebench.run.load_pod import pods
from wirebench.system.paths import IMAGES
from wirebench.targets import Endpoint
from wirebench.targets.cores import bind_name
from wirebench.targets.kubernetes import OUR_CONTEXT, Access, DeployedServices, find_observer
from wirebench.targets.kubernetes.load import AROUND_S

_SEED_MAX = 2**31 - 1
#: About how long a service takes to have other replicas or workers.
_SCALE_S = 15.0
#: What shows live metrics, and where kind-config.yaml maps the node ports that `make deploy` asks for.
_OBSERVERS = {"Prometheus": "http://127.0.0.1:9090", "Grafana": "http://127.0.0.1:3000/d/wirebench-generators"}


class ShowRates(Protocol):
    """Shows the requests/s of each replica, and how many replicas there were before if that has changed."""

    def __call__(self, rates: Mapping[str, float], before: int | None) -> None: ...


@dataclass(frozen=True, slots=True)
class ReplicaPhase:
    """A part of a load with the same replicas: when it began and was last seen, and the requests/s of each by then."""

    start_s: float
    end_s: float
    rates: Mapping[str, float]


@dataclass(slots=True)
class ReplicaWatch:
    """Reads rates again and again, and appends to `phases` whenever other replicas are there.

    It begins when all of `expected` are seen: Prometheus finds a new pod within seconds.
    """

    read: Callable[[], Mapping[str, float]]
    show: ShowRates
    phases: list[ReplicaPhase]
    expected: frozenset[str] = frozenset()
    clock: Callable[[], float] = time.monotonic
    started: float | None = None

    def poll(self) -> None:
        """Read the rates once; leave out what can't be read, as the load doesn't need it."""
        with contextlib.suppress(WirebenchError):
            rates = self.read()
            if not self.phases and not (rates and self.expected <= rates.keys()):
                return
            now = self.clock()
            self.started = now if self.started is None else self.started
            end_s = now - self.started
            before = self.phases[-1].rates if self.phases else rates
            if not self.phases or before.keys() != rates.keys():
                self.phases.append(ReplicaPhase(end_s, end_s, rates))
            self.phases[-1] = replace(self.phases[-1], end_s=end_s, rates=rates)
            self.show(rates, None if before.keys() == rates.keys() else len(before))


#: Shows progress on what takes about so many seconds; what the `with` block gets shows rates.
ShowProgress = Callable[[str, float], AbstractContextManager[ShowRates]]


@dataclass(frozen=True, slots=True)
class PlainLoad:
    """What a load came to: a record that belongs to no run, what is missing in it, and where live metrics are.

    `phases` are several if the replicas changed meanwhile.
    """

    record: Record
    phases: tuple[ReplicaPhase, ...]
    notes: tuple[str, ...]


def send_load(  # noqa: PLR0913, PLR0917 - where, what, and who watches
    access: Access,
    values_files: Sequence[Path],
    cell: Cell,
    load: Load,
    scale: tuple[int | None, int | None],
    show: ShowProgress,
) -> PlainLoad:
    """Give a service these replicas and workers, unless they are None, and send it a load from a pod.

    Nothing is left of the pod. Of the cell, what the service decides is the service's. Raises WirebenchError.
    """
    cluster = DeployedServices(access, values_files)
    with _claim_transport(cell.transport, access):
        cluster.check(cell.transport, scales=scale[0] is not None)
        load_pods = cluster.make_load_pods(cell.transport)
        if scale != (None, None):
            with show(f"{cell.transport}: {_describe_scale(*scale)}", _SCALE_S):
                cluster.scale(cell.transport, *scale)
        endpoint = cluster.find_endpoint(cell.transport, beside_load=cell.placement == "same-pod")
        prometheus = find_observer(access, "prometheus")
        job = _make_job(endpoint, cell, load, prometheus)
        cell, phases = job.cell, list[ReplicaPhase]()
        names = frozenset(each.name for each in endpoint.replicas)
        # Prometheus still has those that were replaced for a while.
        replaced = frozenset[str]()

        def read_rates() -> dict[str, float]:
            # A service beside the load has one replica.
            if prometheus is None or endpoint.service.beside_load:
                return {}
            rates = cluster.read_rates(cell.transport, prometheus)
            return {name: rate for name, rate in rates.items() if name not in replaced}

        with contextlib.suppress(WirebenchError):
            replaced = frozenset(read_rates()) - names
        expected_s = AROUND_S + count_parts(cell.driver, load.window_s) * load.warmup_s + load.window_s
        try:
            with show(f"{cell.transport} {cell.operation} by {cell.driver}", expected_s) as show_rates:
                load_pods.watch = ReplicaWatch(read_rates, show_rates, phases, names).poll
                observed = pods.observe(load_pods, job, endpoint)
        finally:
            cluster.remove(load_pods)
        limits = (cell.cpu_limit_millicores or 0) / 1000 * (cell.replicas or 1) + load_pods.count_cores(load)
        shared_cores = cluster.count_shared_cores()
        conditions = Conditions(host_share=limits / shared_cores if shared_cores else None)
        with tempfile.TemporaryDirectory(prefix="wirebench-") as folder:
            record = make_record(replace(job, output=Path(folder) / job.output), observed, conditions)
        notes = list(_list_observers(access))
        if prometheus is None:
            notes.append("no Prometheus was ready in the cluster, so nothing was live; make deploy installs it")
        if record.server.cpu_s is None and len(phases) <= 1:
            why = endpoint.usage_problem or "an agent did not answer in time, or replicas were replaced"
            notes.append(f"server CPU and memory are missing: {why}")
        if problem := observed[0].metrics_push_problem:
            notes.append(f"live metrics are incomplete: {problem}")
        return PlainLoad(record, tuple(phases), tuple(notes))


@contextlib.contextmanager
def _claim_transport(transport: Transport, access: Access) -> Iterator[None]:
    """Keep this machine's other loads on a service away: two that begin at once would remove each other's pods."""
    cluster = hashlib.sha256(f"{access.context} {access.kubeconfig}".encode()).hexdigest()[:16]
    with socket.socket(socket.AF_UNIX) as claim:
        if sys.platform == "linux" and not bind_name(claim, f"\0wirebench-load-{cluster}-{transport}"):
            raise WirebenchError(f"another load on {transport} is running", "wait for its end")
        yield


def _describe_scale(replicas: int | None, workers: int | None) -> str:
    parts = [pluralise(replicas, "replica")] if replicas is not None else []
    parts += [pluralise(workers, "worker")] if workers is not None else []
    return f"scaling to {' × '.join(parts)}"


def _make_job(endpoint: Endpoint, cell: Cell, load: Load, prometheus: str | None) -> Job:
    """Return the job that a pod does on a service as it is."""
    return Job(
        cell=cell.adopt(endpoint.service),
        load=load,
        address=endpoint.address,
        seed=random.SystemRandom().randrange(_SEED_MAX),
        id_base=CREATED_FIRST_ID,
        output=Path("histograms.json"),
        log=Path("driver.log"),
        cores=None,
        metrics_push=MetricsPush(prometheus, {}) if prometheus else None,
    )


def _list_observers(access: Access) -> Iterator[str]:
    """Yield how to reach what shows live metrics from here, if it is there."""
    for name, address in _OBSERVERS.items():
        inside = find_observer(access, name.lower())
        if inside and access.context == OUR_CONTEXT:
            # Prometheus' module, which it is built from where its image can't be pulled, has no pages.
            has_pages = not (IMAGES.parent / "not-pulled" / name.lower()).exists()
            yield f"{name}: {address}{'' if has_pages else ' (its API alone: no pages)'}"
        elif inside:
            service, _, namespace = str(urlsplit(inside).hostname).partition(".")
            yield f"{name}: kubectl --namespace {namespace} port-forward service/{service} {urlsplit(inside).port}"
