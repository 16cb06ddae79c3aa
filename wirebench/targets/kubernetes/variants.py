"""Variants in a cluster: Services that run in a namespace already, and that the run leaves as they are."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from urllib.parse import urlsplit

from wirebench.errors import UsageError
from wirebench.model.application import Application
from wirebench.model.cell import ServiceSpec
from wirebench.model.variant import InCluster
from wirebench.targets.kubernetes import secrets
from wirebench.targets.kubernetes.endpoints import Agents, find_containers, find_host
from wirebench.targets.kubernetes.kubectl import Kubectl
from wirebench.targets.kubernetes.nodes import Nodes
from wirebench.targets.kubernetes.pods import Pod
from wirebench.targets.kubernetes.workloads import Backend, find_backend
from wirebench.targets.target import Endpoint, PodSelector, Replica

_HTTP_PORT = 80


class VariantServices:
    """The variants of an application, which keep their pods from cell to cell."""

    are_fresh = False

    def __init__(
        self, kubectl: Kubectl, application: Application, variants: Collection[str], variables: Collection[str]
    ) -> None:
        """Take the run's namespace, an application, the measured variants, and the environment variables they need."""
        self._kubectl = kubectl
        self._application = application
        self._variables = variables
        self._variants = variants
        self._running: dict[ServiceSpec, tuple[Backend, tuple[Pod, ...]]] = {}

    @property
    def notes(self) -> tuple[str, ...]:
        """The limits of the services, and that these weren't restarted."""
        return tuple(map(self._make_note, self._variants))

    def _make_note(self, name: str) -> str:
        variant = self._application.variants[name]
        place = variant.find_foreign("kubernetes")
        return f"{name} {place}: its limit is {variant.limit}, and it was not restarted between blocks"

    def prepare(self, services: Sequence[ServiceSpec], found: Nodes) -> None:  # noqa: ARG002 - those of all services
        """Check that each has a running pod. Raises WirebenchError."""
        for name in self._variants:
            place = self._find_place(name)
            if not self._find_backend(name).read_pods():
                what = f"{place.service} in the namespace {place.namespace} has no running pod"
                raise UsageError(f"{self._locate(name, 'namespace')}: {what}", "start or scale it")

    def create_secrets(self) -> None:
        """Create the Secrets of load pods: environment variables and files for TLS. Raises WirebenchError."""
        if self._variables:
            secrets.create_environment(self._kubectl, {name: os.environ[name] for name in self._variables})
        for name in self._variants:
            if tls := self._application.variants[name].tls:
                secrets.create_client_tls(self._kubectl, name, tls, self._application.folder)

    def start(self, services: Sequence[ServiceSpec], agents: Callable[[], Agents]) -> Mapping[ServiceSpec, Endpoint]:
        """Wait until the services are ready, and return where they are reached. Raises WirebenchError."""
        self._running = {}
        return {service: self._wait_ready(service, agents()) for service in services}

    def check(self) -> None:
        for backend, pods in self._running.values():
            backend.check(pods)

    def _wait_ready(self, service: ServiceSpec, agents: Agents) -> Endpoint:
        name = str(service.variant)
        backend = self._find_backend(name)
        pods = backend.wait_ready()
        self._running[service] = backend, pods
        variant, namespace = self._application.variants[name], backend.kubectl.namespace
        tls = secrets.locate_variant_tls(variant.tls) if variant.tls else None
        return Endpoint(
            service,
            backend.find_address(pods[0]),
            tuple(
                Replica(
                    pod.name,
                    None,
                    containers=find_containers(pod, agents),
                    metrics_url=_find_metrics_url(pod, variant.metrics),
                )
                for pod in pods
            ),
            addresses=tuple(
                f"{find_host(pod, namespace if tls else None)}:{backend.find_host_port(pod)}" for pod in pods
            ),
            tls=tls,
            usage_problem=agents.problem,
            pods=PodSelector(namespace, backend.labels),
            tls_secret=secrets.name_client_tls_secret(name) if variant.tls else "",
            environment_secret=secrets.ENVIRONMENT if self._variables else "",
            limit=variant.limit,
        )

    def _find_backend(self, name: str) -> Backend:
        place = self._find_place(name)
        return find_backend(Kubectl(self._kubectl.access, place.namespace), place, self._locate(name, "service"))

    def _find_place(self, name: str) -> InCluster:
        place = self._application.variants[name].kubernetes
        if place is None:
            message = f"{name} has no `kubernetes`"  # a plan rejects it
            raise ValueError(message)
        return place

    def _locate(self, name: str, key: str) -> str:
        return self._application.locate(("variants", name, "kubernetes", key))


def _find_metrics_url(pod: Pod, metrics: str | None) -> str | None:
    """Return the URL of one pod's metrics: a Service would choose any pod."""
    if metrics is None:
        return None
    parts = urlsplit(metrics)
    return parts._replace(netloc=f"{find_host(pod)}:{parts.port or _HTTP_PORT}").geturl()
