"""Variants in a cluster: a chart or manifest that the run installs, or a service that runs in a namespace already."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from wirebench.errors import UsageError, WirebenchError
from wirebench.model.application import Application
from wirebench.model.cell import ServiceSpec
from wirebench.model.factor import CLUSTER_DEFAULTS
from wirebench.model.variant import SETTABLE, InCluster, PodSecurity
from wirebench.targets.kubernetes import secrets
from wirebench.targets.kubernetes.endpoints import Agents, find_containers, find_host
from wirebench.targets.kubernetes.helm import Helm
from wirebench.targets.kubernetes.kubectl import Kubectl
from wirebench.targets.kubernetes.nodes import Nodes
from wirebench.targets.kubernetes.pods import READY_TIMEOUT_S, Pod
from wirebench.targets.kubernetes.workloads import Backend, find_backend
from wirebench.targets.target import Endpoint, PodSelector, Replica

_HTTP_PORT = 80
_DELETE_TIMEOUT_S = 180.0
_STRICTNESS: tuple[PodSecurity, ...] = ("restricted", "baseline", "privileged")


class VariantServices:
    """The variants of an application: installed again for each start, or left unchanged where they run already."""

    def __init__(
        self, kubectl: Kubectl, application: Application, variants: Collection[str], variables: Collection[str]
    ) -> None:
        """Take the run's namespace, an application, the measured variants, and the environment variables they need."""
        self._kubectl = kubectl
        self._helm = Helm(kubectl.access, kubectl.namespace, ())
        self._application = application
        self._variables = variables
        self._variants = variants
        #: Remove what `start` has installed; called in reverse order.
        self._removals: list[Callable[[], None]] = []
        #: Variants whose chart or manifest is known to stay within the namespace.
        self._checked: set[str] = set()
        self._running: dict[ServiceSpec, tuple[Backend, tuple[Pod, ...]]] = {}

    @property
    def security(self) -> PodSecurity:
        """The pod security standard of the run's namespace: the least strict of all variants."""
        wanted = [self._find_place(name).security for name in self._variants]
        return max(wanted, key=_STRICTNESS.index, default="restricted")

    @property
    def are_fresh(self) -> bool:
        """Whether each start brings new pods; services that run already keep theirs."""
        return not any(self._find_place(name).namespace for name in self._variants)

    @property
    def notes(self) -> tuple[str, ...]:
        """The limits of services that run already, and that these weren't restarted."""
        return tuple(self._make_note(name) for name in self._variants if self._find_place(name).namespace)

    def _make_note(self, name: str) -> str:
        variant = self._application.variants[name]
        place = variant.find_foreign("kubernetes")
        return f"{name} {place}: its limit is {variant.limit}, and it was not restarted between blocks"

    def prepare(self, services: Sequence[ServiceSpec], found: Nodes) -> None:  # noqa: ARG002 - those of all services
        """Check that charts and manifests are there, and what runs already. Raises WirebenchError."""
        for name in self._variants:
            place = self._find_place(name)
            for key in ("chart", "manifest"):
                file = getattr(place, key)
                path = self._application.folder / file if file else None
                if path and not path.exists():
                    raise UsageError(f"{self._locate(name, key)}: {file} does not exist", "correct the path")
                if path and key == "manifest" and path.is_dir():
                    raise UsageError(f"{self._locate(name, key)}: {file} is a folder", "name one file with all objects")
            if place.namespace and not self._find_backend(name).read_pods():
                what = f"{place.service or place.deployment} in the namespace {place.namespace} has no running pod"
                raise UsageError(f"{self._locate(name, 'namespace')}: {what}", "start or scale it")

    def create_secrets(self) -> None:
        """Create the Secrets of load pods: environment variables and files for TLS. Raises WirebenchError."""
        if self._variables:
            secrets.create_environment(self._kubectl, {name: os.environ[name] for name in self._variables})
        for name in self._variants:
            if tls := self._application.variants[name].tls:
                secrets.create_client_tls(self._kubectl, name, tls, self._application.folder)

    def start(self, services: Sequence[ServiceSpec], agents: Callable[[], Agents]) -> Mapping[ServiceSpec, Endpoint]:
        self._remove()
        for service in services:
            name = str(service.variant)
            if not self._find_place(name).namespace:
                self._install(name, service)
        return {service: self._wait_ready(service, agents()) for service in services}

    def check(self) -> None:
        for backend, pods in self._running.values():
            backend.check(pods)

    def _remove(self) -> None:
        """Remove what was installed, with the volumes that StatefulSets leave."""
        self._running = {}
        if not self._removals:
            return
        while self._removals:
            self._removals.pop()()
        self._kubectl.delete("persistentvolumeclaims", "--all", timeout_s=_DELETE_TIMEOUT_S)

    def _install(self, name: str, service: ServiceSpec) -> None:
        place = self._find_place(name)
        if place.chart:
            chart, values = self._application.folder / place.chart, fill(place.values, service)
            self._check_manifest(name, "chart", partial(self._helm.render, name, chart, values))
            self._removals.append(partial(self._helm.remove, name))
            self._helm.install(name, chart, values)
        else:
            manifest = (self._application.folder / str(place.manifest)).read_text(encoding="utf-8")
            self._check_manifest(name, "manifest", lambda: manifest)
            self._removals.append(partial(self._kubectl.delete_manifest, manifest, _DELETE_TIMEOUT_S))
            self._kubectl.apply(manifest)
        if place.deployment and service.replicas and "{replicas}" not in str(place.values):
            self._find_backend(name)  # raises an error that lists existing ones
            self._kubectl.scale(place.deployment, service.replicas)

    def _check_manifest(self, name: str, key: str, render: Callable[[], str]) -> None:
        """Check once that all objects would be in the run's namespace, and removed with it. Raises WirebenchError."""
        if name in self._checked:
            return
        try:
            objects = self._kubectl.try_manifest(render())
        except WirebenchError as error:
            hint = "correct it; `kubectl create --dry-run=server` checks a manifest"
            raise UsageError(f"{self._locate(name, key)}: it can't be installed", hint, error.details) from None
        for each in objects:
            if each["metadata"].get("namespace") != self._kubectl.namespace:
                raise UsageError(
                    f"{self._locate(name, key)}: the {each['kind']} {each['metadata']['name']} would be outside of the "
                    "run's namespace, and stay when the run is over",
                    "leave it out, or install the service yourself and give its namespace",
                )
        self._checked.add(name)

    def _wait_ready(self, service: ServiceSpec, agents: Agents) -> Endpoint:
        name = str(service.variant)
        backend = self._find_backend(name)
        pods = backend.wait_ready(self._get_timeout_s(name))
        self._running[service] = backend, pods
        variant, namespace = self._application.variants[name], backend.kubectl.namespace
        tls = secrets.locate_variant_tls(variant.tls) if variant.tls else None
        addresses = tuple(f"{find_host(pod, namespace if tls else None)}:{backend.find_host_port(pod)}" for pod in pods)
        return Endpoint(
            service,
            backend.find_address(pods[0]) or addresses[0],
            tuple(
                Replica(
                    pod.name,
                    None,
                    containers=find_containers(pod, agents),
                    metrics_url=_find_metrics_url(pod, variant.metrics),
                )
                for pod in pods
            ),
            addresses=addresses,
            tls=tls,
            usage_problem=agents.problem,
            pods=PodSelector(namespace, backend.labels),
            tls_secret=secrets.name_client_tls_secret(name) if variant.tls else "",
            environment_secret=secrets.ENVIRONMENT if self._variables else "",
            limit=variant.limit if variant.find_foreign("kubernetes") else None,
        )

    def _find_backend(self, name: str) -> Backend:
        place = self._find_place(name)
        kubectl = Kubectl(self._kubectl.access, place.namespace or self._kubectl.namespace)
        return find_backend(kubectl, place, self._locate(name, "service" if place.service else "deployment"))

    def _get_timeout_s(self, name: str) -> float:
        variant = self._application.variants[name]
        return variant.ready_timeout_s if "ready_timeout_s" in variant.model_fields_set else READY_TIMEOUT_S

    def _find_place(self, name: str) -> InCluster:
        place = self._application.variants[name].kubernetes
        if place is None:
            message = f"{name} has no `kubernetes`"  # a plan rejects it
            raise ValueError(message)
        return place

    def _locate(self, name: str, key: str) -> str:
        return self._application.locate(("variants", name, "kubernetes", key))


def fill(template: Any, service: ServiceSpec) -> Any:  # noqa: ANN401 - any JSON
    """Return values with levels in place of `{replicas}` and the like; a placeholder alone becomes a number.

    Factors that the scenario leaves out have a cluster's defaults.
    """
    levels = {f"{{{name}}}": getattr(service, name) or CLUSTER_DEFAULTS[name] for name in SETTABLE}
    match template:
        case str() if template in levels:
            return levels[template]
        case str():
            return functools.reduce(lambda text, name: text.replace(name, str(levels[name])), levels, template)
        case Mapping():
            return {key: fill(inner, service) for key, inner in template.items()}
        case list() | tuple():
            return [fill(inner, service) for inner in template]
    return template


def _find_metrics_url(pod: Pod, metrics: str | None) -> str | None:
    """Return the URL of one pod's metrics: a Service would choose any pod."""
    if metrics is None:
        return None
    parts = urlsplit(metrics)
    return parts._replace(netloc=f"{find_host(pod)}:{parts.port or _HTTP_PORT}").geturl()
