"""The Kubernetes target: services and load as pods, by our chart, in namespaces that a run has to itself."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from wirebench.errors import WirebenchError
from wirebench.model.cell import ServiceSpec
from wirebench.model.scenario import Scenario
from wirebench.targets.cluster import namespace
from wirebench.targets.cluster.agents import RELEASE, Agents, build_agent_values, wait_for_agents
from wirebench.targets.cluster.client import Access, Cluster
from wirebench.targets.cluster.load_pods import LoadPods
from wirebench.targets.cluster.nodes import Nodes, read_nodes
from wirebench.targets.cluster.release import BuiltinServices
from wirebench.targets.cluster.variants import VariantServices
from wirebench.targets.deployed import find_prometheus
from wirebench.targets.endpoint import Description, Endpoint
from wirebench.targets.target import Target


class KubernetesTarget(Target):
    """Runs services, load and agents in namespaces that a run has to itself.

    Services stay, without requests, until the next start replaces them.
    """

    name = "kubernetes"
    runs_all_services = False
    load_pods: LoadPods

    def __init__(
        self, run: str, access: Access, scenario: Scenario | None = None, variables: Collection[str] = ()
    ) -> None:
        """Take the run's name, access to the cluster, and what is measured.

        `variables` are the environment variables that requests name. Without a scenario, only load pods are started.
        """
        self._run = run
        self._cluster = Cluster(access, namespace.name_namespace(run))
        self._services: BuiltinServices | VariantServices = BuiltinServices(self._cluster)
        if scenario and scenario.variants:
            self._services = VariantServices(self._cluster, scenario.application, tuple(scenario.variants), variables)
        self.restarts_services = self._services.are_fresh
        self._agents_cluster = Cluster(access, namespace.name_namespace(run, namespace.OF_AGENTS))
        #: Not known until they were waited for.
        self._agents: Agents | None = None
        self._nodes = Nodes(())
        self._is_there = False
        self._has_agents = False
        self.load_pods = LoadPods(self._cluster)

    def prepare(self, services: Sequence[ServiceSpec]) -> None:
        """See that the cluster can be reached, and that no other run is measuring there. Raises WirebenchError."""
        self._cluster.check()
        namespace.check_no_other_run(self._cluster)
        namespace.check_no_load(self._cluster)
        self._nodes = read_nodes(self._cluster)
        self._services.prepare(services, self._nodes)
        self.load_pods = LoadPods(self._cluster, self._nodes.selector("load"))
        self.prometheus = find_prometheus(self._cluster.access)

    def describe(self) -> Description:
        described = self._nodes.describe(self._cluster.read_server_version())
        return replace(described, notes=(*described.notes, *self._services.notes))

    def start(self, services: Sequence[ServiceSpec]) -> Mapping[ServiceSpec, Endpoint]:
        if not self._is_there:
            self._is_there = True  # also if it comes only half-way
            namespace.create(self._cluster, self._run, "restricted")
            self._services.create_secrets()
        if services and not self._has_agents and self._agents is None:
            self._install_agents()  # not before: drivers are calibrated without anything beside them
        return self._services.start(services, self._wait_for_agents)

    def check(self) -> None:
        self._services.check()

    def clean_up(self) -> None:
        if self._is_there:
            self._is_there = False
            self._cluster.delete_namespaces(self._cluster.namespace, self._agents_cluster.namespace)

    def _install_agents(self) -> None:
        """Install what reads CPU time and memory; without it, a run has neither, and says why."""
        try:
            self._has_agents = True  # also if it comes only half-way
            namespace.create(self._agents_cluster, self._run, "privileged")
            self._agents_cluster.upgrade(RELEASE, build_agent_values())
        except WirebenchError as error:
            self._agents = Agents(problem=f"no agents could be installed: {error.message}")

    def _wait_for_agents(self) -> Agents:
        if self._agents is None:
            self._agents = wait_for_agents(self._agents_cluster)
        return self._agents
