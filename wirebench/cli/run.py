"""`wirebench run`: measure a scenario."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Annotated

import typer

from wirebench.cli import options as common
from wirebench.cli.run_options import Overrides, write_requests
from wirebench.errors import UsageError
from wirebench.system.paths import DEFAULT_FOLDER


def run(  # noqa: PLR0913 - one parameter an option
    scenario: Annotated[
        str | None,
        typer.Argument(
            metavar="SCENARIO", help="A scenario file, or a name of `list`.", autocompletion=common.complete_scenarios
        ),
    ] = None,
    *,
    overrides: Overrides,
    services: common.Services,
    requests: common.RequestOptions,
    cluster: common.Cluster,
    target: common.Target = None,
    seed: common.Seed = None,
    prometheus: common.Prometheus = None,
    out: common.Out = DEFAULT_FOLDER,
    calibrate: common.Calibrate = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print cells, order, time and needs alone.")] = False,
    json: common.Json = False,
    verbosity: common.Verbosity,
) -> None:
    """Measure a scenario, and report what differs.

    Options override its keys. Without one, running services are compared by requests; those on other machines need
    --rate and --concurrency as limits.

    wirebench run quick --concurrency 1,64 --duration 10s
    wirebench run --rest 'GET http://127.0.0.1:8080/items/1'
    """
    # Completion of its arguments needs none of these, and is there at once.
    from wirebench.cli.dry_run import show_plan
    from wirebench.cli.measure import measure, show_and_report
    from wirebench.cli.target import make_target_options
    from wirebench.plan.load import find_scenario, read_scenario
    from wirebench.run.target_options import choose_target, plan_for_target

    verbosity.apply()
    if scenario and requests != common.RequestOptions():
        flags = "--status, --header, --metadata and --ignore-bodies"
        raise UsageError(f"{flags} are for requests without a scenario", "write them into the application file")
    changes = overrides.parse()
    with nullcontext(find_scenario(scenario)) if scenario else write_requests(services, requests, changes) as path:
        read = read_scenario(path, changes)
        options = make_target_options(
            target or choose_target(read, has_addresses=bool(scenario and services.addresses)),
            services if scenario else None,
            cluster,
            prometheus,
            has_variants=bool(read.variants),
        )
        plan = plan_for_target(read, options, seed)
        if dry_run:
            show_plan(plan, json=json)
        else:
            show_and_report(*measure(plan, options, out, calibrate=calibrate, keep_application=not scenario), json=json)
