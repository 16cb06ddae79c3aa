"""Where a service of our chart is reached: by the names that the chart makes, and its pods one by one."""

from __future__ import annotations

from collections.abc import Iterable

from wirebench.scenario import ServiceSpec
from wirebench.scenario.contract import Transport
from wirebench.targets.kubernetes import values
from wirebench.targets.kubernetes.pods import Pod
from wirebench.targets.target import Endpoint, Replica


def selector(transport: Transport) -> str:
    """Return the labels of all that belongs to a service."""
    return f"app.kubernetes.io/instance={values.SERVICES},app.kubernetes.io/component={transport}"


def endpoint(service: ServiceSpec, pods: Iterable[Pod]) -> Endpoint:
    """Return the endpoint that a service's pods are."""
    port, admin_port = values.PORTS[service.transport], values.ADMIN_PORTS[service.transport]
    name = f"{values.SERVICES}-{service.transport}"
    replicas = sorted(pods, key=lambda pod: pod.name)
    return Endpoint(
        service,
        f"{name}:{port}",
        tuple(Replica(pod.name, f"http://{pod.address}:{admin_port}", None) for pod in replicas),
        f"{name}-headless:{port}",
        tuple(f"{pod.address}:{port}" for pod in replicas),
    )
