"""`wirebench load`: a plain load on what is deployed in a cluster, with live metrics."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Annotated

import typer
from rich.console import Console

from wirebench.cli.duration import parse_duration_s
from wirebench.cli.options import Cluster, Verbosity
from wirebench.cli.output import make_console
from wirebench.cli.progress import Countdown
from wirebench.cli.verbosity import note
from wirebench.errors import UsageError, WirebenchError
from wirebench.model.application import load_builtin
from wirebench.model.cell import Cell
from wirebench.model.contract import TRANSPORTS, Balancing, Driver, Transport
from wirebench.model.record import Record
from wirebench.model.variant import CONNECTIONS_MAX
from wirebench.plan.driver_support import DRIVER_FACTS
from wirebench.present import plain_load as text
from wirebench.present.escape import escape_controls
from wirebench.run.plain_load import list_observers, send_load
from wirebench.system.signals import STOPPING, handle_interrupts
from wirebench.targets.kubernetes import Deployed, find_access, find_observer

_LABEL_WIDTH = 11


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
        done = send_load(
            cluster, load_pods, endpoint, make_cell, window_s=window_s, prometheus=prometheus, show=Countdown
        )
        notes = [*list_observers(access), *done.notes]
    print_load(done.record, notes, make_console())
    if done.record.service is None:
        hint = f"see the service's log: kubectl --namespace wirebench logs deployment/wirebench-{transport}"
        raise WirebenchError("not one request succeeded", hint)


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


def print_load(record: Record, notes: Iterable[str], console: Console) -> None:
    """Print a load on what `make_console` returns: what was asked for, its figures, failed gates, and notes."""
    console.print(text.describe_load(record), style="bold", soft_wrap=True)
    for label, figure in text.list_figures(record):
        console.print(f"  {label:{_LABEL_WIDTH}} {figure}", soft_wrap=True)
    for line in text.list_failed_gates(record):
        console.print(line, style="yellow", soft_wrap=True)
    for each in notes:
        console.print(escape_controls(each), soft_wrap=True)
