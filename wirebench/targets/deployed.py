"""What `make deploy` has put into a cluster: services that run already, and the Prometheus that watches them."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from wirebench.errors import WirebenchError
from wirebench.model.cell import ServiceSpec
from wirebench.model.contract import Store, Transport
from wirebench.targets.cluster import namespace
from wirebench.targets.cluster.agents import read_agents
from wirebench.targets.cluster.client import Access, Cluster
from wirebench.targets.cluster.load_pods import LoadPods
from wirebench.targets.cluster.nodes import Nodes, parse_millicores, read_nodes
from wirebench.targets.cluster.pods import Pod, PodGroup
from wirebench.targets.cluster.release import SERVICES, build_endpoint, build_endpoint_beside_load, find_pods
from wirebench.targets.endpoint import Description, Endpoint
from wirebench.targets.target import Target

#: Where scripts/cluster/deploy puts the charts.
NAMESPACE = "wirebench"
OBSERVABILITY = "wirebench-observability"


class DeployedTarget(Target):
    """A service of `make deploy`, as it is; load on it comes from pods beside it."""

    name = "kubernetes"
    restarts_services = False
    # What is beside its load runs only with that: verification asks the deployed one.
    runs_all_services = False
    load_pods: LoadPods

    def __init__(self, access: Access, transport: Transport) -> None:
        """Take who may enter which cluster, and which service it is."""
        self._cluster = Cluster(access, NAMESPACE)
        self._transport = transport
        self._pods = find_pods(self._cluster, transport)
        self._nodes = Nodes(())
        self._is_ours = False
        self.load_pods = LoadPods(self._cluster, name=f"load-{transport}")

    def read_service(self, replicas: int | None = None, workers: int | None = None) -> ServiceSpec:
        """Return the service, once it has these replicas and workers; what is None stays.

        Raises WirebenchError if the cluster can't be reached, a run is measuring, or the service isn't there.
        """
        self._cluster.check()
        namespace.check_no_other_run(self._cluster)
        self._find_deployment(may_be_empty=replicas is not None)
        wanted = {"replicas": replicas, "workers": workers}
        if changes := {name: value for name, value in wanted.items() if value is not None}:
            self._cluster.change(SERVICES, {self._transport: changes})
            self._wait_ready()
        return read_service(self._transport, self._find_deployment())

    def prepare(self, services: Sequence[ServiceSpec]) -> None:  # noqa: ARG002 - the one that is there
        """See that no other load on the service is running. Raises WirebenchError."""
        release = self.load_pods.release
        jobs = self._cluster.get("jobs", f"app.kubernetes.io/instance={release}")
        if any(job.get("status", {}).get("active") for job in jobs):
            raise WirebenchError(
                f"another load on {self._transport} is running",
                f"wait for its end; if it was killed: helm uninstall {release} --namespace {NAMESPACE}",
            )
        self._is_ours = True
        self._remove_load()  # what a killed one has left behind
        self._nodes = read_nodes(self._cluster)
        self.load_pods.node_selector = self._nodes.selector("load")
        self.prometheus = find_prometheus(self._cluster.access)

    def describe(self) -> Description:
        live = "make grafana prints where it is live"
        if self.prometheus is None:
            live = "no Prometheus was ready in the cluster, so nothing was live; make deploy installs it"
        described = self._nodes.describe(self._cluster.read_server_version())
        return replace(described, notes=(*described.notes, live))

    def start(self, services: Sequence[ServiceSpec]) -> Mapping[ServiceSpec, Endpoint]:
        """Wait until the service has all its replicas. Raises WirebenchError if it doesn't get there."""
        return {service: self._find_endpoint(service) for service in services}

    def clean_up(self) -> None:
        if self._is_ours:
            self._is_ours = False
            self._remove_load()

    def _remove_load(self) -> None:
        release = self.load_pods.release
        self._cluster.uninstall(release)
        PodGroup(self._cluster, {"app.kubernetes.io/instance": release}).wait_gone()

    def _find_endpoint(self, service: ServiceSpec) -> Endpoint:
        agents = read_agents(self._cluster)
        if service.placement == "same-pod":
            return build_endpoint_beside_load(service, agents)
        self._find_deployment()
        pods = self._wait_ready()
        # Verification asks for one replica, and gets those that there are.
        endpoint = build_endpoint(replace(service, replicas=len(pods)), pods, NAMESPACE, agents)
        return replace(endpoint, replicas=tuple(replace(each, may_go=True) for each in endpoint.replicas))

    def _wait_ready(self) -> Sequence[Pod]:
        return self._pods.wait_ready("lower factors.replicas (REPLICAS of make), or make deploy")

    def _find_deployment(self, *, may_be_empty: bool = False) -> Mapping[str, Any]:
        """Return the service's Deployment. Raises WirebenchError if it isn't there, or has no replica."""
        found = self._cluster.get("deployments", self._pods.selector)
        if not found:
            message = f"{self._transport} is not deployed in the namespace {NAMESPACE}"
            raise WirebenchError(message, "make deploy installs it")
        if not found[0]["spec"]["replicas"] and not may_be_empty:
            hint = "give it some: REPLICAS=1, or make deploy"
            raise WirebenchError(f"{self._transport} is scaled to no replica", hint)
        deployment: Mapping[str, Any] = found[0]
        return deployment


def find_prometheus(access: Access) -> str | None:
    """Return the address of Prometheus inside the cluster; None where it isn't there, not ready, or not to be seen."""
    cluster = Cluster(access, OBSERVABILITY)
    labels = {"app.kubernetes.io/name": "observability", "app.kubernetes.io/component": "prometheus"}
    pods = PodGroup(cluster, labels)
    with contextlib.suppress(WirebenchError):  # a user who may not look there measures all the same
        for service in cluster.get("services", pods.selector):
            if any(pod.ready for pod in pods.read()):
                port = service["spec"]["ports"][0]["port"]
                return f"http://{service['metadata']['name']}.{OBSERVABILITY}:{port}"
    return None


def read_service(transport: Transport, deployment: Mapping[str, Any]) -> ServiceSpec:
    """Read how the chart has configured the container of a service. Raises WirebenchError for one with TLS."""
    containers = deployment["spec"]["template"]["spec"]["containers"]
    container = next(each for each in containers if each["name"] == transport)
    settings = {each["name"]: each.get("value", "") for each in container["env"]}
    if settings.get("WIREBENCH_TLS_CERT"):
        raise WirebenchError(
            f"{transport} is deployed with TLS, and a plain load is plain text",
            "deploy it without tlsSecret, or measure TLS by `wirebench run --target kubernetes`",
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
        cpu_limit_millicores=parse_millicores(container["resources"]["limits"]["cpu"]),
        implementation="go" if container["command"][0] == "wirebench-go" else "python",
    )
