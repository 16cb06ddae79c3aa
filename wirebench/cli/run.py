"""`wirebench run`: measure a scenario."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from wirebench.cli import options as common
from wirebench.cli.run_options import Overrides, RequestOptions, write_requests
from wirebench.errors import UsageError
from wirebench.system.paths import DEFAULT_FOLDER


def run(  # noqa: PLR0913 - one parameter an option
    scenario: Annotated[
        str | None,
        typer.Argument(
            help="A scenario file, or the name of one in scenarios/; or --rest, --grpc, --socket.",
            autocompletion=common.complete_scenarios,
        ),
    ] = None,
    *,
    overrides: Overrides,
    requests: RequestOptions,
    tls_files: common.TlsOptions,
    cluster: common.Cluster,
    target: Annotated[
        str | None,
        common.make_target_option(
            "Where services run: local, kubernetes or external", "local, or where all variants are"
        ),
    ] = None,
    seed: common.Seed = None,
    timing: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Timing file of a replay, in place of the scenario's.")
    ] = None,
    prometheus: common.Prometheus = None,
    out: common.Out = DEFAULT_FOLDER,
    calibrate: common.Calibrate = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print cells, order, time and needs; start nothing.")
    ] = False,
    json: common.Json = False,
    verbosity: common.Verbosity,
) -> None:
    """Measure a scenario, and report what differs.

    Options override keys of the scenario; the run records the changed scenario:

    wirebench run quick --concurrency 64 --duration 10s --set factors.workers=1,2

    Without a scenario, services that run already are compared by a request each:

    wirebench run --rest 'GET http://127.0.0.1:8080/items/1' --grpc '127.0.0.1:50051 shop.Catalog/GetItem {"id": 1}'

    Services on other machines need --rate and --concurrency, which limit the load.
    """
    # Completion of its arguments needs none of these, and is there at once.
    from wirebench.cli.dry_run import show_plan
    from wirebench.cli.measure import PlannedRun, measure_and_show
    from wirebench.cli.target import make_target_options
    from wirebench.plan.load import find_scenario, read_scenario
    from wirebench.run.target_options import choose_target, plan_for_target
    from wirebench.store.runs import make_run_id

    verbosity.apply()
    tls, changes = tls_files.load(), overrides.parse()
    file = nullcontext(find_scenario(scenario)) if scenario else write_requests(requests, tls, changes)
    with file as path:
        read = read_scenario(path, timing, changes)
        options = make_target_options(
            target or choose_target(read),
            requests.parse_addresses() if scenario else {},
            tls if scenario else None,
            cluster,
            has_variants=bool(read.variants),
            prometheus=prometheus,
        )
        if timing and read.load.model != "replay":
            raise UsageError(f"--timing: {path} has no replay", "remove the option, or set load.model to replay")
        plan = plan_for_target(read, options, seed)
        if dry_run:
            show_plan(plan, json=json)
            return
        name = make_run_id(path.stem)
        measurement = PlannedRun(plan, options, out, name, calibrate=calibrate, keep_application=not scenario)
        measure_and_show(measurement, json=json)
