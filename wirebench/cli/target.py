"""Where services run, from the options of `run`, `resume` and `verify`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast, get_args

from wirebench.cli.options import Cluster, read_environment_address
from wirebench.errors import UsageError
from wirebench.model.contract import TRANSPORTS, TargetName
from wirebench.run.target_options import TargetOptions
from wirebench.system.tls import ClientTls
from wirebench.targets.external import ExternalTarget


def make_target_options(  # noqa: PLR0913 - of options
    target: str,
    addresses: Mapping[str, str],
    tls: ClientTls | None = None,
    cluster: Cluster | None = None,
    *,
    has_variants: bool = False,
    prometheus: str | None = None,
) -> TargetOptions:
    """Return where services run; environment variables give the addresses of an external target without an option.

    Raises UsageError for options that don't go together.
    """
    if has_variants and (addresses or tls):
        raise UsageError(
            "--rest, --grpc, --socket and --cacert: the application file has the variants' addresses",
            "write address and tls there",
        )
    kind = _check_target(target, addresses)
    if tls and kind != "external":
        raise UsageError("--cacert: other targets make their own", "add --target external")
    cluster = cluster or Cluster()
    if kind != "kubernetes" and cluster != Cluster():
        raise UsageError("--context, --kubeconfig and --values are for clusters", "add --target kubernetes")
    if kind == "kubernetes" and prometheus:
        raise UsageError(
            "--prometheus: load pods push live metrics to the Prometheus of their cluster, if it has ours",
            "remove the option; make deploy installs that Prometheus",
        )
    external = None
    if kind == "external" and not has_variants:
        external = ExternalTarget(_add_environment(addresses), tls)
    return TargetOptions(kind, external, cluster.context, cluster.kubeconfig, cluster.values or (), prometheus)


def _check_target(name: str, addresses: Mapping[str, str]) -> TargetName:
    if name not in get_args(TargetName):
        raise UsageError(f"--target: no target {name!r}", "local, kubernetes or external")
    if name != "external" and addresses:
        flags = ", ".join(f"--{transport}" for transport in addresses)
        raise UsageError(f"{flags}: the {name} target starts its services itself", "add --target external")
    return cast("TargetName", name)


def _add_environment(addresses: Mapping[str, str]) -> dict[str, str]:
    found = {each: addresses.get(each) or read_environment_address(each) for each in TRANSPORTS}
    known: dict[str, str] = {transport: address for transport, address in found.items() if address}
    if not known:
        hint = "add --rest URL, --grpc ADDR, --socket ADDR, or set WIREBENCH_REST, WIREBENCH_GRPC, WIREBENCH_SOCKET"
        raise UsageError("--target external: no address is given", hint)
    return known
