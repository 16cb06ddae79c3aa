"""The Kubernetes target: every cell is an upgrade of our chart, and load comes from pods."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from wirebench.errors import WirebenchError
from wirebench.scenario import ServiceSpec
from wirebench.scenario.contract import Disruption, Transport
from wirebench.targets.cores import Cores
from wirebench.targets.kubernetes import namespace, nodes, values
from wirebench.targets.kubernetes.agents import Agents, wait_for_agents
from wirebench.targets.kubernetes.endpoints import endpoint, endpoint_beside_load, selector
from wirebench.targets.kubernetes.helm import Helm
from wirebench.targets.kubernetes.kubectl import Access, Kubectl, require_tools
from wirebench.targets.kubernetes.load import KubernetesLoadPods
from wirebench.targets.kubernetes.pods import died, wait_gone, wait_ready
from wirebench.targets.target import Description, Disrupted, Endpoint, LoadPods


class KubernetesTarget:
    """Deploys services, load and agents into namespaces that a run has to itself."""

    name = "kubernetes"
    restarts_services = True
    runs_all_services = False
    cores: Cores | None = None

    def __init__(self, run: str, access: Access, values_files: Sequence[Path]) -> None:
        """Take the run's name, who may enter which cluster, and values that come before those of a cell."""
        self._run = run
        self._kubectl = Kubectl(access, namespace.name_for(run))
        self._helm = Helm(access, self._kubectl.namespace, tuple(values_files))
        self._agents_kubectl = Kubectl(access, namespace.agents_name_for(run))
        self._agents_helm = Helm(access, self._agents_kubectl.namespace, tuple(values_files))
        #: Not known until they were waited for.
        self._agents: Agents | None = None
        self._nodes = nodes.Nodes(())
        self._upgrades = itertools.count(1)
        self._services: Mapping[Transport, ServiceSpec] = {}
        #: The upgrade that brought the database that is there.
        self._database: str | None = None
        self._is_there = False
        self._has_agents = False
        self._speaks_tls = False
        self.load_pods: LoadPods | None = KubernetesLoadPods(self._kubectl, self._helm, {})

    def prepare(self, services: Sequence[ServiceSpec]) -> None:
        """See that the cluster can be reached, and that no other run is measuring there. Raises WirebenchError."""
        require_tools()
        self._kubectl.check()
        namespace.refuse_others(self._kubectl)
        namespace.refuse_loads(self._kubectl)
        self._nodes = nodes.read(self._kubectl)
        most = max(_cpu_millicores(service) for service in services)
        self._nodes.check_room(most)
        self._speaks_tls = any(service.tls != "none" for service in services)
        self.load_pods = KubernetesLoadPods(
            self._kubectl,
            self._helm,
            self._nodes.selector("load"),
            one_machine=self._nodes.are_one_machine,
            tls_secret=values.CLIENT_SECRET if self._speaks_tls else "",
        )

    def describe(self) -> Description:
        """Say what the cluster is."""
        return self._nodes.describe(self._kubectl.server_version())

    def start(self, services: Sequence[ServiceSpec]) -> Mapping[ServiceSpec, Endpoint]:
        """Deploy services, at most one a transport, in new pods, and wait until they are ready.

        Raises WirebenchError.
        """
        if not self._is_there:
            self._is_there = True  # also if it comes only half-way
            namespace.create(self._kubectl, self._run, "restricted")
            self._install_agents()
            if self._speaks_tls:
                self._create_secrets()
        upgrade = str(next(self._upgrades))
        own = {service.transport: service for service in services if not service.beside_load}
        before, self._database = self._database, None
        if any(service.store == "postgres" for service in services):
            self._database = upgrade
        if own or self._services or before or self._database:
            self._deploy(own, upgrade)
        for transport in self._services.keys() - own.keys():
            wait_gone(self._kubectl, selector(transport))
        self._services = own
        return {service: self._endpoint(service, upgrade) for service in services}

    def check(self) -> None:
        """Raise WirebenchError, with its last log lines, if a service has died."""
        for transport in self._services:
            died(self._kubectl, selector(transport))

    def disrupt(self, service: ServiceSpec, how: Disruption) -> Disrupted:
        """Restart all replicas by an upgrade, or kill one of them; return when all are ready again.

        Raises WirebenchError.
        """
        transport, start_ns = service.transport, time.time_ns()
        if how == "rolling-restart":
            upgrade = str(next(self._upgrades))
            self._deploy(self._services, upgrade)
        else:
            (victim, *_) = self._kubectl.get("pods", selector(transport))
            upgrade = victim["metadata"]["labels"][values.UPGRADE_LABEL]
            self._kubectl.kill_pod(victim["metadata"]["name"])
        wait_ready(self._kubectl, selector(transport), f"{values.UPGRADE_LABEL}={upgrade}", service.replicas)
        return Disrupted(start_ns, time.time_ns())

    def stop(self) -> None:
        """Leave the services for the next upgrade to replace: nobody sends them anything."""

    def clean_up(self) -> None:
        """Remove the namespace and all that is in it. Raises WirebenchError."""
        if self._is_there:
            self._is_there = False
            namespace.remove(self._kubectl, *([self._agents_kubectl] if self._has_agents else []))

    def _install_agents(self) -> None:
        """Install what reads CPU time and memory; without it, a run has neither, and says why."""
        try:
            namespace.create(self._agents_kubectl, self._run, "privileged")
            self._has_agents = True
            self._agents_helm.upgrade(values.AGENTS, values.of_agents())
        except WirebenchError as error:
            self._agents = Agents(problem=f"no agents could be installed: {error.message}")

    def _wait_for_agents(self) -> Agents:
        if self._agents is None:
            self._agents = wait_for_agents(self._agents_kubectl)
        return self._agents

    def _create_secrets(self) -> None:
        # Imported late: load pods, which import targets too, have no cryptography.
        from wirebench.targets.kubernetes import secrets  # noqa: PLC0415

        secrets.create(self._kubectl)

    def _deploy(self, services: Mapping[Transport, ServiceSpec], upgrade: str) -> None:
        node_selector = self._nodes.selector("server")
        self._helm.upgrade(values.SERVICES, values.of_services(services, upgrade, node_selector, self._database))

    def _endpoint(self, service: ServiceSpec, upgrade: str) -> Endpoint:
        agents = self._wait_for_agents()
        if service.beside_load:
            return endpoint_beside_load(service, agents)
        own = f"{values.UPGRADE_LABEL}={upgrade}"
        pods = wait_ready(self._kubectl, selector(service.transport), own, service.replicas)
        return endpoint(service, pods, self._kubectl.namespace, agents)


def _cpu_millicores(service: ServiceSpec) -> int:
    """Return what a service's pods may use, with the database's where it has one."""
    database = values.POSTGRES_CPU_MILLICORES if service.store == "postgres" else 0
    return (service.cpu_limit_millicores or 0) * service.replicas + database
