"""The workloads and pods behind a variant's Service, and when all are ready."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wirebench.errors import UsageError, WirebenchError
from wirebench.model.variant import InCluster
from wirebench.targets.kubernetes.kubectl import Kubectl
from wirebench.targets.kubernetes.pods import Pod, explain, fail_if_hopeless, read_pods, wait_ready

_KINDS = "deployments,statefulsets,daemonsets"


@dataclass(frozen=True, slots=True)
class Backend:
    """The pods that requests go to, and at which port of theirs; a number, or a name that their containers give it."""

    kubectl: Kubectl
    labels: Mapping[str, str]
    port: int | str
    #: The Service by which they are reached, and its port.
    address: str

    @property
    def selector(self) -> str:
        return ",".join(f"{name}={value}" for name, value in self.labels.items())

    def find_address(self, pod: Pod) -> str:
        """Return the Service's address; of a headless one, a port with a name is that of a pod's containers."""
        host, _, port = self.address.rpartition(":")
        return self.address if port.isdigit() else f"{host}:{self.find_host_port(pod)}"

    def read_pods(self) -> tuple[Pod, ...]:
        """Return its pods. Raises WirebenchError."""
        return read_pods(self.kubectl, self.selector)

    def read_workloads(self) -> list[dict[str, Any]]:
        """Return what its pods belong to. Raises WirebenchError."""
        found = self.kubectl.get(_KINDS)
        return [each for each in found if self.labels.items() <= _read_template_labels(each).items()]

    def wait_ready(self) -> tuple[Pod, ...]:
        """Wait until the rollouts of its workloads are complete and all its pods are ready; return these.

        Raises WirebenchError with events and last log lines if one can't become ready, or takes too long.
        """

        def are_ready(pods: Sequence[Pod]) -> bool:
            is_serving = bool(pods) and all(pod.serves for pod in pods)
            return is_serving and all(map(is_rolled_out, self.read_workloads()))

        return wait_ready(self.kubectl, self.selector, are_ready, "wait for its rollout, or start it")

    def check(self, before: tuple[Pod, ...]) -> None:
        """Raise WirebenchError, with its last lines, if one of these pods has gone, failed or restarted since then."""
        now = {pod.name: pod for pod in self.read_pods()}
        fail_if_hopeless(self.kubectl, tuple(now.values()))
        for pod in before:
            if pod.name not in now:
                raise WirebenchError(f"the pod {pod.name} has gone", "was it evicted, or its workload scaled?")
            if now[pod.name].containers != pod.containers:
                details = explain(self.kubectl, pod)
                raise WirebenchError(f"the pod {pod.name} has restarted", "its last log lines are above", details)

    def find_host_port(self, pod: Pod) -> int:
        """Return the port of a pod. Raises UsageError if no container names it."""
        if isinstance(self.port, int):
            return self.port
        if self.port not in pod.ports:
            hint = "name the port in the pod's containers, or write its number in the Service's targetPort"
            raise UsageError(f"the pod {pod.name} has no port named {self.port}", hint)
        return pod.ports[self.port]


def find_backend(kubectl: Kubectl, place: InCluster, where: str) -> Backend:
    """Return the pods of a variant's Service; `where` begins messages. Raises WirebenchError."""
    name = place.service
    found = kubectl.find("service", name)
    if found is None:
        present = ", ".join(each["metadata"]["name"] for each in kubectl.get("services"))
        hint = f"there are {present}" if present else "it has no services at all: correct the namespace"
        raise UsageError(f"{where}: no service {name} in the namespace {kubectl.namespace}", hint)
    spec = found["spec"]
    if not spec.get("selector"):
        hint = "give its address, and measure it by --target external"
        raise UsageError(f"{where}: the Service {name} selects no pods of the cluster", hint)
    by_number = {each["port"]: each for each in spec.get("ports", ())}
    if place.port not in by_number:
        hint = f"it has {', '.join(map(str, by_number))}"
        raise UsageError(f"{where}: the Service {name} has no port {place.port}", hint)
    target = by_number[place.port].get("targetPort", place.port)
    # The name of a headless Service leads to the pods themselves, at the port that they listen on.
    port = target if spec.get("clusterIP") == "None" else place.port
    return Backend(kubectl, spec["selector"], target, f"{name}.{place.namespace}:{port}")


def is_rolled_out(workload: Mapping[str, Any]) -> bool:
    """Return whether the controller has seen the last change, and all pods are of that and ready."""
    status = workload["status"]
    wanted = workload["spec"].get("replicas")
    counts: tuple[str, ...] = ("replicas", "updatedReplicas", "readyReplicas")
    if workload.get("kind") == "DaemonSet":
        wanted, counts = status.get("desiredNumberScheduled"), ("updatedNumberScheduled", "numberReady")
    is_seen = status.get("observedGeneration") == workload["metadata"]["generation"]
    return is_seen and all(status.get(count, 0) == wanted for count in counts)


def _read_template_labels(workload: Mapping[str, Any]) -> dict[str, str]:
    labels: dict[str, str] = workload["spec"]["template"]["metadata"].get("labels", {})
    return labels
