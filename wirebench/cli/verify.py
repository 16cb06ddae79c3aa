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

from wirebench.cli.options import Addresses, TlsOptions, Verbosity
from wirebench.cli.target import make_target_options
from wirebench.drivers.driver import CREATED_FIRST_ID
from wirebench.errors import UsageError, WirebenchError
from wirebench.measure.conformance import Conformance, check_services
from wirebench.model.cell import ServiceSpec
from wirebench.plan.load import read_scenario
from wirebench.plan.plan import Plan
from wirebench.run.load_source import LoadSource
from wirebench.run.own_variants import VERIFIED_IDS, Variants, check_variants
from wirebench.run.target_options import choose_target, plan_for_target
from wirebench.system.signals import STOPPING, handle_interrupts
from wirebench.targets.endpoint import Endpoint


def verify(
    scenario: Annotated[str, typer.Argument(help="The scenario whose services are verified.")] = "quick",
    *,
    seed: Annotated[int, typer.Option(min=0, help="Repeats the requests.")] = 1,
    addresses: Addresses,
    tls_files: TlsOptions,
    verbosity: Verbosity,
) -> None:
    """Check that all services answer the same requests alike.

    The requests are random; addresses name services that run already.
    """
    verbosity.apply()
    given, tls = addresses.by_transport, tls_files.load()
    if tls and not given:
        raise UsageError("--cacert: our own services have theirs", "add --rest, --grpc, --socket")
    read = read_scenario(scenario).model_copy(update={"blocks": 1})
    options = make_target_options(
        "external" if given else choose_target(read), given, tls, has_variants=bool(read.variants)
    )
    if options.kind == "kubernetes":
        raise UsageError("variants in a cluster are verified by the run that deploys them", "use `wirebench run`")
    plan = plan_for_target(read, options, seed)
    services = [service for service in plan.services if not given or service.transport in given]
    if unused := given.keys() - {service.transport for service in services}:
        flags = ", ".join(f"--{name}" for name in sorted(unused))
        raise UsageError(f"{flags}: {scenario} has no such service", "remove it, or name a scenario that has it")
    with tempfile.TemporaryDirectory(prefix="wirebench-") as folder, handle_interrupts(STOPPING):
        (Path(folder) / "logs").mkdir()
        target = options.make_target(plan.scenario, "", Path(folder))
        try:
            check_variants(plan.scenario)
            target.prepare(services)
            outcome = _verify(plan, target.start(services), Path(folder))
        finally:
            target.stop()
            target.clean_up()
    if not outcome.passed:
        raise WirebenchError(
            f"{len(outcome.mismatches)} of {outcome.requests} requests were answered differently",
            f"repeat them with --seed {seed}",
            "\n".join(outcome.mismatches),
        )
    names = ", ".join(service.variant or str(service) for service in services)
    sys.stdout.write(f"{outcome.requests} requests were answered alike by {names}\n")


def _verify(plan: Plan, endpoints: Mapping[ServiceSpec, Endpoint], folder: Path) -> Conformance:
    if not plan.scenario.variants:
        return check_services(tuple(endpoints.values()), plan.seed)
    variants = Variants(plan.scenario, folder, folder, LoadSource())
    first_ids = defaultdict[object, int](itertools.count(CREATED_FIRST_ID, VERIFIED_IDS).__next__)
    return variants.compare(variants.send(plan.cells, endpoints, plan.seed, first_ids))
