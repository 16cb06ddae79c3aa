"""Pods: whether they are ready, and if they can't be, why."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from wirebench.errors import WirebenchError
from wirebench.targets.kubernetes.kubectl import Kubectl

_INDEX = "batch.kubernetes.io/job-completion-index"
_READY_TIMEOUT_S = 120.0
_GONE_TIMEOUT_S = 60.0
_POLL_S = 0.4
_LOG_LINES = 12
_EVENTS = 6
#: A pod may wait this long for a node: another one that is ending may still have the room.
_UNSCHEDULABLE_S = 20.0
#: What a container waits for that doesn't come by waiting.
_HOPELESS = frozenset(
    {"ErrImageNeverPull", "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "CreateContainerConfigError"}
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
    #: The ids of its running containers, by name.
    containers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Pod:
        """Read kubectl's JSON."""
        status = data["status"]
        conditions = {each["type"]: each for each in status.get("conditions", ())}
        trouble, hint = _trouble(status, conditions)
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
            node=data["spec"].get("nodeName", ""),
            containers={
                each["name"]: each["containerID"].rpartition("//")[2]  # containerd://ID
                for each in status.get("containerStatuses", ())
                if "running" in each["state"]
            },
        )


def wait_ready(kubectl: Kubectl, selector: str, own: str, replicas: int) -> tuple[Pod, ...]:
    """Wait until the pods that carry the label `own` are ready, and no others of the selector are left.

    Raises WirebenchError with events and last log lines if one can't become ready, or takes too long.
    """
    deadline = time.monotonic() + _READY_TIMEOUT_S
    while True:
        pods = [Pod.read(data) for data in kubectl.get("pods", f"{selector},{own}")]
        fail_if_hopeless(kubectl, pods)
        if len(pods) == replicas and all(pod.ready and not pod.ending for pod in pods):
            wait_gone(kubectl, f"{selector},{own.replace('=', '!=')}")
            return tuple(sorted(pods, key=lambda pod: pod.name))
        if time.monotonic() > deadline:
            late = next((pod for pod in pods if not pod.ready), None)
            raise WirebenchError(
                f"{late.name if late else selector} was not ready after {_READY_TIMEOUT_S:.0f} s",
                "its events and last log lines are above; `kubectl describe pod` says more",
                explain(kubectl, late) if late else "",
            )
        time.sleep(_POLL_S)


def wait_gone(kubectl: Kubectl, selector: str) -> None:
    """Wait until no such pods are left. Raises WirebenchError if they stay."""
    deadline = time.monotonic() + _GONE_TIMEOUT_S
    while left := [Pod.read(data) for data in kubectl.get("pods", selector)]:
        if time.monotonic() > deadline:
            names = ", ".join(pod.name for pod in left)
            raise WirebenchError(f"{names}: still there after {_GONE_TIMEOUT_S:.0f} s", "see whether its node is well")
        time.sleep(_POLL_S)


def died(kubectl: Kubectl, selector: str) -> None:
    """Raise WirebenchError, with events and last log lines, if a pod has failed, restarted, or gone."""
    found = kubectl.get("pods", selector)
    if not found:
        raise WirebenchError("the pods of a service have gone", "who has deleted them?")
    for data in found:
        pod = Pod.read(data)
        if pod.trouble:
            fail_if_hopeless(kubectl, [pod])
        for container in data["status"].get("containerStatuses", ()):
            if container["restartCount"]:
                why, hint = _how_it_ended(container)
                raise WirebenchError(f"the pod {pod.name} has restarted: {why}", hint, explain(kubectl, pod))


def fail_if_hopeless(kubectl: Kubectl, pods: list[Pod]) -> None:
    """Raise WirebenchError, with events and last log lines, if one of the pods will not become ready."""
    for pod in pods:
        if pod.trouble and not pod.ending:
            raise WirebenchError(f"the pod {pod.name}: {pod.trouble}", pod.hint, explain(kubectl, pod))


def explain(kubectl: Kubectl, pod: Pod) -> str:
    """Return a pod's last events and log lines."""
    return "\n".join((*_events(kubectl, pod), *_last_lines(kubectl, pod)))


def _events(kubectl: Kubectl, pod: Pod) -> list[str]:
    events = [each for each in kubectl.get("events") if each["involvedObject"].get("name") == pod.name]
    events.sort(key=lambda each: each.get("lastTimestamp") or each.get("eventTime") or "")
    return [f"event {each.get('reason', '')}: {each.get('message', '')}" for each in events[-_EVENTS:]]


def _last_lines(kubectl: Kubectl, pod: Pod) -> list[str]:
    lines = []
    for container in kubectl.containers(pod.name):
        for previous in (True, False):
            try:
                text = kubectl.logs(pod.name, container, tail=_LOG_LINES, previous=previous)
            except WirebenchError:
                continue  # it has not started, or not before
            lines += [f"{container}: {line}" for line in text.splitlines()]
    return lines


def _trouble(status: Mapping[str, Any], conditions: Mapping[str, Mapping[str, Any]]) -> tuple[str, str]:
    if status.get("phase") == "Failed":
        return f"failed: {_how_it_failed(status)}", "its events and last log lines are above"
    for container in (*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())):
        waiting = container["state"].get("waiting", {})
        if waiting.get("reason") in _HOPELESS:
            return f"{waiting['reason']}: {waiting.get('message', container['image'])}", _IMAGE_HINT
        if waiting.get("reason") == "CrashLoopBackOff":
            why, hint = _how_it_ended(container)
            return f"the container {container['name']} starts and ends again: {why}", hint
    scheduled = conditions.get("PodScheduled", {})
    if scheduled.get("reason") == "Unschedulable" and _age_s(scheduled) > _UNSCHEDULABLE_S:
        hint = "lower replicas or limits, make room (make undeploy removes what is deployed), or use larger nodes"
        return f"no node takes it: {scheduled.get('message', '')}", hint
    return "", ""


def _how_it_ended(container: Mapping[str, Any]) -> tuple[str, str]:
    """Return why a container that was started again had ended, and what to do about it."""
    ended = container.get("lastState", {}).get("terminated", {})
    if ended.get("reason") == "OOMKilled":
        return "OOMKilled: it met its memory limit", "raise factors.memory_limit_mib"
    return f"it ended with status {ended.get('exitCode', 'unknown')}", "its last log lines are above"


def _how_it_failed(status: Mapping[str, Any]) -> str:
    if status.get("reason"):
        return f"{status['reason']}: {status.get('message', '')}"
    for container in status.get("containerStatuses", ()):
        ended = container["state"].get("terminated", {})
        if ended.get("exitCode"):
            return f"the container {container['name']} ended with status {ended['exitCode']} ({ended.get('reason')})"
    return "no reason is given"


def _age_s(condition: Mapping[str, Any]) -> float:
    since = datetime.fromisoformat(condition["lastTransitionTime"])
    return (datetime.now(UTC) - since).total_seconds()
