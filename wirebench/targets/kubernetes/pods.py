"""Pods: whether they are ready, and if they can't be, why."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from wirebench.errors import WirebenchError
from wirebench.targets.kubernetes.kubectl import Kubectl

_INDEX = "batch.kubernetes.io/job-completion-index"
READY_TIMEOUT_S = 120.0
_GONE_TIMEOUT_S = 60.0
_POLL_S = 0.4
_LOG_LINES = 12
_EVENTS = 6
_TERMINATED = ("Succeeded", "Failed")
#: A pod may wait this long for a node: another one that is ending may still have the room.
_UNSCHEDULABLE_S = 20.0
#: What a container waits for that doesn't come by waiting.
_HOPELESS = frozenset(
    {"ErrImageNeverPull", "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "CreateContainerConfigError"}
)
_ROOM_HINT = "lower replicas or limits, make room (make undeploy removes what is deployed), or use larger nodes"
_LOG_HINT = "its events and last log lines are above"
#: Of a load pod: services are started again.
_MEMORY_HINT = "it met its memory limit: use fewer connections, or the driver wireload, which needs less"
_NEAR_HINT = (
    "factors.placement: cross-node needs a node without the service's pods, same-node one that load may use; "
    "choose the other one, or bind the service's pods to nodes"
)
_IMAGE_HINT = "is the image in the cluster? `make cluster-up` builds and loads what is missing"


@dataclass(frozen=True, slots=True)
class Pod:
    """What of a pod matters here."""

    name: str
    #: Of a pod of an Indexed Job; 0 for others.
    index: int
    address: str
    phase: str
    ready: bool
    ending: bool
    #: Why it will not become ready, and what to do about it; both empty as long as it may.
    trouble: str
    hint: str
    uid: str = ""
    node: str = ""
    #: The ids of its running containers, by name; those that started before the others and still run are among them.
    containers: Mapping[str, str] = field(default_factory=dict)
    #: The ports of its containers that have names, by name.
    ports: Mapping[str, int] = field(default_factory=dict)

    @property
    def serves(self) -> bool:
        return self.ready and not self.ending

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Pod:
        status, spec = data["status"], data["spec"]
        conditions = {each["type"]: each for each in status.get("conditions", ())}
        trouble, hint = _find_problem(status, conditions)
        return cls(
            name=data["metadata"]["name"],
            index=int(data["metadata"].get("annotations", {}).get(_INDEX, 0)),
            address=status.get("podIP", ""),
            phase=status.get("phase", "Unknown"),
            ready=conditions.get("Ready", {}).get("status") == "True",
            ending="deletionTimestamp" in data["metadata"],
            trouble=trouble,
            hint=hint,
            uid=data["metadata"].get("uid", ""),
            node=spec.get("nodeName", ""),
            containers={
                each["name"]: each["containerID"].rpartition("//")[2]  # containerd://ID
                for each in (*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ()))
                if "running" in each["state"]
            },
            ports={
                port["name"]: port["containerPort"]
                for each in (*spec.get("initContainers", ()), *spec.get("containers", ()))
                for port in each.get("ports", ())
                if "name" in port
            },
        )


def read_pods(kubectl: Kubectl, selector: str) -> tuple[Pod, ...]:
    """Return pods by name, without terminated ones such as evicted pods. Raises WirebenchError."""
    pods = map(Pod.read, kubectl.get("pods", selector))
    return tuple(sorted((pod for pod in pods if pod.phase not in _TERMINATED), key=lambda pod: pod.name))


def wait_ready(
    kubectl: Kubectl,
    selector: str,
    are_ready: Callable[[Sequence[Pod]], bool],
    hint: str,
    timeout_s: float = READY_TIMEOUT_S,
) -> tuple[Pod, ...]:
    """Wait until the pods of a selector are ready; return them by name.

    Raises WirebenchError with events and last log lines if one can't become ready, or takes too long.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        pods = read_pods(kubectl, selector)
        fail_if_hopeless(kubectl, pods)
        if are_ready(pods):
            return pods
        if time.monotonic() > deadline:
            late = next((pod for pod in pods if not pod.serves), None)
            raise WirebenchError(
                f"{late.name if late else selector} was not ready after {timeout_s:.0f} s",
                f"its events and last log lines are above; {hint}",
                explain(kubectl, late) if late else "\n".join(read_warnings(kubectl)),
            )
        time.sleep(_POLL_S)


def wait_gone(kubectl: Kubectl, selector: str) -> None:
    deadline = time.monotonic() + _GONE_TIMEOUT_S
    while left := [Pod.read(data) for data in kubectl.get("pods", selector)]:
        if time.monotonic() > deadline:
            names = ", ".join(pod.name for pod in left)
            raise WirebenchError(f"{names}: still there after {_GONE_TIMEOUT_S:.0f} s", "check that its node works")
        time.sleep(_POLL_S)


def check_none_died(kubectl: Kubectl, selector: str) -> None:
    """Raise WirebenchError, with events and last log lines, if a pod has failed, restarted, or gone."""
    found = kubectl.get("pods", selector)
    if not found:
        raise WirebenchError("the pods of a service have gone", "check who deleted them: kubectl get events")
    for data in found:
        pod = Pod.read(data)
        fail_if_hopeless(kubectl, [pod])
        for container in data["status"].get("containerStatuses", ()):
            if container["restartCount"]:
                why, hint = _describe_end(container)
                raise WirebenchError(f"the pod {pod.name} has restarted: {why}", hint, explain(kubectl, pod))


def fail_if_hopeless(kubectl: Kubectl, pods: Sequence[Pod]) -> None:
    """Raise WirebenchError, with events and last log lines, if one of the pods will not become ready."""
    for pod in pods:
        if pod.trouble and not pod.ending:
            raise WirebenchError(f"the pod {pod.name}: {pod.trouble}", pod.hint, explain(kubectl, pod))


def explain(kubectl: Kubectl, pod: Pod) -> str:
    events = _read_events(kubectl, pod.name)[-_EVENTS:]
    described = (f"event {each.get('reason', '')}: {each.get('message', '')}" for each in events)
    return "\n".join((*described, *_read_last_lines(kubectl, pod)))


def read_warnings(kubectl: Kubectl, about: str = "") -> list[str]:
    """Return the last warnings about objects whose name has this text, the newest last."""
    events = [each for each in _read_events(kubectl, about) if each["type"] == "Warning"]
    return [each.get("message", "") for each in events[-_EVENTS:]]


def _read_events(kubectl: Kubectl, about: str) -> list[dict[str, Any]]:
    events = (each for each in kubectl.get("events") if about in each["involvedObject"].get("name", ""))
    return sorted(events, key=lambda each: each.get("lastTimestamp") or each.get("eventTime") or "")


def _read_last_lines(kubectl: Kubectl, pod: Pod) -> list[str]:
    lines = []
    for container in kubectl.list_containers(pod.name):
        for previous in (True, False):
            try:
                text = kubectl.read_logs(pod.name, container, f"--tail={_LOG_LINES}", f"--previous={previous}".lower())
            except WirebenchError:
                continue  # it has not started, or not before
            lines += [f"{container}: {line}" for line in text.splitlines()]
    return lines


def _find_problem(status: Mapping[str, Any], conditions: Mapping[str, Mapping[str, Any]]) -> tuple[str, str]:
    if status.get("phase") == "Failed":
        failure = _describe_failure(status)
        return f"failed: {failure}", _MEMORY_HINT if "OOMKilled" in failure else _LOG_HINT
    for container in (*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())):
        waiting = container["state"].get("waiting", {})
        if waiting.get("reason") in _HOPELESS:
            return f"{waiting['reason']}: {waiting.get('message', container['image'])}", _IMAGE_HINT
        if waiting.get("reason") == "CrashLoopBackOff":
            why, hint = _describe_end(container)
            return f"the container {container['name']} starts and ends again: {why}", hint
    scheduled = conditions.get("PodScheduled", {})
    is_waiting = scheduled.get("reason") == "Unschedulable"
    if is_waiting and time.time() - _read_unix_s(scheduled["lastTransitionTime"]) > _UNSCHEDULABLE_S:
        message = scheduled.get("message", "")
        lacks_room = "Insufficient" in message or "affinity" not in message
        return f"no node takes it: {message}", _ROOM_HINT if lacks_room else _NEAR_HINT
    return "", ""


def _describe_end(container: Mapping[str, Any]) -> tuple[str, str]:
    """Return why a container that was started again had ended, and what to do about it."""
    ended = container.get("lastState", {}).get("terminated", {})
    if ended.get("reason") == "OOMKilled":
        return (
            "OOMKilled: it met its memory limit",
            "use fewer connections or workers, or raise resources.memory by --values FILE",
        )
    return f"it ended with status {ended.get('exitCode', 'unknown')}", "its last log lines are above"


def _describe_failure(status: Mapping[str, Any]) -> str:
    if status.get("reason"):
        return f"{status['reason']}: {status.get('message', '')}"
    for container in status.get("containerStatuses", ()):
        ended = container["state"].get("terminated", {})
        if ended.get("exitCode"):
            return f"the container {container['name']} ended with status {ended['exitCode']} ({ended.get('reason')})"
    return "no reason is given"


def _read_unix_s(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()
