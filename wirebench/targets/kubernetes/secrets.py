"""The Secrets of a run that speaks TLS: what its services show, and what its load pods need."""

from __future__ import annotations

import base64
from typing import Any

from wirebench.ports import LOOPBACK
from wirebench.scenario.contract import TRANSPORTS
from wirebench.targets.certificates import Pair, issue
from wirebench.targets.kubernetes import values
from wirebench.targets.kubernetes.kubectl import Kubectl


def create(kubectl: Kubectl) -> None:
    """Put certificates for all services of a run, and for their clients, into its namespace. Raises WirebenchError.

    They go with the namespace. Their keys pass through kubectl's standard input, and are in no file here.
    """
    issued = issue(server_names(kubectl.namespace))
    for name, pair in ((values.SERVER_SECRET, issued.server), (values.CLIENT_SECRET, issued.client)):
        kubectl.apply(_secret(name, kubectl.namespace, pair, issued.authority))


def server_names(namespace: str) -> list[str]:
    """Return all names by which load pods reach services: of Services, of pods, and of one in the same pod."""
    names = [f"{values.SERVICES}-{transport}{kind}" for transport in TRANSPORTS for kind in ("", "-headless")]
    return [*names, *(f"{name}.{namespace}.svc" for name in names), f"*.{namespace}.pod", LOOPBACK, "localhost"]


def _secret(name: str, namespace: str, pair: Pair, authority: bytes) -> dict[str, Any]:
    content = {"tls.crt": pair.certificate, "tls.key": pair.key, "ca.crt": authority}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": {"name": name, "namespace": namespace},
        "data": {key: base64.b64encode(value).decode("ascii") for key, value in content.items()},
    }
