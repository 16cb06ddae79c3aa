"""Where services run, from the options of `run`, `resume`, `load` and `verify`."""

from __future__ import annotations

from wirebench.cli.options import Cluster, Services
from wirebench.errors import UsageError
from wirebench.model.contract import TargetName
from wirebench.run.target_options import TargetOptions
from wirebench.targets.external import ExternalTarget


def make_target_options(
    target: TargetName,
    services: Services | None = None,
    cluster: Cluster | None = None,
    prometheus: str | None = None,
    *,
    has_variants: bool = False,
) -> TargetOptions:
    """Return where services run. Raises UsageError for options that don't go together."""
    services, cluster = services or Services(), cluster or Cluster()
    addresses, tls = services.addresses, services.load()
    if has_variants and (addresses or tls):
        raise UsageError(
            "--rest, --grpc, --socket and --cacert: the application file has the variants' addresses",
            "write address and tls there",
        )
    if target != "external" and (addresses or tls):
        flags = ", ".join(f"--{option}" for option in addresses or ["cacert"])
        raise UsageError(f"{flags}: the {target} target starts its services itself", "add --target external")
    if target == "external" and not (addresses or has_variants):
        raise UsageError("--target external: no address is given", "add --rest URL, --grpc ADDR or --socket ADDR")
    if target != "kubernetes" and cluster != Cluster():
        raise UsageError("--context and --values are for clusters", "add --target kubernetes")
    if target == "kubernetes" and prometheus:
        raise UsageError(
            "--prometheus: load pods push live metrics to the Prometheus of their cluster, if it has ours",
            "remove the option; make deploy installs that Prometheus",
        )
    external = ExternalTarget(addresses, tls) if addresses else None
    return TargetOptions(target, external, cluster.context, cluster.values or (), prometheus)
