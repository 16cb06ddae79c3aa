"""What `make deploy` has put into a cluster: services that run already, and the Prometheus that watches them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from wirebench.errors import WirebenchError
from wirebench.model.cell import ServiceSpec
from wirebench.model.contract import Store, Transport
from wirebench.targets.kubernetes import namespace, nodes, values
from wirebench.targets.kubernetes.endpoints import (
    build_endpoint,
    build_endpoint_beside_load,
    build_selector,
    read_agents,
)
from wirebench.targets.kubernetes.helm import Helm
from wirebench.targets.kubernetes.kubectl import Access, Kubectl, require_tools
from wirebench.targets.kubernetes.load import KubernetesLoadPods
from wirebench.targets.kubernetes.pods import Pod, wait_gone, wait_ready
from wirebench.targets.kubernetes.workloads import is_rolled_out
from wirebench.targets.target import Description, Endpoint, Target

#: Where scripts/cluster/deploy puts the charts.
NAMESPACE = "wirebench"
OBSERVABILITY = "wirebench-observability"
_SETTLED_TIMEOUT_S = 180.0
_DEPLOY_HINT = "make deploy installs it"


class DeployedTarget(Target):
    """A service of `make deploy`, as it is; load on it comes from pods beside it."""

    name = "kubernetes"
    restarts_services = False
    # What is beside its load runs only with that: verification asks the deployed one.
    runs_all_services = False
    load_pods: KubernetesLoadPods

    def __init__(self, access: Access, values_files: Sequence[Path], transport: Transport) -> None:
        """Take who may enter which cluster, the values that name its images, and which service it is."""
        self._access = access
        self._kubectl = Kubectl(access, NAMESPACE)
        self._helm = Helm(access, NAMESPACE, tuple(values_files))
        self._transport = transport
        self._nodes = nodes.Nodes(())
        self._is_ours = False
        self.load_pods = KubernetesLoadPods(self._kubectl, self._helm, {}, name=f"load-{transport}")

    def read_service(self, replicas: int | None = None, workers: int | None = None) -> ServiceSpec:
        """Return the service, once it has these replicas and workers; what is None stays.

        Raises WirebenchError if the cluster can't be reached, a run is measuring, or the service isn't there. If it
        can't be scaled, it is given what it had.
        """
        require_tools()
        self._kubectl.check()
        namespace.check_no_other_run(self._kubectl)
        before = read_service(self._transport, self._find_deployment(may_be_empty=replicas is not None))
        wanted = {"replicas": replicas, "workers": workers}
        if changes := {name: value for name, value in wanted.items() if value is not None}:
            self._helm.change(values.SERVICES, {self._transport: changes})
            try:
                self._wait_settled()
            except WirebenchError:
                self._helm.change(values.SERVICES, {self._transport: {name: getattr(before, name) for name in changes}})
                raise
        return read_service(self._transport, self._find_deployment())

    def prepare(self, services: Sequence[ServiceSpec]) -> None:  # noqa: ARG002 - the one that is there
        """See that no other load on the service is running. Raises WirebenchError."""
        if any(job.get("status", {}).get("active") for job in self._kubectl.get("jobs", self._labels)):
            release = self.load_pods.release
            raise WirebenchError(
                f"another load on {self._transport} is running",
                f"wait for its end; if it was killed: helm uninstall {release} --namespace {NAMESPACE}",
            )
        self._is_ours = True
        self._remove_load()  # what a killed one has left behind
        self._nodes = nodes.read(self._kubectl)
        self.load_pods.node_selector = self._nodes.selector("load")
        self.prometheus = find_prometheus(self._access)

    def describe(self) -> Description:
        live = "make prometheus grafana print where it is live"
        if self.prometheus is None:
            live = "no Prometheus was ready in the cluster, so nothing was live; make deploy installs it"
        described = self._nodes.describe(self._kubectl.read_server_version())
        return replace(described, notes=(*described.notes, live))

    def start(self, services: Sequence[ServiceSpec]) -> Mapping[ServiceSpec, Endpoint]:
        """Wait until the service has all its replicas. Raises WirebenchError if it doesn't get there."""
        return {service: self._find_endpoint(service) for service in services}

    def clean_up(self) -> None:
        if self._is_ours:
            self._is_ours = False
            self._remove_load()

    @property
    def _labels(self) -> str:
        return f"app.kubernetes.io/instance={self.load_pods.release}"

    def _remove_load(self) -> None:
        self._helm.uninstall(self.load_pods.release)
        wait_gone(self._kubectl, self._labels)

    def _find_endpoint(self, service: ServiceSpec) -> Endpoint:
        agents = read_agents(self._kubectl)
        if service.beside_load:
            return build_endpoint_beside_load(service, agents)
        pods = self._wait_settled()
        # Verification asks for one replica, and gets those that there are.
        endpoint = build_endpoint(replace(service, replicas=len(pods)), pods, NAMESPACE, agents)
        return replace(endpoint, replicas=tuple(replace(each, may_go=True) for each in endpoint.replicas))

    def _wait_settled(self) -> Sequence[Pod]:
        """Return the pods of the service once all its replicas are ready, and no others are there."""
        service = read_service(self._transport, self._find_deployment())

        def are_ready(pods: Sequence[Pod]) -> bool:
            are_all = len(pods) == service.replicas and all(pod.serves for pod in pods)
            return are_all and is_rolled_out(self._find_deployment())

        hint = "lower --replicas (REPLICAS of make), or make deploy"
        return wait_ready(self._kubectl, build_selector(self._transport), are_ready, hint, _SETTLED_TIMEOUT_S)

    def _find_deployment(self, *, may_be_empty: bool = False) -> Mapping[str, Any]:
        found = self._kubectl.get("deployments", build_selector(self._transport))
        if not found:
            raise WirebenchError(f"{self._transport} is not deployed in the namespace {NAMESPACE}", _DEPLOY_HINT)
        if not found[0]["spec"]["replicas"] and not may_be_empty:
            hint = "give it some: REPLICAS=1, or make deploy"
            raise WirebenchError(f"{self._transport} is scaled to no replica", hint)
        deployment: Mapping[str, Any] = found[0]
        return deployment


def find_prometheus(access: Access) -> str | None:
    """Return the address of Prometheus inside the cluster; None where it isn't there or not ready.

    Raises WirebenchError.
    """
    kubectl = Kubectl(access, OBSERVABILITY)
    labels = "app.kubernetes.io/name=prometheus,app.kubernetes.io/component=observability"
    services = kubectl.get("services", labels)
    if not services or not any(Pod.read(each).ready for each in kubectl.get("pods", labels)):
        return None
    port = services[0]["spec"]["ports"][0]["port"]
    return f"http://{services[0]['metadata']['name']}.{OBSERVABILITY}:{port}"


def read_service(transport: Transport, deployment: Mapping[str, Any]) -> ServiceSpec:
    """Read how the chart has configured the container of a service. Raises WirebenchError for one with TLS."""
    containers = deployment["spec"]["template"]["spec"]["containers"]
    container = next(each for each in containers if each["name"] == transport)
    settings = {each["name"]: each.get("value", "") for each in container["env"]}
    if settings.get("WIREBENCH_TLS_CERT"):
        raise WirebenchError(
            f"{transport} is deployed with TLS, and a plain load is plain text",
            "deploy it without tls.enabled, or measure TLS by `wirebench run --target kubernetes`",
        )
    threads = settings.get("WIREBENCH_THREADS")
    store = settings["WIREBENCH_STORE"].partition(":")[0]
    return ServiceSpec(
        transport=transport,
        runtime=settings["WIREBENCH_RUNTIME"],
        workers=int(settings["WIREBENCH_WORKERS"]),
        threads=int(threads or 0) or None,
        store=cast(Store, store),
        replicas=deployment["spec"]["replicas"],
        cpu_limit_millicores=nodes.parse_millicores(container["resources"]["limits"]["cpu"]),
        implementation="go" if container["command"][0] == "wirebench-go" else "python",
        store_connections=None if store == "memory" else int(settings["WIREBENCH_STORE_CONNECTIONS"]),
    )
