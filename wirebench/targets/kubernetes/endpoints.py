"""Where a service of our chart is reached: by the names that the chart makes, and its pods one by one."""

from __future__ import annotations

import re
from collections.abc import Iterable

from wirebench.ports import LOOPBACK
from wirebench.scenario import ServiceSpec
from wirebench.scenario.contract import Tls, Transport
from wirebench.targets.kubernetes import values
from wirebench.targets.kubernetes.agents import Agents
from wirebench.targets.kubernetes.pods import Pod
from wirebench.targets.target import Containers, Endpoint, Replica
from wirebench.tls import ClientTls


def selector(transport: Transport) -> str:
    """Return the labels of all that belongs to a service."""
    return f"app.kubernetes.io/instance={values.SERVICES},app.kubernetes.io/component={transport}"


def pod_name(address: str, namespace: str) -> str:
    """Return the DNS name that a pod has by its IP address: a certificate can't name addresses that are yet to be.

    https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#pods
    """
    return f"{re.sub('[.:]', '-', address)}.{namespace}.pod"


def client_tls(tls: Tls) -> ClientTls | None:
    """Return what load pods speak TLS with: the files of the Secret that is mounted there."""
    folder = values.CLIENT_TLS_FOLDER
    match tls:
        case "none":
            return None
        case "server":
            return ClientTls(folder / "ca.crt")
        case "mutual":
            return ClientTls(folder / "ca.crt", folder / "tls.crt", folder / "tls.key")


def endpoint(service: ServiceSpec, pods: Iterable[Pod], namespace: str, agents: Agents) -> Endpoint:
    """Return the endpoint that a service's pods are, with what agents can read of them."""
    port, admin_port = values.PORTS[service.transport], values.ADMIN_PORTS[service.transport]
    name = f"{values.SERVICES}-{service.transport}"
    replicas = sorted(pods, key=lambda pod: pod.name)
    return Endpoint(
        service,
        f"{name}:{port}",
        tuple(
            Replica(
                pod.name,
                f"http://{pod.address}:{admin_port}",
                containers=_containers(pod, service.transport, agents),
            )
            for pod in replicas
        ),
        f"{name}-headless:{port}",
        tuple(f"{_host(pod, service.tls, namespace)}:{port}" for pod in replicas),
        tls=client_tls(service.tls),
        usage_problem=agents.problem,
    )


def endpoint_beside_load(service: ServiceSpec, agents: Agents) -> Endpoint:
    """Return the endpoint of a service in the pod of its load, which finds the service's container itself."""
    port, admin_port = values.PORTS[service.transport], values.ADMIN_PORTS[service.transport]
    return Endpoint(
        service,
        f"{LOOPBACK}:{port}",
        (Replica("same-pod", f"http://{LOOPBACK}:{admin_port}"),),
        tls=client_tls(service.tls),
        agents=agents.urls,
        usage_problem=agents.problem,
    )


def _containers(pod: Pod, name: str, agents: Agents) -> Containers | None:
    url, container = agents.urls.get(pod.node), pod.containers.get(name)
    return Containers(url, pod.uid, (container,)) if url and container else None


def _host(pod: Pod, tls: Tls, namespace: str) -> str:
    return pod.address if tls == "none" else pod_name(pod.address, namespace)
