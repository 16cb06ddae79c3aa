"""Where a scenario is measured, and its plan for that place."""

from __future__ import annotations

import itertools
import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from wirebench.drivers import DRIVERS
from wirebench.errors import UsageError
from wirebench.model.contract import SEED_MAX, TargetName
from wirebench.model.scenario import EVERY_TRANSPORT, Scenario
from wirebench.plan.plan import Plan, make_plan
from wirebench.run.live_metrics import parse_base_url
from wirebench.run.own_variants import find_variables
from wirebench.targets.cluster.client import find_access
from wirebench.targets.cores import divide_cores
from wirebench.targets.deployed import DeployedTarget
from wirebench.targets.external import ExternalTarget
from wirebench.targets.kubernetes import KubernetesTarget
from wirebench.targets.local import LocalTarget
from wirebench.targets.target import Target


@dataclass(frozen=True, slots=True)
class TargetOptions:
    """Where services run, and how to reach them. Those of variants are in their application file."""

    kind: TargetName = "local"
    #: The built-in application's services, for the target `external`.
    external: ExternalTarget | None = None
    #: The cluster, for the target `kubernetes`; by default that of `make cluster-up`.
    context: str | None = None
    #: Values files of charts/wirebench.
    values: Sequence[Path] = ()
    #: The URL of the Prometheus that gets live metrics; load pods push to that of their cluster by themselves.
    prometheus: str | None = None
    #: A service that is deployed in the cluster, to be loaded as it is; None to start services of the run's own.
    deployed: DeployedTarget | None = None

    def make_target(self, scenario: Scenario, run_id: str, out: Path) -> Target:
        """Return the target of a run, whose folder is in `out`. Raises UsageError."""
        target: Target
        if self.kind == "local":
            logs = out / run_id / "logs"
            target = LocalTarget(divide_cores(), lambda service: logs / f"{service}.log", scenario.application)
        elif self.kind == "external" and scenario.variants:
            target = ExternalTarget.of_variants(scenario.application, scenario.variants)
        elif self.kind == "external":
            target = self.external or ExternalTarget({})
        elif self.deployed:
            target = self.deployed
        else:
            # Variables that only commands need are left out: commands are for the target local.
            named = {name for name, field in find_variables(scenario) if field[2] != "environment"}
            access = find_access(self.context, self.values)
            target = KubernetesTarget(run_id, access, scenario, named)
        if self.prometheus:
            target.prometheus = parse_base_url(self.prometheus, "Prometheus")
        return target


def choose_target(scenario: Scenario, *, has_addresses: bool = False) -> TargetName:
    """Return a target that all variants of a scenario have; for the built-in application, `local` without addresses."""
    variants = scenario.variants.values()
    if has_addresses:
        return "external"
    if variants and not all(each.start for each in variants):
        if all(each.address for each in variants):
            return "external"
        if all(each.kubernetes for each in variants):
            return "kubernetes"
    return "local"


def plan_for_target(
    scenario: Scenario, target: TargetOptions, seed: int | None = None, installed: Collection[str] | None = None
) -> Plan:
    """Return the plan of a scenario on a target, by default with a random seed. Raises UsageError.

    Cross-checks by drivers that aren't `installed` are skipped; by default, that is looked up.
    """
    if target.external and not scenario.variants:
        scenario = set_tls_levels(scenario, target.external)
    seed = random.SystemRandom().randrange(SEED_MAX) if seed is None else seed
    checking = set(itertools.chain(*scenario.cross_check.driver.values())) if scenario.cross_check else set()
    if target.kind == "kubernetes":
        installed = checking  # load pods have them
    elif installed is None:
        installed = {name for name in checking if DRIVERS[name].read_version()}
    return make_plan(scenario, seed, target.kind, checking.difference(installed))


def set_tls_levels(scenario: Scenario, target: ExternalTarget) -> Scenario:
    """Return a scenario whose factor `tls` has the levels that the addresses of an external target name.

    Raises UsageError if the scenario contradicts them.
    """
    asked = scenario.factors.transport
    found = {transport: (level,) for transport, level in target.tls_levels.items() if transport in asked}
    for transport, levels in scenario.factors.tls.items():
        for owner in found if transport == EVERY_TRANSPORT else (transport,):
            if owner in found and levels != found[owner]:
                where = scenario.source.locate(("factors", "tls"))
                raise UsageError(
                    f"{where}: the address of {owner} has the level {found[owner][0]}",
                    "remove the factor: the addresses of an external target decide (https:// or tls://)",
                )
    factors = scenario.factors.model_copy(update={"tls": found})
    return scenario.model_copy(update={"factors": factors})
