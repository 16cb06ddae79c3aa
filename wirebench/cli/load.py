"""`wirebench load`: a plain load on what is deployed in a cluster, with live metrics."""

from __future__ import annotations

import math
import random
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from wirebench.cli.countdown import Countdown
from wirebench.cli.load_result import print_load
from wirebench.cli.options import OUR_CONTEXT, Context, Kubeconfig, ValuesFiles, cluster_access
from wirebench.cli.output import stdout_console
from wirebench.drivers import Job
from wirebench.drivers.driver import CREATED_FIRST_ID
from wirebench.drivers.every_call import PART_S_MAX
from wirebench.drivers.live import Live
from wirebench.errors import UsageError, WirebenchError
from wirebench.generator import pods
from wirebench.interrupts import STOPPING, interruptible
from wirebench.measure import Observation, Subject, make_record
from wirebench.measure.record import Record
from wirebench.model.application import builtin
from wirebench.scenario import Cell, Load
from wirebench.scenario.contract import (
    CLOSING_RUNTIMES,
    TRANSPORTS,
    Balancing,
    Driver,
    Transport,
)
from wirebench.scenario.drivers import DRIVERS
from wirebench.scenario.model import CONCURRENCY_MAX
from wirebench.targets import Endpoint
from wirebench.targets.kubernetes import Deployed
from wirebench.targets.kubernetes.load import KubernetesLoadPods

_WARMUP_S = 1.0
#: A load pod starts, and its end is noticed, in about so long.
_AROUND_S = 5.0
DURATION_S_MIN = 1.0
#: ghz sends a load in parts of 20 s, and each takes a moment to start: half an hour is what the Job's deadline allows.
DURATION_S_MAX = 1800.0
_DURATION = re.compile(r"(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s?)?")
_SEED_MAX = 2**31 - 1
#: What shows live metrics, and where kind-config.yaml maps the node ports that `make deploy` asks for.
_OBSERVERS = {"Prometheus": "http://127.0.0.1:9090", "Grafana": "http://127.0.0.1:3000/d/wirebench-generators"}


@dataclass(frozen=True, slots=True)
class _Asked:
    """The load that is asked for; `rate_per_s` is None where it is as fast as replies come."""

    driver: Driver
    operation: str
    concurrency: int
    rate_per_s: int | None
    balancing: Balancing
    window_s: float


def load(  # noqa: PLR0913 - one parameter an option
    transport: Annotated[Transport, typer.Argument(help="The service to load.")],
    *,
    rate: Annotated[
        int | None, typer.Option(min=1, max=1_000_000, help="Requests per second; default: as fast as replies come.")
    ] = None,
    concurrency: Annotated[
        int, typer.Option(min=1, max=CONCURRENCY_MAX, help="Connections, with one request at a time each.")
    ] = 8,
    duration: Annotated[str, typer.Option(metavar="TIME", help="How long: 30s, 1m30s, 5m.")] = "30s",
    driver: Annotated[Driver | None, typer.Option(help="Default: ghz for grpc, k6 for the others.")] = None,
    operation: Annotated[str, typer.Option(help="What is requested; none that writes.")] = "users.get",
    balancing: Annotated[
        Balancing, typer.Option(help="By the cluster (service), by the client (headless), or one pod alone.")
    ] = "service",
    replicas: Annotated[
        int | None, typer.Option(min=1, max=100, help="Pods of the service; default: as it is.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, max=64, help="Processes in each of them; default: as it is.")
    ] = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    values: ValuesFiles = None,
) -> None:
    """Send a plain load to a service of a cluster.

    `make deploy` has installed it. It is a load and no measurement: one window on a service as it is, without
    repetitions and without a verdict.
    """
    chosen = _checked_driver(transport, driver, operation)
    asked = _Asked(chosen, operation, concurrency, rate, balancing, duration_s(duration))
    access, images = cluster_access(context, kubeconfig, values or [])
    cluster = Deployed(access, images)
    with interruptible(STOPPING):
        cluster.check(transport)
        load_pods = cluster.load_pods(transport)
        cluster.scale(transport, replicas, workers)
        endpoint = cluster.endpoint(transport)
        prometheus = cluster.observer("prometheus")
        if prometheus is None:
            sys.stderr.write(
                "note: no Prometheus is ready in the cluster, so nothing is live; make deploy installs it\n"
            )
        record, problem = _carry_out(cluster, load_pods, endpoint, _job(endpoint, asked, prometheus))
        notes = list(_where_to_look(cluster, is_ours=access.context == OUR_CONTEXT))
    if record.server.cpu_s is None:
        notes.append(
            f"server CPU and memory are missing: {endpoint.usage_problem or 'an agent did not answer in time'}"
        )
    if problem:
        notes.append(f"live metrics are incomplete: {problem}")
    print_load(record, notes, stdout_console())
    if record.service is None:
        hint = f"see the service's log: kubectl --namespace wirebench logs deployment/wirebench-{transport}"
        raise WirebenchError("not one request succeeded", hint)


def duration_s(text: str) -> float:
    """Return how long `30s`, `1m30s`, `5m` or plain seconds are, in seconds. Raises UsageError."""
    found = _DURATION.fullmatch(text)
    seconds = int(found[1] or 0) * 60 + float(found[2] or 0) if found else math.nan
    if not DURATION_S_MIN <= seconds <= DURATION_S_MAX:
        raise UsageError(
            f"the duration {text!r} is no time from {DURATION_S_MIN:.0f} s to {DURATION_S_MAX / 60:.0f} min",
            "write it like 30s, 1m30s or 5m",
        )
    return seconds


def _checked_driver(transport: Transport, driver: Driver | None, operation: str) -> Driver:
    possible = [name for name in TRANSPORTS[transport].drivers if DRIVERS[name].in_clusters]
    if driver is not None and driver not in possible:
        raise UsageError(f"{transport} has no driver {driver!r}", f"choose from {', '.join(possible)}")
    # Writing loads need ids that nobody has had, on a service that has had other loads: `wirebench run` sees to it.
    reading = [name for name, each in builtin().operations.items() if not (each.writes or each.stream)]
    if operation not in reading:
        raise UsageError(
            f"--operation: {operation!r} is not one of {', '.join(reading)}",
            "`wirebench run` measures writes as well",
        )
    return driver or ("ghz" if transport == "grpc" else "k6")


def _job(endpoint: Endpoint, asked: _Asked, prometheus: str | None) -> Job:
    """Return the job that a pod does on a service as it is."""
    service = endpoint.service
    cell = Cell(
        transport=service.transport,
        runtime=service.runtime,
        driver=asked.driver,
        operation=asked.operation,
        concurrency=asked.concurrency,
        rate_per_s=asked.rate_per_s,
        workers=service.workers,
        threads=service.threads,
        store=service.store,
        store_connections=service.store_connections,
        codec=TRANSPORTS[service.transport].codecs[0],
        connection="reopen" if service.runtime in CLOSING_RUNTIMES else "keep",
        replicas=service.replicas,
        balancing=asked.balancing,
        cpu_limit_millicores=service.cpu_limit_millicores,
    )
    return Job(
        cell=cell,
        load=Load(model="open" if asked.rate_per_s else "closed", warmup_s=_WARMUP_S, window_s=asked.window_s),
        address=endpoint.address,
        seed=random.SystemRandom().randrange(_SEED_MAX),
        id_base=CREATED_FIRST_ID,
        output=Path("histograms.json"),
        log=Path("driver.log"),
        cores=None,
        live=Live(prometheus, {}) if prometheus else None,
    )


def _carry_out(cluster: Deployed, load_pods: KubernetesLoadPods, endpoint: Endpoint, job: Job) -> tuple[Record, str]:
    """Send the load from a pod, of which nothing is left; return its record, and why its metrics weren't live if so."""
    cell, asked = job.cell, job.load
    parts = math.ceil(asked.window_s / PART_S_MAX) if cell.driver == "ghz" else 1
    try:
        expected_s = _AROUND_S + parts * asked.warmup_s + asked.window_s
        with Countdown(f"{cell.transport} {cell.operation} by {cell.driver}", expected_s):
            observed = pods.observe(load_pods, job, endpoint, lambda: None)
    finally:
        cluster.remove(load_pods)
    return _record(job, observed, cluster.shared_cores(), load_pods.cores_of(job.load)), observed[0].live_problem


def _record(job: Job, observed: Sequence[Observation], shared_cores: int | None, generator_cores: float) -> Record:
    cell = job.cell
    limits = (cell.cpu_limit_millicores or 0) / 1000 * cell.replicas + generator_cores
    subject = Subject(
        run="",
        scenario="load",
        record_id=cell.id,
        block=1,
        order=0,
        cell=cell,
        load=job.load,
        cores=None,
        host_share=limits / shared_cores if shared_cores else None,
        histogram_file=job.output,
        versions={},
        machine={},
        commit=None,
    )
    with tempfile.TemporaryDirectory(prefix="wirebench-") as folder:
        return make_record(subject, observed, Path(folder) / job.output)


def _where_to_look(cluster: Deployed, *, is_ours: bool) -> Iterator[str]:
    """Say where what shows live metrics is reached from here, if it is there."""
    for name, address in _OBSERVERS.items():
        inside = cluster.observer(name.lower())
        if inside and is_ours:
            yield f"{name}: {address}"
        elif inside:
            service, _, namespace = str(urlsplit(inside).hostname).partition(".")
            yield f"{name}: kubectl --namespace {namespace} port-forward service/{service} {urlsplit(inside).port}"
