"""What the chart is told (`charts/wirebench/values.yaml`): a service and its load, as values."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wirebench.model.cell import ServiceSpec
from wirebench.model.contract import TRANSPORTS, Transport

#: The release of the services, which begins the names of their objects.
SERVICES = "wirebench"
#: The release of a run's agents, and the labels of all agents; those of `make deploy` are in its release.
AGENTS = "wirebench-agents"
AGENT_LABELS = "app.kubernetes.io/name=wirebench,app.kubernetes.io/component=agent"
PORTS = {"rest": 5000, "grpc": 50051, "socket": 9000}
ADMIN_PORTS = {transport: port + 1000 for transport, port in PORTS.items()}
#: Where the chart puts the URL of its own PostgreSQL server, and what that server may use.
_STORE_SECRET = f"{SERVICES}-postgres"
POSTGRES_CPU_MILLICORES = 500
_POSTGRES_MEMORY = "512Mi"
#: The label that identifies the pods of one upgrade; a change replaces the pods.
UPGRADE_LABEL = "wirebench.dev/upgrade"

#: Of a run that speaks TLS: what services show, and what load pods need, which find it in the folder.
SERVER_SECRET = "wirebench-server-tls"  # noqa: S105 - a name
CLIENT_SECRET = "wirebench-client-tls"  # noqa: S105
CLIENT_AUTHORITY = Path("/etc/wirebench-tls/ca.crt")

Values = dict[str, Any]


def build_service_values(service: ServiceSpec) -> Values:
    """Return the values of one service; what isn't set is what the chart has."""
    values: Values = {
        "enabled": not service.beside_load,
        "implementation": service.implementation,
        "replicas": service.replicas,
        "workers": service.workers,
        "store": service.store,
        "resources": {"cpu": f"{service.cpu_limit_millicores}m"},
    }
    if service.implementation == "python":
        values["runtime"] = service.runtime
    if service.store == "postgres":
        # By name, as the release of a load has no server of its own.
        values["storeUrl"] = {"secretName": _STORE_SECRET}
    if service.store_connections is not None:
        values["storeConnections"] = service.store_connections
    if service.threads is not None:
        values["goMaxProcs" if service.implementation == "go" else "threads"] = service.threads
    if service.transport == "grpc":
        # Connections are opened again only where the scenario says so.
        values["maxConnectionAgeSeconds"] = 0
    if service.tls != "none":
        values["tls"] = {"enabled": True, "secretName": SERVER_SECRET}
    return values


def build_services_values(
    services: Mapping[Transport, ServiceSpec],
    upgrade: str,
    node_selector: Mapping[str, str],
    database: str | None = None,
) -> Values:
    """Return the values of the release of the services, given by transport: those alone run, in pods that are new.

    `database` is the upgrade since which there is a PostgreSQL server, which begins with fresh data; None is no server.
    """
    common: Values = {
        "podLabels": {UPGRADE_LABEL: upgrade},
        "nodeSelector": dict(node_selector),
        # No requests are sent while they are replaced.
        "preStopSleepSeconds": 0,
        "rollingUpdate": {"maxSurge": 0, "maxUnavailable": "100%"},
    }
    each: Values = {
        transport: build_service_values(services[transport]) if transport in services else {"enabled": False}
        for transport in TRANSPORTS
    }
    return {
        "fullnameOverride": SERVICES,
        "common": common,
        **each,
        "postgres": _build_postgres_values(database, node_selector),
    }


def _build_postgres_values(database: str | None, node_selector: Mapping[str, str]) -> Values:
    if database is None:
        return {"enabled": False}
    return {
        "enabled": True,
        "podLabels": {UPGRADE_LABEL: database},
        "nodeSelector": dict(node_selector),
        "resources": {"cpu": f"{POSTGRES_CPU_MILLICORES}m", "memory": _POSTGRES_MEMORY},
    }


def build_agent_values() -> Values:
    """Return the values of the release of the agents, in which nothing else runs."""
    off: Values = {transport: {"enabled": False} for transport in TRANSPORTS}
    return {"fullnameOverride": SERVICES, **off, "agent": {"enabled": True}}


def build_load_values(service: ServiceSpec | None, load: Mapping[str, object]) -> Values:
    """Return the values of the release of the load; a service that runs in the load's pod is told it as well."""
    off: Values = {transport: {"enabled": False} for transport in TRANSPORTS}
    beside: Values = {service.transport: build_service_values(service)} if service and service.beside_load else {}
    return {**off, **beside, "load": {"enabled": True, "target": SERVICES, **load}}
