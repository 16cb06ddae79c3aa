"""Where services of our chart are reached, and the agents that read what containers use.

An agent (`wirebench.system.cgroup_agent`) is a pod of our chart on each node.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from wirebench.model.cell import ServiceSpec
from wirebench.model.contract import Tls, Transport
from wirebench.system.cgroup_agent import PORT
from wirebench.system.ports import LOOPBACK
from wirebench.system.tls import ClientTls
from wirebench.targets.kubernetes import values
from wirebench.targets.kubernetes.kubectl import Kubectl
from wirebench.targets.kubernetes.pods import Pod, read_warnings
from wirebench.targets.target import Containers, Endpoint, Replica

_READY_TIMEOUT_S = 60.0
_POLL_S = 0.5


@dataclass(frozen=True, slots=True)
class Agents:
    """The URLs of agents, by the name of their node; and if there are none, why."""

    urls: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""


def read_agents(kubectl: Kubectl) -> Agents:
    """Return the agents of a namespace that are ready. Raises WirebenchError."""
    pods = [Pod.read(each) for each in kubectl.get("pods", values.AGENT_LABELS)]
    urls = {pod.node: f"http://{find_host(pod)}:{PORT}" for pod in pods if pod.serves}
    if urls:
        return Agents(urls)
    # A cluster that forbids their pods says why.
    warning = read_warnings(kubectl, "-agent")[-1:]
    return Agents(problem=": ".join((f"no agent is ready in the namespace {kubectl.namespace}", *warning)))


def wait_for_agents(kubectl: Kubectl) -> Agents:
    """Wait until the agents of a namespace are ready on all nodes, and return those that are.

    A cluster may forbid them: they mount a folder of their node. Raises WirebenchError.
    """
    deadline = time.monotonic() + _READY_TIMEOUT_S
    while time.monotonic() < deadline:
        (agents,) = kubectl.get("daemonsets", values.AGENT_LABELS)
        status = agents["status"]
        if status.get("numberReady", 0) == status.get("desiredNumberScheduled", 0) > 0:
            break
        time.sleep(_POLL_S)
    return read_agents(kubectl)


def build_selector(transport: Transport) -> str:
    return f"app.kubernetes.io/instance={values.SERVICES},app.kubernetes.io/component={transport}"


def find_pod_name(address: str, namespace: str) -> str:
    """Return the DNS name that a pod has by its IP address: a certificate can't name addresses that are yet to be.

    https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#pods
    """
    return f"{re.sub('[.:]', '-', address)}.{namespace}.pod"


def locate_client_tls(tls: Tls) -> ClientTls | None:
    """Return what load pods speak TLS with: the file of the Secret that is mounted there."""
    return None if tls == "none" else ClientTls(values.CLIENT_AUTHORITY)


def build_endpoint(service: ServiceSpec, pods: Iterable[Pod], namespace: str, agents: Agents) -> Endpoint:
    """Return the endpoint that a service's pods are, with what agents can read of them."""
    port, admin_port = values.PORTS[service.transport], values.ADMIN_PORTS[service.transport]
    name = f"{values.SERVICES}-{service.transport}"
    replicas = sorted(pods, key=lambda pod: pod.name)
    return Endpoint(
        service,
        f"{name}:{port}",
        tuple(
            Replica(
                pod.name,
                f"http://{pod.address}:{admin_port}",
                containers=find_containers(pod, agents, service.transport),
            )
            for pod in replicas
        ),
        f"{name}-headless:{port}",
        tuple(f"{find_host(pod, namespace if service.tls != 'none' else None)}:{port}" for pod in replicas),
        tls=locate_client_tls(service.tls),
        usage_problem=agents.problem,
        tls_secret=_name_secret(service),
    )


def build_endpoint_beside_load(service: ServiceSpec, agents: Agents) -> Endpoint:
    """Return the endpoint of a service in the pod of its load, which finds the service's container itself."""
    port, admin_port = values.PORTS[service.transport], values.ADMIN_PORTS[service.transport]
    return Endpoint(
        service,
        f"{LOOPBACK}:{port}",
        (Replica("same-pod", f"http://{LOOPBACK}:{admin_port}"),),
        tls=locate_client_tls(service.tls),
        agents=agents.urls,
        usage_problem=agents.problem,
        tls_secret=_name_secret(service),
    )


def find_containers(pod: Pod, agents: Agents, name: str | None = None) -> Containers | None:
    """Return what can be read of a pod: all its containers, or one; None without an agent on its node."""
    url = agents.urls.get(pod.node)
    found = tuple(each for known, each in pod.containers.items() if name in (None, known))
    return Containers(url, pod.uid, found) if url and found else None


def find_host(pod: Pod, named_in: str | None = None) -> str:
    """Return where a pod is reached: at its IP address, or by a name in a namespace that a certificate can hold."""
    if named_in:
        return find_pod_name(pod.address, named_in)
    return f"[{pod.address}]" if ":" in pod.address else pod.address


def _name_secret(service: ServiceSpec) -> str:
    return values.CLIENT_SECRET if service.tls != "none" else ""
