"""`wirebench verify`: whether all services answer alike."""

from __future__ import annotations

import itertools
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from wirebench.cli import options as common
from wirebench.cli.target import make_target_options
from wirebench.errors import UsageError
from wirebench.measure.conformance import Conformance, check_services
from wirebench.model.cell import ServiceSpec
from wirebench.plan.load import read_scenario
from wirebench.plan.plan import Plan
from wirebench.run.ids import CREATED_FIRST_ID
from wirebench.run.load_source import LoadSource
from wirebench.run.own_variants import VERIFIED_IDS, Variants, check_variants, describe_verification
from wirebench.run.target_options import choose_target, plan_for_target
from wirebench.system.files import name_temporary
from wirebench.targets.endpoint import Endpoint


def verify(
    scenario: Annotated[
        str,
        typer.Argument(metavar="SCENARIO", help="Whose services to verify.", autocompletion=common.complete_scenarios),
    ] = "quick",
    *,
    seed: common.Seed = 1,
    services: common.Services,
    verbosity: common.Verbosity,
) -> None:
    """Check that all services answer the same requests alike.

    The requests are random; addresses name services that run already.

    wirebench verify
    wirebench verify quick --rest http://127.0.0.1:5000 --grpc 127.0.0.1:50051
    """
    verbosity.apply()
    given = services.addresses
    read = read_scenario(scenario).model_copy(update={"blocks": 1})
    kind = choose_target(read, has_addresses=bool(given))
    if kind == "kubernetes":
        raise UsageError("variants in a cluster are verified by the run that deploys them", "use `wirebench run`")
    options = make_target_options(kind, services, has_variants=bool(read.variants))
    plan = plan_for_target(read, options, seed)
    verified = [service for service in plan.services if not given or service.transport in given]
    if unused := given.keys() - {service.transport for service in verified}:
        flags = ", ".join(f"--{name}" for name in sorted(unused))
        raise UsageError(f"{flags}: {scenario} has no such service", "remove it, or name a scenario that has it")
    with tempfile.TemporaryDirectory(prefix=name_temporary()) as folder:
        target = options.make_target(plan.scenario, "", Path(folder))
        try:
            check_variants(plan.scenario)
            target.prepare(verified)
            outcome = _verify(plan, target.start(verified), Path(folder))
        finally:
            target.stop()
            target.clean_up()
    outcome.require_passed(of_variants=bool(plan.scenario.variants))
    names = ", ".join(service.variant or str(service) for service in verified)
    what = describe_verification(plan.scenario, verified)
    sys.stdout.write(f"verified by {outcome.requests} requests to {names}: {what}\n")


def _verify(plan: Plan, endpoints: Mapping[ServiceSpec, Endpoint], folder: Path) -> Conformance:
    if not plan.scenario.variants:
        return check_services(tuple(endpoints.values()), plan.seed)
    variants = Variants(plan.scenario, folder, LoadSource())
    first_ids = defaultdict[object, int](itertools.count(CREATED_FIRST_ID, VERIFIED_IDS).__next__)
    return variants.compare(variants.send(plan.cells, endpoints, plan.seed, first_ids))
