"""The services of the built-in application: every start is an upgrade of our chart (`charts/wirebench/values.yaml`)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from wirebench.model.cell import ServiceSpec
from wirebench.model.contract import TRANSPORTS, Transport
from wirebench.system.ports import LOOPBACK
from wirebench.system.tls import ClientTls
from wirebench.targets.cluster.agents import Agents
from wirebench.targets.cluster.client import Cluster
from wirebench.targets.cluster.nodes import Nodes
from wirebench.targets.cluster.pods import Pod, PodGroup
from wirebench.targets.endpoint import Endpoint, Replica

#: The release of the services, which begins the names of their objects.
SERVICES = "wirebench"
_PORTS = {"rest": 5000, "grpc": 50051, "socket": 9000}
#: How far above them their admin ports are.
_ADMIN = 1000
#: The label that identifies the pods of one upgrade; a change replaces the pods.
UPGRADE_LABEL = "wirebench.dev/upgrade"

#: Of a run that speaks TLS: what services show, and what load pods need, which find it in the folder.
_SERVER_SECRET = "wirebench-server-tls"  # noqa: S105 - a name
CLIENT_SECRET = "wirebench-client-tls"  # noqa: S105
CLIENT_AUTHORITY = Path("/etc/wirebench-tls/ca.crt")

Values = dict[str, Any]


class BuiltinServices:
    """Deploys services, at most one a transport at a time, each time in new pods."""

    are_fresh = True
    notes: tuple[str, ...] = ()

    def __init__(self, cluster: Cluster) -> None:
        """Take the run's namespace."""
        self._cluster = cluster
        self._node_selector: Mapping[str, str] = {}
        self._upgrades = itertools.count(1)
        self._running: dict[Transport, tuple[Pod, ...]] = {}
        self._speaks_tls = False

    def prepare(self, services: Sequence[ServiceSpec], nodes: Nodes) -> None:
        """Take the services that will be started, and the nodes for them."""
        self._node_selector = nodes.selector("server")
        self._speaks_tls = any(service.tls != "none" for service in services)

    def create_secrets(self) -> None:
        """Create a certificate for all services, and its authority for their clients. Raises WirebenchError."""
        if not self._speaks_tls:
            return
        # Imported late: load pods, which import targets too, have no cryptography.
        from wirebench.targets.certificates import issue

        issued = issue(list_server_names(self._cluster.namespace))
        self._cluster.create_secret(_SERVER_SECRET, issued, "kubernetes.io/tls")
        self._cluster.create_secret(CLIENT_SECRET, {CLIENT_AUTHORITY.name: issued["ca.crt"]})

    def start(self, services: Sequence[ServiceSpec], agents: Callable[[], Agents]) -> Mapping[ServiceSpec, Endpoint]:
        """Deploy the services in place of those before, and wait until they are ready. Raises WirebenchError."""
        upgrade = str(next(self._upgrades))
        own = {service.transport: service for service in services if service.placement != "same-pod"}
        if own or self._running:
            self._cluster.upgrade(SERVICES, build_services_values(own, upgrade, self._node_selector))
        for transport in self._running.keys() - own.keys():
            find_pods(self._cluster, transport).wait_gone()
        self._running = {
            transport: find_pods(self._cluster, transport).wait_ready("`kubectl describe pod` says more")
            for transport in own
        }
        return {
            service: build_endpoint_beside_load(service, agents())
            if service.placement == "same-pod"
            else build_endpoint(service, self._running[service.transport], self._cluster.namespace, agents())
            for service in services
        }

    def check(self) -> None:
        for transport, pods in self._running.items():
            find_pods(self._cluster, transport).check(pods)


def find_pods(cluster: Cluster, component: str) -> PodGroup:
    """Return the pods of a component of our chart, such as a transport."""
    labels = {"app.kubernetes.io/instance": SERVICES, "app.kubernetes.io/component": component}
    return PodGroup(cluster, labels)


def list_server_names(namespace: str) -> list[str]:
    """Return all names by which load pods reach services: of Services, of pods, and of one in the same pod."""
    names = [f"{SERVICES}-{transport}{kind}" for transport in TRANSPORTS for kind in ("", "-headless")]
    return [*names, *(f"{name}.{namespace}.svc" for name in names), f"*.{namespace}.pod", LOOPBACK, "localhost"]


def build_endpoint(service: ServiceSpec, pods: Sequence[Pod], namespace: str, agents: Agents) -> Endpoint:
    """Return the endpoint that a service's pods are, with what agents can read of them."""
    port, name = _PORTS[service.transport], f"{SERVICES}-{service.transport}"
    replicas = []
    for pod in pods:
        containers = agents.find_containers(pod, service.transport)
        replicas.append(Replica(pod.name, f"http://{pod.find_host()}:{port + _ADMIN}", containers=containers))
    return Endpoint(
        service,
        f"{name}:{port}",
        tuple(replicas),
        headless_address=f"{name}-headless:{port}",
        addresses=tuple(f"{pod.find_host(namespace if service.tls != 'none' else None)}:{port}" for pod in pods),
        usage_problem=agents.problem,
        **_describe_client_tls(service),
    )


def build_endpoint_beside_load(service: ServiceSpec, agents: Agents) -> Endpoint:
    """Return the endpoint of a service in the pod of its load, which finds the service's container itself."""
    port = _PORTS[service.transport]
    return Endpoint(
        service,
        f"{LOOPBACK}:{port}",
        (Replica("same-pod", f"http://{LOOPBACK}:{port + _ADMIN}"),),
        agents=agents.urls,
        usage_problem=agents.problem,
        **_describe_client_tls(service),
    )


def _describe_client_tls(service: ServiceSpec) -> dict[str, Any]:
    """Return what load pods speak TLS with: the file of the Secret that is mounted there."""
    if service.tls == "none":
        return {}
    return {"tls": ClientTls(CLIENT_AUTHORITY), "load_values": {"tlsSecret": CLIENT_SECRET}}


def build_service_values(service: ServiceSpec) -> Values:
    """Return the values of one service; what isn't set is what the chart has."""
    values: Values = {
        "enabled": service.placement != "same-pod",
        "implementation": service.implementation,
        "replicas": service.replicas,
        "workers": service.workers,
        "store": service.store,
        "resources": {"cpu": f"{service.cpu_limit_millicores}m"},
    }
    if service.implementation == "python":
        values["runtime"] = service.runtime
    if service.threads is not None:
        values["threads"] = service.threads
    if service.transport == "grpc":
        # Connections are opened again only where the scenario says so.
        values["maxConnectionAgeSeconds"] = 0
    if service.tls != "none":
        values["tlsSecret"] = _SERVER_SECRET
    return values


def build_services_values(
    services: Mapping[Transport, ServiceSpec], upgrade: str, node_selector: Mapping[str, str]
) -> Values:
    """Return the values of the release of the services, given by transport: those alone run, in pods that are new."""
    return {
        "common": {
            "podLabels": {UPGRADE_LABEL: upgrade},
            "nodeSelector": dict(node_selector),
            # No requests are sent while they are replaced.
            "preStopSleepSeconds": 0,
            "rollingUpdate": {"maxSurge": 0, "maxUnavailable": "100%"},
        },
        **{
            transport: build_service_values(services[transport]) if transport in services else {"enabled": False}
            for transport in TRANSPORTS
        },
    }


def build_load_values(service: ServiceSpec | None, load: Mapping[str, object]) -> Values:
    """Return the chart's values for a load; a service in the same pod gets those that it needs."""
    off: Values = {transport: {"enabled": False} for transport in TRANSPORTS}
    beside: Values = (
        {service.transport: build_service_values(service)} if service and service.placement == "same-pod" else {}
    )
    return {**off, **beside, "load": {"enabled": True, "target": SERVICES, **load}}
