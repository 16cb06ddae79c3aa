"""Pods: whether they are ready, and if they can't be, why."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from wirebench.errors import WirebenchError
from wirebench.targets.cluster.client import Cluster

_READY_TIMEOUT_S = 180.0
_GONE_TIMEOUT_S = 60.0
_POLL_S = 0.4
_LOG_LINES = 12
_EVENTS = 6
_TERMINATED = ("Succeeded", "Failed")
#: A pod may wait this long for a node: another one that is ending may still have the room.
_UNSCHEDULABLE_S = 40.0
#: What a container waits for that doesn't come by waiting.
_HOPELESS = frozenset(
    {"ErrImageNeverPull", "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "CreateContainerConfigError"}
)
_ROOM_HINT = "lower replicas or limits, make room (helm uninstall removes what is deployed), or use larger nodes"
_LOG_HINT = "its events and last log lines are above"
_NEAR_HINT = (
    "factors.placement: cross-node needs a node without the service's pods, same-node one that load may use; "
    "choose the other one, or bind the service's pods to nodes"
)
_IMAGE_HINT = "is the image in the cluster? make cluster-up builds and loads it"
_MEMORY_HINT = (
    "use fewer connections or workers, the driver wireload, which needs less, or more resources.memory by --values FILE"
)

#: What is wrong, and what to do about it; both empty if nothing is.
Problem = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Pod:
    """What of a pod matters here."""

    name: str
    address: str
    phase: str
    ready: bool
    ending: bool
    #: Why it will not become ready; and why a container of it was started again.
    problem: Problem
    restart: Problem
    uid: str = ""
    node: str = ""
    #: The ids of its running containers, by name; those that started before the others and still run are among them.
    containers: Mapping[str, str] = field(default_factory=dict)
    #: The ports of its containers that have names, by name.
    ports: Mapping[str, int] = field(default_factory=dict)

    @property
    def serves(self) -> bool:
        return self.ready and not self.ending

    def find_host(self, named_in: str | None = None) -> str:
        """Return where it is reached: at its IP address, or by its name in a namespace.

        A certificate can hold such names: it can't know addresses that are yet to be.
        https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#pods
        """
        if named_in:
            return f"{re.sub('[.:]', '-', self.address)}.{named_in}.pod"
        return f"[{self.address}]" if ":" in self.address else self.address

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Pod:
        metadata, status, spec = data["metadata"], data["status"], data["spec"]
        conditions = {each["type"]: each for each in status.get("conditions", ())}
        statuses = (*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ()))
        restarted = [each for each in status.get("containerStatuses", ()) if each.get("restartCount")]
        return cls(
            name=metadata["name"],
            address=status.get("podIP", ""),
            phase=status.get("phase", "Unknown"),
            ready=conditions.get("Ready", {}).get("status") == "True",
            ending="deletionTimestamp" in metadata,
            problem=_find_problem(status, statuses, conditions.get("PodScheduled", {})),
            restart=_describe_end(restarted[0]) if restarted else ("", ""),
            uid=metadata.get("uid", ""),
            node=spec.get("nodeName", ""),
            containers={
                each["name"]: each["containerID"].rpartition("//")[2]  # containerd://ID
                for each in statuses
                if "running" in each["state"]
            },
            ports={
                port["name"]: port["containerPort"]
                for each in (*spec.get("initContainers", ()), *spec.get("containers", ()))
                for port in each.get("ports", ())
                if "name" in port
            },
        )


@dataclass(frozen=True, slots=True)
class PodGroup:
    """The pods of a namespace that carry these labels."""

    cluster: Cluster
    labels: Mapping[str, str]
    #: What kinds of workloads they may belong to: users may have no right to read others.
    workloads: str = "deployments"

    @property
    def selector(self) -> str:
        return ",".join(f"{name}={value}" for name, value in self.labels.items())

    def read(self) -> tuple[Pod, ...]:
        """Return pods by name, without terminated ones such as evicted pods. Raises WirebenchError."""
        pods = map(Pod.read, self.cluster.get("pods", self.selector))
        return tuple(sorted((pod for pod in pods if pod.phase not in _TERMINATED), key=lambda pod: pod.name))

    def wait_ready(self, hint: str, timeout_s: float = _READY_TIMEOUT_S) -> tuple[Pod, ...]:
        """Wait until all pods are ready and the rollouts of their workloads are complete; return them by name.

        Raises WirebenchError with events and last log lines if one can't become ready, or takes too long.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            # Read before the pods, which are then those that were rolled out.
            is_complete = all(map(is_rolled_out, self._read_workloads()))
            pods = self.read()
            fail_if_hopeless(self.cluster, pods)
            if is_complete and pods and all(pod.serves for pod in pods):
                return pods
            if time.monotonic() > deadline:
                late = next((pod for pod in pods if not pod.serves), None)
                raise WirebenchError(
                    f"{late.name if late else self.selector} was not ready after {timeout_s:.0f} s",
                    f"{_LOG_HINT}; {hint}",
                    explain(self.cluster, late) if late else "\n".join(read_warnings(self.cluster)),
                )
            time.sleep(_POLL_S)

    def _read_workloads(self) -> list[dict[str, Any]]:
        found = self.cluster.get(self.workloads)
        return [
            each
            for each in found
            if self.labels.items() <= each["spec"]["template"]["metadata"].get("labels", {}).items()
        ]

    def wait_gone(self) -> None:
        deadline = time.monotonic() + _GONE_TIMEOUT_S
        while left := [each["metadata"]["name"] for each in self.cluster.get("pods", self.selector)]:
            if time.monotonic() > deadline:
                what = f"{', '.join(left)}: still there after {_GONE_TIMEOUT_S:.0f} s"
                raise WirebenchError(what, "check that its node works")
            time.sleep(_POLL_S)

    def check(self, before: Sequence[Pod]) -> None:
        """Raise WirebenchError, with its last lines, if one of these pods has gone, failed or restarted since then."""
        now = {pod.name: pod for pod in self.read()}
        fail_if_hopeless(self.cluster, tuple(now.values()))
        for pod in before:
            if pod.name not in now:
                hint = "was it evicted, or its workload scaled? check kubectl get events"
                raise WirebenchError(f"the pod {pod.name} has gone", hint)
            if now[pod.name].containers != pod.containers:
                why, hint = now[pod.name].restart
                message = f"the pod {pod.name} has restarted{why and f': {why}'}"
                raise WirebenchError(message, hint or _LOG_HINT, explain(self.cluster, pod))


def is_rolled_out(workload: Mapping[str, Any]) -> bool:
    """Return whether the controller has seen the last change, and all pods are of that and ready."""
    status = workload["status"]
    wanted = workload["spec"].get("replicas")
    counts: tuple[str, ...] = ("replicas", "updatedReplicas", "readyReplicas")
    if workload.get("kind") == "DaemonSet":
        wanted, counts = status.get("desiredNumberScheduled"), ("updatedNumberScheduled", "numberReady")
    is_seen = status.get("observedGeneration") == workload["metadata"]["generation"]
    return is_seen and all(status.get(count, 0) == wanted for count in counts)


def fail_if_hopeless(cluster: Cluster, pods: Sequence[Pod]) -> None:
    """Raise WirebenchError, with events and last log lines, if one of the pods will not become ready."""
    for pod in pods:
        why, hint = pod.problem
        if why and not pod.ending:
            raise WirebenchError(f"the pod {pod.name}: {why}", hint, explain(cluster, pod))


def explain(cluster: Cluster, pod: Pod) -> str:
    """Return the events and the last log lines of a pod, of containers before their restart too."""
    events = _read_events(cluster, pod.name)[-_EVENTS:]
    lines = [f"event {each.get('reason', '')}: {each.get('message', '')}" for each in events]
    spec = (cluster.find("pod", pod.name) or {}).get("spec", {})
    for container in (*spec.get("initContainers", ()), *spec.get("containers", ())):
        for previous in ("true", "false"):
            flags = (f"--tail={_LOG_LINES}", f"--previous={previous}")
            try:
                text = cluster.read_logs(pod.name, container["name"], *flags)
            except WirebenchError:
                continue  # it has not started, or not before
            lines += [f"{container['name']}: {line}" for line in text.splitlines()]
    return "\n".join(lines)


def read_warnings(cluster: Cluster, about: str = "") -> list[str]:
    """Return the last warnings about objects whose name has this text, the newest last."""
    events = [each for each in _read_events(cluster, about) if each["type"] == "Warning"]
    return [each.get("message", "") for each in events[-_EVENTS:]]


def _read_events(cluster: Cluster, about: str) -> list[dict[str, Any]]:
    events = (each for each in cluster.get("events") if about in each["involvedObject"].get("name", ""))
    return sorted(events, key=lambda each: each.get("lastTimestamp") or each.get("eventTime") or "")


def _find_problem(
    status: Mapping[str, Any], containers: Sequence[Mapping[str, Any]], scheduled: Mapping[str, Any]
) -> Problem:
    if status.get("phase") == "Failed":
        failed = [each for each in containers if each["state"].get("terminated", {}).get("exitCode")]
        why, hint = _describe_end(failed[0]) if failed else ("no reason is given", _LOG_HINT)
        if status.get("reason"):
            why, hint = f"{status['reason']}: {status.get('message', '')}", _LOG_HINT
        return f"failed: {why}", hint
    for container in containers:
        waiting = container["state"].get("waiting", {})
        if waiting.get("reason") in _HOPELESS:
            return f"{waiting['reason']}: {waiting.get('message', container['image'])}", _IMAGE_HINT
        if waiting.get("reason") == "CrashLoopBackOff":
            why, hint = _describe_end(container)
            return f"it starts and ends again: {why}", hint
    if scheduled.get("reason") == "Unschedulable":
        since_unix_s = datetime.fromisoformat(scheduled["lastTransitionTime"]).timestamp()
        message = scheduled.get("message", "")
        lacks_room = "Insufficient" in message or "affinity" not in message
        if time.time() - since_unix_s > _UNSCHEDULABLE_S:
            return f"no node takes it: {message}", _ROOM_HINT if lacks_room else _NEAR_HINT
    return "", ""


def _describe_end(container: Mapping[str, Any]) -> Problem:
    """Return why a container has ended, or had before it was started again, and what to do about it."""
    ended = container["state"].get("terminated") or container.get("lastState", {}).get("terminated", {})
    if ended.get("reason") == "OOMKilled":
        return f"the container {container['name']} was OOMKilled: it met its memory limit", _MEMORY_HINT
    return f"the container {container['name']} ended with status {ended.get('exitCode', 'unknown')}", _LOG_HINT
