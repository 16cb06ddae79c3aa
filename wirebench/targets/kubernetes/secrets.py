"""The Secrets of a run: what its services show for TLS, and what its load pods need.

They go with its namespace. Their content passes through kubectl's standard input, and is in no file here.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wirebench.errors import UsageError
from wirebench.model.contract import TRANSPORTS
from wirebench.model.variant import TlsFiles
from wirebench.system.ports import LOOPBACK
from wirebench.system.tls import ClientTls
from wirebench.targets.kubernetes import values
from wirebench.targets.kubernetes.kubectl import Kubectl

#: The values of `${NAME}` in requests.
ENVIRONMENT = "wirebench-environment"


def create(kubectl: Kubectl) -> None:
    """Put a certificate for all services of a run, and its authority for their clients, into its namespace.

    Raises WirebenchError.
    """
    # Imported late: load pods, which import targets too, have no cryptography.
    from wirebench.targets.certificates import issue

    issued = issue(list_server_names(kubectl.namespace))
    kubectl.apply(_build_secret(values.SERVER_SECRET, kubectl.namespace, issued, "kubernetes.io/tls"))
    trusted = {values.CLIENT_AUTHORITY.name: issued["ca.crt"]}
    kubectl.apply(_build_secret(values.CLIENT_SECRET, kubectl.namespace, trusted, "Opaque"))


def create_environment(kubectl: Kubectl, variables: Mapping[str, str]) -> None:
    """Put variables of the environment where load pods find them. Raises WirebenchError."""
    content = {name: value.encode() for name, value in variables.items()}
    kubectl.apply(_build_secret(ENVIRONMENT, kubectl.namespace, content, "Opaque"))


def create_client_tls(kubectl: Kubectl, variant: str, tls: TlsFiles, folder: Path) -> None:
    """Put the authority that a variant's clients trust where its load pods find it. Raises WirebenchError."""
    content = {}
    if tls.authority:
        try:
            content[values.CLIENT_AUTHORITY.name] = (folder / tls.authority).read_bytes()
        except OSError as error:
            raise UsageError(
                f"the variant {variant}: can't read tls file {tls.authority}: {error.strerror}", "correct it"
            ) from None
    kubectl.apply(_build_secret(name_client_tls_secret(variant), kubectl.namespace, content, "Opaque"))


def name_client_tls_secret(variant: str) -> str:
    return f"{values.CLIENT_SECRET}-{variant}"


def locate_variant_tls(tls: TlsFiles) -> ClientTls:
    """Return the same file as load pods have it."""
    return ClientTls(values.CLIENT_AUTHORITY if tls.authority else None)


def list_server_names(namespace: str) -> list[str]:
    """Return all names by which load pods reach services: of Services, of pods, and of one in the same pod."""
    names = [f"{values.SERVICES}-{transport}{kind}" for transport in TRANSPORTS for kind in ("", "-headless")]
    return [*names, *(f"{name}.{namespace}.svc" for name in names), f"*.{namespace}.pod", LOOPBACK, "localhost"]


def _build_secret(name: str, namespace: str, content: Mapping[str, bytes], kind: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": kind,
        "metadata": {"name": name, "namespace": namespace},
        "data": {key: base64.b64encode(value).decode("ascii") for key, value in content.items()},
    }
