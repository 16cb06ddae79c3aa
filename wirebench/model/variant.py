"""A variant: one implementation of an application, and how it is started or reached. docs/own-services.md."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from wirebench.model.frozen import ONE_OR_MORE, StrictModel, has_form

#: An environment variable in a text of an application file.
VARIABLE = re.compile(r"\$\{([A-Z_][A-Z0-9_]*)\}")
CONNECTIONS_MAX = 10_000
RATE_MAX = 1_000_000
#: The value of `schema` for server reflection.
REFLECTION = "reflection"
#: Where a run keeps the messages of a variant that speaks gRPC.
CONTRACT_FILE = "contract-{}.binpb"
_EMPTY: Any = Field(default={})
_Text = Annotated[str, StringConstraints(min_length=1, max_length=4096)]


def _check_port(address: str) -> str:
    """Return HOST:PORT or a URL. Raises ValueError if there is no such port."""
    if urlsplit(address if "://" in address else f"//{address}").port == 0:
        raise ValueError("Port out of range 1-65535")
    return address


_HOST_AND_PORT = has_form(r"(\[[0-9a-fA-F:.%]+\]|[^\s:/@\[\]]+):[0-9]{1,5}", "HOST:PORT, such as 127.0.0.1:8080")
_Address = Annotated[_Text, _HOST_AND_PORT, AfterValidator(_check_port)]
_Url = Annotated[_Text, has_form(r"https?://[!-~]+", "a URL of http or https"), AfterValidator(_check_port)]
_Port = Annotated[int, Field(ge=1, le=65_535)]


class Limit(StrictModel):
    """The most load that a run may send to a service that it hasn't started."""

    rate_per_s: Annotated[int, Field(ge=1, le=RATE_MAX)]
    connections: Annotated[int, Field(ge=1, le=CONNECTIONS_MAX)]

    def __str__(self) -> str:
        return f"{self.rate_per_s:,} requests/s on {self.connections:,} connections"


class TlsFiles(StrictModel):
    """What clients need for TLS: a file, relative to the application file; without it, the system's are trusted."""

    authority: _Text | None = None


class InCluster(StrictModel):
    """A variant in Kubernetes: a Service that runs in a namespace already."""

    service: _Text
    port: _Port
    namespace: _Text


class Variant(StrictModel):
    """One implementation of an application: a command, an address or `kubernetes`, or several for several targets.

    `${NAME}` in headers and environment is an environment variable, whose value is never written anywhere.
    """

    transport: Literal["rest", "grpc", "socket"]
    #: A command without a shell; `{port}`, `{admin_port}` and `{workers}` stand for what the run chooses.
    start: _Text | None = None
    folder: _Text | None = None
    environment: dict[str, str] = _EMPTY
    #: When it is ready: `GET /path` answers 2xx, on the port or, as `GET {admin_port}/path`, on the other one; `health`
    #: is gRPC's health service. Without it, the port accepts connections.
    ready: Annotated[str, has_form(r"GET (\{admin_port\})?/[!-~]*|health", "GET /path or health")] | None = None
    ready_timeout_s: Annotated[float, Field(gt=0, le=600)] = 30.0
    #: HOST:PORT.
    address: _Address | None = None
    limit: Limit | None = None
    kubernetes: InCluster | None = None
    #: gRPC's messages: `reflection`, proto files, or a compiled set of descriptors (.binpb); relative to this file.
    schema_: Annotated[tuple[_Text, ...], ONE_OR_MORE, Field(alias="schema")] = ()
    #: Folders that imports in proto files are relative to; the folder of the application file, if none is given.
    imports: Annotated[tuple[_Text, ...], ONE_OR_MORE] = ()
    tls: TlsFiles | None = None
    #: Sent with each request: headers of REST, metadata of gRPC.
    headers: dict[str, str] = _EMPTY
    #: The URL of Prometheus metrics with `process_cpu_seconds_total`, where CPU time can't be read from outside.
    metrics: _Url | None = None

    @property
    def takes_workers(self) -> bool:
        """Whether a run can set its number of workers: where it starts the command."""
        return "{workers}" in "".join((self.start or "", *self.environment.values()))

    def find_foreign(self, target: str) -> str:
        """Return where on a target it runs that isn't loopback, nor started by the run; empty if it doesn't.

        There its limit holds.
        """
        if target == "external" and self.address and not is_loopback(self.address):
            return f"is at {self.address}, not at a loopback address"
        if target == "kubernetes" and self.kubernetes:
            return f"runs in the namespace {self.kubernetes.namespace} already"
        return ""

    @model_validator(mode="after")
    def _check_access(self) -> Self:
        if self.start is None and self.address is None and self.kubernetes is None:
            raise ValueError("needs start (a command), address (HOST:PORT) or kubernetes")
        written = "".join((self.start or "", *self.environment.values()))
        if self.start is not None and "{port}" not in written:
            raise ValueError("start: needs {port}, here or in environment: the port that requests go to")
        if variable := VARIABLE.search(self.start or ""):
            raise ValueError(f"start: {variable[0]} would stand in an argument list; use environment")
        if self.start is not None and "{admin_port}" in (self.ready or "") and "{admin_port}" not in written:
            raise ValueError("ready: {admin_port} isn't in start or environment, so nothing listens there")
        return self


def is_loopback(address: str) -> bool:
    """Return whether HOST:PORT is loopback: `localhost` or an IP address. Other names may change their meaning."""
    host = address.rpartition(":")[0].strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
