"""Agents: pods of our chart, one on each node, that read what containers use (`wirebench.system.cgroup_agent`)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wirebench.model.contract import TRANSPORTS
from wirebench.system.cgroup_agent import PORT
from wirebench.targets.kubernetes.cluster import Cluster
from wirebench.targets.kubernetes.pods import Pod, read_warnings
from wirebench.targets.target import Containers

#: The release of a run's agents, and the labels of all agents; those of `make deploy` are in its release.
_RELEASE = "wirebench-agents"
_LABELS = "app.kubernetes.io/name=wirebench,app.kubernetes.io/component=agent"
_READY_TIMEOUT_S = 60.0
_POLL_S = 0.5


@dataclass(frozen=True, slots=True)
class Agents:
    """The URLs of agents, by the name of their node; and if there are none, why."""

    urls: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""

    def find_containers(self, pod: Pod, name: str | None = None) -> Containers | None:
        """Return what can be read of a pod: all its containers, or one; None without an agent on its node."""
        url = self.urls.get(pod.node)
        ids = tuple(each for known, each in pod.containers.items() if name in (None, known))
        return Containers(url, pod.uid, ids) if url and ids else None


def install_agents(cluster: Cluster) -> None:
    """Install agents, and nothing else, in a namespace. Raises WirebenchError."""
    cluster.upgrade(_RELEASE, build_agent_values())


def build_agent_values() -> dict[str, Any]:
    off: dict[str, Any] = {transport: {"enabled": False} for transport in TRANSPORTS}
    return {"fullnameOverride": "wirebench", **off, "agent": {"enabled": True}}


def read_agents(cluster: Cluster) -> Agents:
    """Return the agents of a namespace that are ready. Raises WirebenchError."""
    pods = [Pod.read(each) for each in cluster.get("pods", _LABELS)]
    urls = {pod.node: f"http://{pod.find_host()}:{PORT}" for pod in pods if pod.serves}
    if urls:
        return Agents(urls)
    # A cluster that forbids their pods says why.
    warning = read_warnings(cluster, "-agent")[-1:]
    return Agents(problem=": ".join((f"no agent is ready in the namespace {cluster.namespace}", *warning)))


def wait_for_agents(cluster: Cluster) -> Agents:
    """Wait until the agents of a namespace are ready on all nodes, and return those that are.

    A cluster may forbid them: they mount a folder of their node. Raises WirebenchError.
    """
    deadline = time.monotonic() + _READY_TIMEOUT_S
    while time.monotonic() < deadline:
        (agents,) = cluster.get("daemonsets", _LABELS)
        status = agents["status"]
        if status.get("numberReady", 0) == status.get("desiredNumberScheduled", 0) > 0:
            break
        time.sleep(_POLL_S)
    return read_agents(cluster)
