"""What `make deploy` has put into a cluster: services that run already, and the Prometheus that watches them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlencode, urlsplit

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
from wirebench.targets.target import Endpoint

#: Where scripts/cluster/deploy puts the charts.
NAMESPACE = "wirebench"
OBSERVABILITY = "wirebench-observability"
_SETTLED_TIMEOUT_S = 180.0
#: Of rates: two scrapes at least, as Prometheus looks every 5 s.
_RATE_WINDOW = "15s"
_DEPLOY_HINT = "make deploy installs it"


class DeployedServices:
    """The services of `make deploy`, one a transport; load on them comes from pods beside them."""

    def __init__(self, access: Access, values_files: Sequence[Path]) -> None:
        """Take who may enter which cluster, and the values that name its images."""
        self._kubectl = Kubectl(access, NAMESPACE)
        self._helm = Helm(access, NAMESPACE, tuple(values_files))

    def check(self, transport: Transport, *, scales: bool = False) -> None:
        """Raise WirebenchError if the cluster can't be reached, a run is measuring, or the service isn't there.

        One that has no replica may be there if it `scales`: it gets some.
        """
        require_tools()
        self._kubectl.check()
        namespace.check_no_other_run(self._kubectl)
        self._find_deployment(transport, may_be_empty=scales)

    def scale(self, transport: Transport, replicas: int | None, workers: int | None) -> None:
        """Give a service these replicas or workers, and wait for them; what is None stays, and so do other services.

        Raises WirebenchError if it doesn't get there; it is then given what it had.
        """
        wanted = {"replicas": replicas, "workers": workers}
        changes = {name: value for name, value in wanted.items() if value is not None}
        if not changes:
            return
        before = read_service(transport, self._find_deployment(transport, may_be_empty=True))
        self._helm.change(values.SERVICES, {transport: changes})
        try:
            self._wait_settled(transport)
        except WirebenchError:
            self._helm.change(values.SERVICES, {transport: {name: getattr(before, name) for name in changes}})
            raise

    def find_endpoint(self, transport: Transport, *, beside_load: bool = False) -> Endpoint:
        """Wait until a service has all its replicas, and return it. Raises WirebenchError if it doesn't get there.

        `beside_load`: return one of its own that is like it, in the pod of the load.
        """
        service = read_service(transport, self._find_deployment(transport))
        if beside_load:
            own = replace(service, replicas=1, beside_load=True)
            return build_endpoint_beside_load(own, read_agents(self._kubectl))
        pods = self._wait_settled(transport)
        endpoint = build_endpoint(service, pods, NAMESPACE, read_agents(self._kubectl))
        return replace(endpoint, replicas=tuple(replace(each, may_go=True) for each in endpoint.replicas))

    def _wait_settled(self, transport: Transport) -> Sequence[Pod]:
        """Return the pods of a service once all its replicas are ready, and no others are there."""
        service = read_service(transport, self._find_deployment(transport))

        def are_ready(pods: Sequence[Pod]) -> bool:
            are_all = len(pods) == service.replicas and all(pod.serves for pod in pods)
            return are_all and is_rolled_out(self._find_deployment(transport))

        hint = "lower --replicas (REPLICAS of make), or make deploy"
        return wait_ready(self._kubectl, build_selector(transport), are_ready, hint, _SETTLED_TIMEOUT_S)

    def read_rates(self, transport: Transport, prometheus: str) -> dict[str, float]:
        """Return the requests/s that each replica has had in the last seconds, by pod, as a Prometheus there says.

        Raises WirebenchError.
        """
        address, labels = urlsplit(prometheus), f'namespace="{NAMESPACE}",transport="{transport}"'
        service, _, namespace_there = str(address.hostname).partition(".")
        # A replica without requests has no counter, but is there.
        query = (
            f"sum by (pod) (rate(wirebench_request_duration_seconds_count{{{labels}}}[{_RATE_WINDOW}]) "
            f"and on (pod) wirebench_build_info{{{labels}}}) or 0 * max by (pod) (wirebench_build_info{{{labels}}})"
        )
        path = f"/api/v1/namespaces/{namespace_there}/services/{service}:{address.port}/proxy/api/v1/query"
        answer = self._kubectl.read(f"{path}?{urlencode({'query': query})}")
        try:
            rates = {each["metric"]["pod"]: float(each["value"][1]) for each in json.loads(answer)["data"]["result"]}
        except (ValueError, LookupError, TypeError):
            raise WirebenchError(f"{address.netloc} gave no rates", "see the log of Prometheus") from None
        # One that has just been started knows nothing yet.
        if not rates and self._find_deployment(transport, may_be_empty=True)["spec"]["replicas"]:
            raise WirebenchError(f"{address.netloc} knows no replica yet", "wait some seconds")
        return rates

    def make_load_pods(self, transport: Transport) -> KubernetesLoadPods:
        """Return what starts load on a service. Raises WirebenchError if another such load is running."""
        node_selector = nodes.read(self._kubectl).selector("load")
        load_pods = KubernetesLoadPods(self._kubectl, self._helm, node_selector, name=f"load-{transport}")
        of_release = f"app.kubernetes.io/instance={load_pods.release}"
        if any(job.get("status", {}).get("active") for job in self._kubectl.get("jobs", of_release)):
            raise WirebenchError(
                f"another load on {transport} is running",
                f"wait for its end; if it was killed: helm uninstall {load_pods.release} --namespace {NAMESPACE}",
            )
        self.remove(load_pods)  # what a killed load has left behind
        return load_pods

    def remove(self, load_pods: KubernetesLoadPods) -> None:
        self._helm.uninstall(load_pods.release)
        wait_gone(self._kubectl, f"app.kubernetes.io/instance={load_pods.release}")

    def count_shared_cores(self) -> int | None:
        return nodes.read(self._kubectl).shared_cores

    def _find_deployment(self, transport: Transport, *, may_be_empty: bool = False) -> Mapping[str, Any]:
        found = self._kubectl.get("deployments", build_selector(transport))
        if not found:
            raise WirebenchError(f"{transport} is not deployed in the namespace {NAMESPACE}", _DEPLOY_HINT)
        if not found[0]["spec"]["replicas"] and not may_be_empty:
            raise WirebenchError(f"{transport} is scaled to no replica", "give it some: REPLICAS=1, or make deploy")
        deployment: Mapping[str, Any] = found[0]
        return deployment


def find_observer(access: Access, name: str) -> str | None:
    """Return the address of `prometheus` or `grafana` inside the cluster; None where it isn't there or not ready.

    Raises WirebenchError.
    """
    kubectl = Kubectl(access, OBSERVABILITY)
    labels = f"app.kubernetes.io/name={name},app.kubernetes.io/component=observability"
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
        transport,
        settings["WIREBENCH_RUNTIME"],
        int(settings["WIREBENCH_WORKERS"]),
        int(threads or 0) or None,
        cast(Store, store),
        deployment["spec"]["replicas"],
        nodes.parse_millicores(container["resources"]["limits"]["cpu"]),
        implementation="go" if container["command"][0] == "wirebench-go" else "python",
        store_connections=None if store == "memory" else int(settings["WIREBENCH_STORE_CONNECTIONS"]),
    )
