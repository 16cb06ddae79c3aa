"""`wirebench load`: a plain load on what is deployed in a cluster, with live metrics."""

from __future__ import annotations

import functools
import math
import random
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer
from rich.console import Console

from wirebench.cli.options import Cluster, Verbosity
from wirebench.cli.output import make_console
from wirebench.cli.progress import Countdown
from wirebench.cli.verbosity import note
from wirebench.drivers import Job
from wirebench.drivers.driver import CREATED_FIRST_ID
from wirebench.drivers.metrics_push import MetricsPush
from wirebench.drivers.per_request import PART_S_MAX
from wirebench.errors import UsageError, WirebenchError
from wirebench.measure.cell import Subject, make_record
from wirebench.measure.gates import FAIRNESS_MIN
from wirebench.measure.observe import Observation
from wirebench.model.application import load_builtin
from wirebench.model.cell import Cell
from wirebench.model.contract import CLOSING_RUNTIMES, TRANSPORTS, Balancing, Driver, Transport
from wirebench.model.labels import name_gate, pluralise
from wirebench.model.record import Record
from wirebench.model.scenario import Load
from wirebench.model.variant import CONNECTIONS_MAX
from wirebench.plan.driver_support import DRIVER_FACTS
from wirebench.present.escape import escape_controls
from wirebench.present.numbers import format_number
from wirebench.run.load_pod import pods
from wirebench.system.signals import STOPPING, handle_interrupts
from wirebench.targets import Endpoint
from wirebench.targets.kubernetes import OUR_CONTEXT, Access, Deployed, find_access, find_observer
from wirebench.targets.kubernetes.load import AROUND_S, KubernetesLoadPods

_WARMUP_S = 1.0
DURATION_S_MIN = 1.0
#: ghz sends a load in parts of 20 s, and each takes a moment to start: half an hour is what the Job's deadline allows.
DURATION_S_MAX = 1800.0
_DURATION = re.compile(r"(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s?)?")
_SEED_MAX = 2**31 - 1
#: What shows live metrics, and where kind-config.yaml maps the node ports that `make deploy` asks for.
_OBSERVERS = {"Prometheus": "http://127.0.0.1:9090", "Grafana": "http://127.0.0.1:3000/d/wirebench-generators"}
_ERROR_TEXTS_SHOWN = 5
_LABEL_WIDTH = 11
#: Gates whose figure has a line of its own.
_SHOWN_ELSEWHERE = frozenset({"error_rate", "dropped_iterations"})
#: What to do about gates whose own advice is for scenarios: a load has options.
_ADVICE = {
    "generator_cpu": "the generator was the bottleneck: lower --concurrency or --rate",
    "rate_error": "the load was not what was asked for: lower --rate, or raise --replicas or --workers",
    "connections": "some were not open yet, or got no reply: lower --concurrency, or raise --replicas or --workers",
    "warmup": "requests took longer than the second of warm-up: lower --concurrency, or raise --replicas or --workers",
    "samples": "too few for a p99: raise --duration",
    "drift": "it had not settled: send it again, now that the service is warm, and see what else runs there",
    "shared_host": "the nodes are one machine, which hasn't the cores for all limits at once: lower --replicas",
    "replica_balance": "some replicas had most of the connections: make --concurrency a multiple of --replicas",
    "throttled_generator": "the generator met its CPU limit: lower --concurrency or --rate",
}
_OF_MAKE = "  make load-* takes these options as RATE, CONCURRENCY, DURATION, REPLICAS, WORKERS"


def load(  # noqa: PLR0913 - one parameter an option
    transport: Annotated[Transport, typer.Argument(help="The service to load.")],
    *,
    rate: Annotated[
        int | None, typer.Option(min=1, max=1_000_000, help="Requests per second; default: as fast as replies come.")
    ] = None,
    concurrency: Annotated[
        int, typer.Option(min=1, max=CONNECTIONS_MAX, help="Connections, with one request at a time each.")
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
    cluster_options: Cluster,
    verbosity: Verbosity,
) -> None:
    """Send a plain load to a service in a cluster.

    `make deploy` has installed it. It is a load and no measurement: one window on a service as it is, without
    repetitions and without a verdict.
    """
    verbosity.apply()
    make_cell = functools.partial(
        Cell,
        driver=_choose_driver(transport, driver, operation),
        operation=operation,
        concurrency=concurrency,
        rate_per_s=rate,
        balancing=balancing,
    )
    window_s = parse_duration_s(duration)
    access, images = find_access(cluster_options.context, cluster_options.kubeconfig, cluster_options.values or ())
    cluster = Deployed(access, images)
    with handle_interrupts(STOPPING):
        cluster.check(transport)
        load_pods = cluster.make_load_pods(transport)
        cluster.scale(transport, replicas, workers)
        endpoint = cluster.find_endpoint(transport)
        prometheus = find_observer(access, "prometheus")
        if prometheus is None:
            note("note: no Prometheus is ready in the cluster, so nothing is live; make deploy installs it")
        record, problem = _send_load(cluster, load_pods, endpoint, _make_job(endpoint, make_cell, window_s, prometheus))
        notes = list(_find_observers(access))
    if record.server.cpu_s is None:
        notes.append(
            f"server CPU and memory are missing: {endpoint.usage_problem or 'an agent did not answer in time'}"
        )
    if problem:
        notes.append(f"live metrics are incomplete: {problem}")
    print_load(record, notes, make_console())
    if record.service is None:
        hint = f"see the service's log: kubectl --namespace wirebench logs deployment/wirebench-{transport}"
        raise WirebenchError("not one request succeeded", hint)


def parse_duration_s(text: str, most_s: float = DURATION_S_MAX) -> float:
    """Return how long `30s`, `1m30s`, `5m` or plain seconds are, in seconds. Raises UsageError."""
    found = _DURATION.fullmatch(text)
    seconds = int(found[1] or 0) * 60 + float(found[2] or 0) if found else math.nan
    if not DURATION_S_MIN <= seconds <= most_s:
        raise UsageError(
            f"the duration {text!r} is no time from {DURATION_S_MIN:.0f} s to {most_s / 60:.0f} min",
            "write it like 30s, 1m30s or 5m",
        )
    return seconds


def _choose_driver(transport: Transport, driver: Driver | None, operation: str) -> Driver:
    possible = [name for name in TRANSPORTS[transport].drivers if DRIVER_FACTS[name].in_clusters]
    if driver is not None and driver not in possible:
        raise UsageError(f"{transport} has no driver {driver!r}", f"choose from {', '.join(possible)}")
    # Writing loads need unused ids on a service that has had other loads: `wirebench run` chooses them.
    reading = [name for name, each in load_builtin().operations.items() if not (each.writes or each.stream)]
    if operation not in reading:
        raise UsageError(
            f"--operation: {operation!r} is not one of {', '.join(reading)}",
            "`wirebench run` measures writes as well",
        )
    return driver or ("ghz" if transport == "grpc" else "k6")


def _make_job(endpoint: Endpoint, make_cell: functools.partial[Cell], window_s: float, prometheus: str | None) -> Job:
    """Return the job that a pod does on a service as it is; `make_cell` has the levels that were asked for."""
    service = endpoint.service
    cell = make_cell(
        transport=service.transport,
        runtime=service.runtime,
        workers=service.workers,
        threads=service.threads,
        store=service.store,
        store_connections=service.store_connections,
        codec=TRANSPORTS[service.transport].codecs[0],
        connection="reopen" if service.runtime in CLOSING_RUNTIMES else "keep",
        replicas=service.replicas,
        cpu_limit_millicores=service.cpu_limit_millicores,
    )
    return Job(
        cell=cell,
        load=Load(model="open" if cell.rate_per_s else "closed", warmup_s=_WARMUP_S, window_s=window_s),
        address=endpoint.address,
        seed=random.SystemRandom().randrange(_SEED_MAX),
        id_base=CREATED_FIRST_ID,
        output=Path("histograms.json"),
        log=Path("driver.log"),
        cores=None,
        metrics_push=MetricsPush(prometheus, {}) if prometheus else None,
    )


def _send_load(cluster: Deployed, load_pods: KubernetesLoadPods, endpoint: Endpoint, job: Job) -> tuple[Record, str]:
    """Send the load from a pod, of which nothing is left; return its record, and why its metrics weren't live if so."""
    cell, asked = job.cell, job.load
    parts = math.ceil(asked.window_s / PART_S_MAX) if cell.driver == "ghz" else 1
    try:
        expected_s = AROUND_S + parts * asked.warmup_s + asked.window_s
        with Countdown(f"{cell.transport} {cell.operation} by {cell.driver}", expected_s):
            observed = pods.observe(load_pods, job, endpoint, lambda: None)
    finally:
        cluster.remove(load_pods)
    record = _make_load_record(job, observed, cluster.count_shared_cores(), load_pods.count_cores(job.load))
    return record, observed[0].metrics_push_problem


def _make_load_record(
    job: Job, observed: Sequence[Observation], shared_cores: int | None, generator_cores: float
) -> Record:
    cell = job.cell
    limits = (cell.cpu_limit_millicores or 0) / 1000 * (cell.replicas or 1) + generator_cores
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


def _find_observers(access: Access) -> Iterator[str]:
    """Yield how to reach what shows live metrics from here, if it is there."""
    for name, address in _OBSERVERS.items():
        inside = find_observer(access, name.lower())
        if inside and access.context == OUR_CONTEXT:
            yield f"{name}: {address}"
        elif inside:
            service, _, namespace = str(urlsplit(inside).hostname).partition(".")
            yield f"{name}: kubectl --namespace {namespace} port-forward service/{service} {urlsplit(inside).port}"


def print_load(record: Record, notes: Sequence[str], console: Console) -> None:
    """Print a load on what `make_console` returns: what was asked for, its figures, failed gates, and notes."""
    console.print(_describe_load(record), style="bold", soft_wrap=True)
    for label, text in _describe_figures(record):
        console.print(f"  {label:{_LABEL_WIDTH}} {text}", soft_wrap=True)
    failed = [gate for gate in record.gates if not gate.passed and gate.name not in _SHOWN_ELSEWHERE]
    for gate in failed:
        limit = f"{gate.value:.3g} {gate.unit}, limit {gate.limit:g}"
        advice = _ADVICE.get(gate.name, gate.advice)
        console.print(f"! {name_gate(gate.name)} ({limit}): {advice}", style="yellow", soft_wrap=True)
    if any(gate.name in _ADVICE for gate in failed):
        console.print(_OF_MAKE, style="yellow", soft_wrap=True)
    for each in notes:
        console.print(escape_controls(each), soft_wrap=True)


def _describe_load(record: Record) -> str:
    factors = record.factors
    load = f"{factors['rate_per_s']:,}/s on " if factors["rate_per_s"] else ""
    service = (
        f"{pluralise(int(factors['replicas'] or 1), 'replica')} × {pluralise(int(factors['workers'] or 1), 'worker')}"
    )
    return (
        f"{factors['transport']} {factors['operation']} by {factors['driver']}: "
        f"{load}{pluralise(int(factors['concurrency'] or 1), 'connection')} for {record.window_s:g} s; "
        f"{service} ({factors['runtime']})"
    )


def _describe_figures(record: Record) -> Iterator[tuple[str, str]]:
    failed = sum(record.errors.values())
    yield "requests", f"{record.requests:,}, {record.rate_achieved_per_s:,.1f}/s succeeded{_compare_with_asked(record)}"
    if record.dropped_iterations:
        yield "dropped", f"{record.dropped_iterations:,} that were due and never sent"
    by_code = ", ".join(f"{count:,} {code}" for code, count in sorted(record.errors.items()))
    yield "errors", f"{failed:,} ({failed / record.requests:.2%}): {by_code}" if failed else "0"
    for text in record.error_texts[:_ERROR_TEXTS_SHOWN]:
        yield "", escape_controls(str(text))
    yield "latency", _describe_latency(record)
    server, generator = record.server, record.generator
    if server.cpu_us_per_request is not None:
        throttled = (
            f", throttled in {pluralise(server.throttled_periods, 'period')}" if server.throttled_periods else ""
        )
        yield "server CPU", f"{format_number(server.cpu_us_per_request)} µs per request{throttled}"
    counts = server.requests_by_replica or {}
    for label, (name, count) in zip(("replicas", *[""] * len(counts)), counts.items(), strict=False):
        yield label, f"{name}: {count:,} ({count / max(1, sum(counts.values())):.0%})"
    if int(record.factors["workers"] or 1) > 1 and server.fairness is not None and server.fairness < FAIRNESS_MIN:
        yield "workers", f"uneven shares: Jain's index {server.fairness:.2f}, where 1 is even"
    if generator.cpu_share is not None:
        yield "generator", f"{generator.cpu_share:.0%} of its CPU limit"


def _compare_with_asked(record: Record) -> str:
    if not record.rate_asked_per_s:
        return ""
    return (
        f" of {record.rate_asked_per_s:,.0f}/s asked for ({record.rate_achieved_per_s / record.rate_asked_per_s:.1%})"
    )


def _describe_latency(record: Record) -> str:
    """Describe the quantiles on the response clock where there is one; ghz has none."""
    is_response = record.rate_asked_per_s is not None and record.response is not None
    latency = record.response if is_response else record.service
    if latency is None:
        return "no request succeeded"
    clock = "from when each was due" if is_response else "from when each was sent"
    figures = (
        f"{name} {format_number(getattr(latency, f'{name}_ms'))} ms" for name in ("mean", "p50", "p95", "p99", "max")
    )
    return f"{', '.join(figures)}, {clock}"
