"""Variants in a cluster: Services that run in a namespace already, and that the run leaves as they are."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from wirebench.errors import UsageError
from wirebench.model.application import Application
from wirebench.model.cell import ServiceSpec
from wirebench.model.variant import InCluster
from wirebench.system.tls import ClientTls
from wirebench.targets.cluster.agents import Agents
from wirebench.targets.cluster.client import Cluster
from wirebench.targets.cluster.nodes import Nodes
from wirebench.targets.cluster.pods import Pod, PodGroup
from wirebench.targets.cluster.release import CLIENT_AUTHORITY, CLIENT_SECRET
from wirebench.targets.endpoint import Endpoint, Replica

_HTTP_PORT = 80
#: The Secret with the values of `${NAME}` in requests.
_ENVIRONMENT_SECRET = "wirebench-environment"  # noqa: S105 - a name


class VariantServices:
    """The variants of an application, which keep their pods from cell to cell."""

    are_fresh = False

    def __init__(
        self, cluster: Cluster, application: Application, variants: Collection[str], variables: Collection[str]
    ) -> None:
        """Take the run's namespace, an application, the measured variants, and the environment variables they need."""
        self._cluster = cluster
        self._application = application
        self._variables = variables
        self._variants = variants
        self._running: dict[str, tuple[PodGroup, tuple[Pod, ...]]] = {}

    @property
    def notes(self) -> tuple[str, ...]:
        """The limits of the services, and that these weren't restarted."""
        return tuple(map(self._make_note, self._variants))

    def _make_note(self, name: str) -> str:
        variant = self._application.variants[name]
        place = variant.find_foreign("kubernetes")
        return f"{name} {place}: its limit is {variant.limit}, and it was not restarted between blocks"

    def prepare(self, services: Sequence[ServiceSpec], nodes: Nodes) -> None:  # noqa: ARG002 - those of all services
        """Check that each has a running pod. Raises WirebenchError."""
        for name in self._variants:
            backend = self._find_backend(name)
            if not backend.pods.read():
                what = f"{backend.service} in the namespace {backend.pods.cluster.namespace} has no running pod"
                raise UsageError(f"{self._locate(name, 'namespace')}: {what}", "start or scale it")

    def create_secrets(self) -> None:
        """Create the Secrets of load pods: environment variables and files for TLS. Raises WirebenchError."""
        if self._variables:
            values = {name: os.environ[name].encode() for name in self._variables}
            self._cluster.create_secret(_ENVIRONMENT_SECRET, values)
        for name in self._variants:
            if tls := self._application.find_tls(name):
                content = {CLIENT_AUTHORITY.name: tls.authority.read_bytes()} if tls.authority else {}
                self._cluster.create_secret(f"{CLIENT_SECRET}-{name}", content)

    def start(self, services: Sequence[ServiceSpec], agents: Callable[[], Agents]) -> Mapping[ServiceSpec, Endpoint]:
        """Wait until the services are ready, and return where they are reached. Raises WirebenchError."""
        self._running = {}
        return {service: self._wait_ready(service, str(service.variant), agents()) for service in services}

    def check(self) -> None:
        for group, pods in self._running.values():
            group.check(pods)

    def _wait_ready(self, service: ServiceSpec, name: str, agents: Agents) -> Endpoint:
        backend, variant = self._find_backend(name), self._application.variants[name]
        pods = backend.pods.wait_ready("wait for its rollout, or start it")
        self._running[name] = backend.pods, pods
        namespace = backend.pods.cluster.namespace
        load_values: dict[str, Any] = {"targetPods": {"namespace": namespace, "labels": dict(backend.pods.labels)}}
        tls = None
        if variant.tls:
            tls = ClientTls(CLIENT_AUTHORITY if variant.tls.authority else None)
            load_values["tlsSecret"] = f"{CLIENT_SECRET}-{name}"
        if self._variables:
            load_values["environmentSecret"] = _ENVIRONMENT_SECRET
        replicas = []
        for pod in pods:
            containers, metrics_url = agents.find_containers(pod), _find_metrics_url(pod, variant.metrics)
            replicas.append(Replica(pod.name, None, containers=containers, metrics_url=metrics_url))
        return Endpoint(
            service,
            backend.find_address(pods[0]),
            tuple(replicas),
            addresses=tuple(f"{pod.find_host(namespace if tls else None)}:{backend.find_port(pod)}" for pod in pods),
            tls=tls,
            usage_problem=agents.problem,
            load_values=load_values,
            limit=variant.limit,
        )

    def _find_backend(self, name: str) -> Backend:
        place = self._application.variants[name].kubernetes
        if place is None:
            message = f"{name} has no `kubernetes`"  # a plan rejects it
            raise ValueError(message)
        return find_backend(Cluster(self._cluster.access, place.namespace), place, self._locate(name, "service"))

    def _locate(self, name: str, key: str) -> str:
        return self._application.source.locate(("variants", name, "kubernetes", key))


@dataclass(frozen=True, slots=True)
class Backend:
    """The pods behind a Service, and at which port of theirs: a number, or a name that their containers give it."""

    service: str
    pods: PodGroup
    port: int | str
    #: The Service's own address.
    address: str

    def find_address(self, pod: Pod) -> str:
        """Return the Service's address; of a headless one, a port with a name is that of a pod's containers."""
        host, _, port = self.address.rpartition(":")
        return self.address if port.isdigit() else f"{host}:{self.find_port(pod)}"

    def find_port(self, pod: Pod) -> int:
        """Return the port of a pod. Raises UsageError if no container names it."""
        if isinstance(self.port, int):
            return self.port
        if self.port not in pod.ports:
            hint = "name the port in the pod's containers, or write its number in the Service's targetPort"
            raise UsageError(f"the pod {pod.name} has no port named {self.port}", hint)
        return pod.ports[self.port]


def find_backend(cluster: Cluster, place: InCluster, where: str) -> Backend:
    """Return what is behind a variant's Service; `where` begins messages. Raises WirebenchError."""
    name = place.service
    found = cluster.find("service", name)
    if found is None:
        present = ", ".join(each["metadata"]["name"] for each in cluster.get("services"))
        hint = f"there are {present}" if present else "it has no services at all: correct the namespace"
        raise UsageError(f"{where}: no service {name} in the namespace {cluster.namespace}", hint)
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
    pods = PodGroup(cluster, spec["selector"], "deployments,statefulsets,daemonsets")
    return Backend(name, pods, target, f"{name}.{place.namespace}:{port}")


def _find_metrics_url(pod: Pod, metrics: str | None) -> str | None:
    """Return the URL of one pod's metrics: a Service would choose any pod."""
    if metrics is None:
        return None
    parts = urlsplit(metrics)
    return parts._replace(netloc=f"{pod.find_host()}:{parts.port or _HTTP_PORT}").geturl()
