"""`wirebench load`: a plain load on what is deployed in a cluster, with live metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import typer
from rich.console import Console

from wirebench.cli.options import Cluster, Verbosity, parse_duration_s
from wirebench.cli.output import make_console
from wirebench.cli.progress import Countdown
from wirebench.cli.verbosity import note
from wirebench.errors import WirebenchError
from wirebench.model.contract import Balancing, Connection, Driver, Placement, Transport
from wirebench.model.scenario import Load
from wirebench.plan.overrides import Override, parse_override
from wirebench.plan.plain_load import plan_load
from wirebench.present import plain_load as text
from wirebench.present.escape import escape_controls
from wirebench.run.plain_load import PlainLoad, send_load
from wirebench.system.signals import STOPPING, handle_interrupts
from wirebench.targets.kubernetes import find_access

_LABEL_WIDTH = 11
#: Options that are factors by the same name.
_FACTORS = ("concurrency", "operation", "payload", "placement", "balancing", "connection", "replicas", "workers")
#: What drives each transport unless another is asked for.
_DRIVERS: Mapping[Transport, Driver] = {"rest": "k6", "grpc": "ghz", "socket": "wireload"}


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """What is sent to a service, and how."""

    rate: Annotated[int | None, typer.Option(help="Requests per second; default: as fast as replies come.")] = None
    concurrency: Annotated[int, typer.Option(help="Connections, with one request at a time each.")] = 8
    duration: Annotated[str, typer.Option(metavar="TIME", help="How long: 30s, 1m30s, 5m.")] = "30s"
    driver: Annotated[Driver | None, typer.Option(help="Default: k6 for rest, ghz for grpc, wireload for socket.")] = (
        None
    )
    operation: Annotated[str, typer.Option(help="What is requested; none that writes.")] = "users.get"
    payload: Annotated[
        str | None,
        typer.Option(help="Of users.list: list, or a number of users. Of echoes: 512k, or a number of bytes."),
    ] = None
    placement: Annotated[
        Placement | None,
        typer.Option(
            help="Where the load runs. same-pod: with a service of its own beside it. Default: on the node for load."
        ),
    ] = None
    balancing: Annotated[
        Balancing, typer.Option(help="By the cluster (service), by the client (headless), or one pod alone.")
    ] = "service"
    connection: Annotated[
        Connection, typer.Option(help="Keep connections, or reopen them for each request, which new replicas get, too.")
    ] = "keep"
    replicas: Annotated[int | None, typer.Option(help="Pods of the service; default: as it is.")] = None
    workers: Annotated[int | None, typer.Option(help="Processes in each of them; default: as it is.")] = None

    def parse(self, transport: Transport) -> list[Override]:
        """Return what is asked for. Raises UsageError."""
        rates = [] if self.rate is None else [Override(f"--rate {self.rate}", ("factors", "rate_per_s"), self.rate)]
        driver = self.driver or _DRIVERS[transport]
        factors = {"transport": transport, **{name: getattr(self, name) for name in _FACTORS}, "driver": driver}
        options = [
            parse_override(f"--{name} {value}", ("factors", name), str(value))
            for name, value in factors.items()
            if value is not None
        ]
        window_s = parse_duration_s(self.duration)
        return [*options, Override(f"--duration {self.duration}", ("load", "window_s"), window_s), *rates]


def load(
    transport: Annotated[Transport, typer.Argument(help="The service to load.")],
    *,
    options: LoadOptions,
    cluster: Cluster,
    verbosity: Verbosity,
) -> None:
    """Send a plain load to a service in a cluster.

    `make deploy` has installed it. It is a load and no measurement: one window on a service as it is, without
    repetitions and without a verdict.
    """
    verbosity.apply()
    cell, asked = plan_load(options.parse(transport))
    access, images = find_access(cluster.context, cluster.kubeconfig, cluster.values or ())
    with handle_interrupts(STOPPING):
        done = send_load(access, images, cell, asked, (options.replicas, options.workers), LoadCountdown)
    print_load(done, asked, make_console())
    if done.record.service is None:
        hint = f"see the service's log: kubectl --namespace wirebench logs deployment/wirebench-{transport}"
        raise WirebenchError("not one request succeeded", hint)


class LoadCountdown(Countdown):
    """Counts down, and shows the requests/s of the replicas."""

    def __call__(self, rates: Mapping[str, float], before: int | None) -> None:
        self.figures = text.describe_rates(rates)
        if before is not None:
            note(f"replicas: {before} -> {len(rates)}")


def print_load(done: PlainLoad, asked: Load, console: Console) -> None:
    """Print a load on what `make_console` returns: what was asked for, its figures, failed gates, and notes."""
    console.print(text.describe_load(done.record, asked, done.phases), style="bold", soft_wrap=True)
    for label, figure in text.list_figures(done.record, done.phases):
        console.print(f"  {label:{_LABEL_WIDTH}} {figure}", soft_wrap=True)
    for line in text.list_failed_gates(done.record, done.phases):
        console.print(line, style="yellow", soft_wrap=True)
    for each in done.notes:
        console.print(escape_controls(each), soft_wrap=True)
