"""The services of the built-in application: every start is an upgrade of our chart."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

import yaml

from wirebench.errors import UsageError
from wirebench.model.cell import ServiceSpec
from wirebench.model.contract import Transport
from wirebench.system.paths import IMAGES
from wirebench.targets.kubernetes import secrets, values
from wirebench.targets.kubernetes.endpoints import Agents, build_endpoint, build_endpoint_beside_load, build_selector
from wirebench.targets.kubernetes.helm import Helm
from wirebench.targets.kubernetes.kubectl import Kubectl
from wirebench.targets.kubernetes.nodes import Nodes
from wirebench.targets.kubernetes.pods import Pod, check_none_died, wait_gone, wait_ready
from wirebench.targets.target import Endpoint


class BuiltinServices:
    """Deploys services, at most one a transport at a time, each time in new pods."""

    are_fresh = True
    notes: tuple[str, ...] = ()

    def __init__(self, kubectl: Kubectl, helm: Helm) -> None:
        """Take the run's namespace, and helm with the values that come before those of a cell."""
        self._kubectl = kubectl
        self._helm = helm
        self._node_selector: Mapping[str, str] = {}
        self._upgrades = itertools.count(1)
        self._services: Mapping[Transport, ServiceSpec] = {}
        #: The upgrade that brought the database that is there.
        self._database: str | None = None
        self._speaks_tls = False

    def prepare(self, services: Sequence[ServiceSpec], nodes: Nodes) -> None:
        """Check that nodes have room for each of the services. Raises UsageError."""
        if any(service.store == "postgres" for service in services):
            self._check_postgres_image()
        for service in services:
            nodes.check_room(_sum_cpu_millicores(service))
        self._node_selector = nodes.selector("server")
        self._speaks_tls = any(service.tls != "none" for service in services)

    def _check_postgres_image(self) -> None:
        """Reject a database whose image `make cluster-up` hasn't built; other clusters pull theirs."""
        values_of_files = [yaml.safe_load(path.read_text()) or {} for path in self._helm.values_files]
        if IMAGES in self._helm.values_files and not any(
            "postgres" in each.get("image", {}) for each in values_of_files
        ):
            raise UsageError("factors.store: the cluster has no image of PostgreSQL", "make cluster-postgres builds it")

    def create_secrets(self) -> None:
        """Create certificates, if a service speaks TLS. Raises WirebenchError."""
        if self._speaks_tls:
            secrets.create(self._kubectl)

    def start(self, services: Sequence[ServiceSpec], agents: Callable[[], Agents]) -> Mapping[ServiceSpec, Endpoint]:
        """Deploy the services in place of those before, and wait until they are ready. Raises WirebenchError."""
        upgrade = str(next(self._upgrades))
        own = {service.transport: service for service in services if not service.beside_load}
        before, self._database = self._database, None
        if any(service.store == "postgres" for service in services):
            self._database = upgrade
        if own or self._services or before or self._database:
            self._deploy(own, upgrade)
        for transport in self._services.keys() - own.keys():
            wait_gone(self._kubectl, build_selector(transport))
        self._services = own
        return {service: self._find_endpoint(service, upgrade, agents()) for service in services}

    def check(self) -> None:
        for transport in self._services:
            check_none_died(self._kubectl, build_selector(transport))

    def _deploy(self, services: Mapping[Transport, ServiceSpec], upgrade: str) -> None:
        chart_values = values.build_services_values(services, upgrade, self._node_selector, self._database)
        self._helm.upgrade(values.SERVICES, chart_values)

    def _find_endpoint(self, service: ServiceSpec, upgrade: str, agents: Agents) -> Endpoint:
        if service.beside_load:
            return build_endpoint_beside_load(service, agents)
        pods = self._wait_ready(service, upgrade)
        return build_endpoint(service, pods, self._kubectl.namespace, agents)

    def _wait_ready(self, service: ServiceSpec, upgrade: str) -> tuple[Pod, ...]:
        """Wait until the pods of an upgrade are ready and all others have gone. Raises WirebenchError."""
        labels = f"{build_selector(service.transport)},{values.UPGRADE_LABEL}"

        def are_ready(pods: Sequence[Pod]) -> bool:
            return len(pods) == (service.replicas or 1) and all(pod.serves for pod in pods)

        pods = wait_ready(self._kubectl, f"{labels}={upgrade}", are_ready, "`kubectl describe pod` says more")
        wait_gone(self._kubectl, f"{labels}!={upgrade}")
        return pods


def _sum_cpu_millicores(service: ServiceSpec) -> int:
    """Return what a service's pods may use, with the database's where it has one."""
    database = values.POSTGRES_CPU_MILLICORES if service.store == "postgres" else 0
    return (service.cpu_limit_millicores or 0) * (service.replicas or 1) + database
