"""The agents that read what containers use: a pod of our chart on each node (`wirebench.cgroup_agent`)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from wirebench.cgroup_agent import PORT
from wirebench.targets.kubernetes import values
from wirebench.targets.kubernetes.kubectl import Kubectl
from wirebench.targets.kubernetes.pods import Pod

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
    urls = {pod.node: f"http://{_host(pod.address)}:{PORT}" for pod in pods if pod.ready and not pod.ending}
    return Agents(
        urls, "" if urls else f"no agent is ready in the namespace {kubectl.namespace}{_last_warning(kubectl)}"
    )


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


def _last_warning(kubectl: Kubectl) -> str:
    """Return what was last reported of the agents: a cluster that forbids their pods says why."""
    warnings = [each for each in kubectl.get("events") if each["type"] == "Warning"]
    ours = [each for each in warnings if "-agent" in each["involvedObject"].get("name", "")]
    ours.sort(key=lambda each: each.get("lastTimestamp") or each.get("eventTime") or "")
    return f": {ours[-1]['message']}" if ours else ""


def _host(address: str) -> str:
    return f"[{address}]" if ":" in address else address
