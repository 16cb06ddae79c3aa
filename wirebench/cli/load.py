"""`wirebench load`: a plain load on a service, with live metrics: a run of one window."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Literal

import typer

from wirebench.cli import options as common
from wirebench.cli.run_options import LoadOptions
from wirebench.model.contract import Transport
from wirebench.system.paths import DEFAULT_FOLDER

LoadTarget = Literal["kubernetes", "local"]


def load(  # noqa: PLR0913 - one parameter an option
    transport: Annotated[Transport, typer.Argument(metavar="TRANSPORT", help="rest, grpc or socket.")],
    *,
    options: LoadOptions,
    target: Annotated[
        LoadTarget, typer.Option(metavar="NAME", help="What `make deploy` installed; local: a fresh service here.")
    ] = "kubernetes",
    cluster: common.Cluster,
    prometheus: common.Prometheus = None,
    out: common.Out = DEFAULT_FOLDER,
    json: common.Json = False,
    verbosity: common.Verbosity,
) -> None:
    """Send a plain load to a service.

    It is a run of one window, and so without a verdict; `compare` compares two. By default, k6 sends it to rest, ghz to
    grpc and wireload to socket, as 8 users for 30 s. The factors replicas and workers scale a deployed service.

    wirebench load rest --rate 200 --duration 1m
    wirebench load grpc --set factors.replicas=2
    """
    from wirebench.cli.measure import measure, show_and_report
    from wirebench.cli.target import make_target_options
    from wirebench.model.scenario import find_own
    from wirebench.plan.plain_load import adopt_service, plan_load
    from wirebench.targets.cluster.client import find_access
    from wirebench.targets.deployed import DeployedTarget

    verbosity.apply()
    place = make_target_options(target, None, cluster, prometheus)
    plan = plan_load(transport, options.parse(), target)
    if target == "kubernetes":
        deployed = DeployedTarget(find_access(cluster.context, cluster.values or ()), transport)
        wanted = (find_own(getattr(plan.scenario.factors, name), transport) for name in ("replicas", "workers"))
        plan = adopt_service(plan, deployed.read_service(*(each[0] if each else None for each in wanted)))
        place = dataclasses.replace(place, deployed=deployed)
    show_and_report(*measure(plan, place, out, calibrate=False), json=json)
