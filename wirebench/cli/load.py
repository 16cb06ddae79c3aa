"""`wirebench load`: a plain load on a service, with live metrics: a run of one window."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from wirebench.cli.measure import PlannedRun, measure_and_show
from wirebench.cli.options import Cluster, Json, Out, Prometheus, Verbosity, make_target_option, parse_duration_s
from wirebench.cli.target import make_target_options
from wirebench.model.contract import SEED_MAX, Balancing, Connection, Driver, Placement, Transport
from wirebench.plan.overrides import Override, parse_override
from wirebench.plan.plain_load import adopt_service, plan_load
from wirebench.store.runs import make_run_id
from wirebench.system.paths import DEFAULT_FOLDER
from wirebench.system.signals import STOPPING, handle_interrupts
from wirebench.targets.cluster.client import find_access
from wirebench.targets.deployed import DeployedTarget

#: Options that are factors by the same name.
_FACTORS = ("concurrency", "operation", "payload", "placement", "balancing", "connection", "replicas", "workers")
#: What drives each transport unless another is asked for.
_DRIVERS: Mapping[Transport, Driver] = {"rest": "k6", "grpc": "ghz", "socket": "wireload"}
LoadTarget = Literal["kubernetes", "local"]


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """What is sent to a service, and how."""

    rate: Annotated[int | None, typer.Option(help="Requests per second; default: as fast as replies come.")] = None
    concurrency: Annotated[int, typer.Option(help="Connections, with one request at a time each.")] = 8
    duration: Annotated[str, typer.Option(metavar="TIME", help="How long: 30s, 1m30s, 5m.")] = "30s"
    driver: Annotated[Driver | None, typer.Option(help="Default: k6 for rest, ghz for grpc, wireload for socket.")] = (
        None
    )
    operation: Annotated[str, typer.Option(help="What is requested; in a cluster, none that writes.")] = "users.get"
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
        Balancing | None,
        typer.Option(help="By the cluster (service, the default), by the client (headless), or one pod alone."),
    ] = None
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


def load(  # noqa: PLR0913 - one parameter an option
    transport: Annotated[Transport, typer.Argument(help="The service to load.")],
    *,
    options: LoadOptions,
    target: Annotated[
        LoadTarget,
        make_target_option(
            "What is loaded: kubernetes is what `make deploy` has installed, local a fresh service here", "kubernetes"
        ),
    ] = "kubernetes",
    cluster: Cluster,
    prometheus: Prometheus = None,
    out: Out = DEFAULT_FOLDER,
    json: Json = False,
    verbosity: Verbosity,
) -> None:
    """Send a plain load to a service.

    It is a run of one window: without repetitions, and so without a verdict. `wirebench compare` compares two of them.
    """
    verbosity.apply()
    place = make_target_options(target, {}, None, cluster, prometheus=prometheus)
    plan = plan_load(options.parse(transport), random.SystemRandom().randrange(SEED_MAX), target)
    if target == "kubernetes":
        deployed = DeployedTarget(find_access(cluster.context, cluster.kubeconfig, cluster.values or ()), transport)
        with handle_interrupts(STOPPING):
            plan = adopt_service(plan, deployed.read_service(options.replicas, options.workers))
        place = dataclasses.replace(place, deployed=deployed)
    measure_and_show(PlannedRun(plan, place, out, make_run_id(f"load-{transport}"), calibrate=False), json=json)
