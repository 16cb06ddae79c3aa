"""Agents: pods of our chart, one on each node, that read what containers use (`wirebench.system.cgroup_agent`)."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wirebench.errors import WirebenchError
from wirebench.model.contract import TRANSPORTS
from wirebench.system.cgroup_agent import PORT
from wirebench.targets.cluster.client import Cluster
from wirebench.targets.cluster.pods import Pod, PodGroup, read_warnings
from wirebench.targets.endpoint import Containers

#: The release of a run's agents, and the labels of all agents; those of `make deploy` are in its release.
RELEASE = "wirebench-agents"
_LABELS = {"app.kubernetes.io/name": "wirebench", "app.kubernetes.io/component": "agent"}
_READY_TIMEOUT_S = 60.0


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


def build_agent_values() -> dict[str, Any]:
    """Return the values of a release in which nothing else runs."""
    off: dict[str, Any] = {transport: {"enabled": False} for transport in TRANSPORTS}
    return {**off, "agent": {"enabled": True}}


def wait_for_agents(cluster: Cluster) -> Agents:
    """Wait until the agents of a namespace are ready on all nodes, and return those that are.

    A cluster may forbid them: they mount a folder of their node. Raises WirebenchError.
    """
    with contextlib.suppress(WirebenchError):
        PodGroup(cluster, _LABELS, "daemonsets").wait_ready("", _READY_TIMEOUT_S)
    return read_agents(cluster)


def read_agents(cluster: Cluster) -> Agents:
    """Return the agents of a namespace that are ready. Raises WirebenchError."""
    urls = {pod.node: f"http://{pod.find_host()}:{PORT}" for pod in PodGroup(cluster, _LABELS).read() if pod.serves}
    if urls:
        return Agents(urls)
    # A cluster that forbids their pods says why.
    warning = read_warnings(cluster, "-agent")[-1:]
    return Agents(problem=": ".join((f"no agent is ready in the namespace {cluster.namespace}", *warning)))
