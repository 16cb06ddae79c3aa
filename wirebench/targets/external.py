"""The external target: services that somebody else started, given by address."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from wirebench.errors import UsageError, WirebenchError
from wirebench.scenario import ServiceSpec
from wirebench.scenario.contract import Disruption, Tls
from wirebench.targets.cores import Cores
from wirebench.targets.target import Description, Disrupted, Endpoint, LoadPods
from wirebench.tls import ClientTls, chosen_by, split_scheme

_CONNECT_TIMEOUT_S = 5.0
_USAGE_PROBLEM = "the target external reads only what services answer"


class ExternalTarget:
    """Only loads what is there: it restarts nothing, and sees no server from the inside."""

    name = "external"
    restarts_services = False
    runs_all_services = True
    cores: Cores | None = None
    load_pods: LoadPods | None = None

    def __init__(self, addresses: Mapping[str, str], tls: ClientTls | None = None) -> None:
        """Take addresses by transport, as `wirebench.clients.connect` does, and what it takes for TLS."""
        self._addresses = {transport: _host_and_port(transport, address) for transport, address in addresses.items()}
        self._tls = {transport: chosen_by(split_scheme(address)[0], tls) for transport, address in addresses.items()}

    @property
    def tls_levels(self) -> Mapping[str, Tls]:
        """The level of the factor `tls` of each transport."""
        return {transport: _level(tls) for transport, tls in self._tls.items()}

    def prepare(self, services: Sequence[ServiceSpec]) -> None:
        """Check that there is one service a transport, and that something listens there. Raises WirebenchError."""
        by_transport: dict[str, ServiceSpec] = {}
        for service in services:
            if service.transport not in self._addresses:
                flag = f"--{service.transport}"
                raise UsageError(
                    f"the scenario loads {service.transport}: no address is given for it", f"add {flag} HOST:PORT"
                )
            if by_transport.setdefault(service.transport, service) != service:
                raise UsageError(
                    f"the scenario varies the {service.transport} service, which an external target can't restart",
                    "leave runtime, workers, threads, store and store_connections at one level each",
                )
        self.start(services)

    def start(self, services: Sequence[ServiceSpec]) -> Mapping[ServiceSpec, Endpoint]:
        """Say where the services are. Raises WirebenchError if nothing listens there."""
        return {service: self._endpoint(service) for service in services}

    def describe(self) -> Description:
        """Say where the services are, and what can't be seen there."""
        note = "services were not restarted between blocks: intervals leave out what differs from start to start"
        addresses = ", ".join(
            f"{transport} at {address[0]}:{address[1]}" for transport, address in self._addresses.items()
        )
        return Description(machine={"services": addresses}, notes=(note,))

    def check(self) -> None:
        """See nothing: a dead service shows in its errors."""

    def disrupt(self, service: ServiceSpec, how: Disruption) -> Disrupted:
        """Refuse: no plan for this target has such a cell."""
        raise UsageError(f"the target {self.name} can't do {how} to {service}", "add --target kubernetes")

    def stop(self) -> None:
        """Leave running what runs."""

    def clean_up(self) -> None:
        """Leave no trace but the users that were created."""

    def _endpoint(self, service: ServiceSpec) -> Endpoint:
        host, port = self._addresses[service.transport]
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        try:
            socket.create_connection((host, port), timeout=_CONNECT_TIMEOUT_S).close()
        except OSError as error:
            raise WirebenchError(
                f"nothing answers at {address} for {service.transport}: {error.strerror or error}",
                "start the service there, or correct the address",
            ) from None
        return Endpoint(service, address, tls=self._tls[service.transport], usage_problem=_USAGE_PROBLEM)


def _host_and_port(transport: str, address: str) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{split_scheme(address)[1]}")
        if parts.hostname and parts.port and not parts.path:
            return parts.hostname, parts.port
    except ValueError:
        pass  # a port that is no number; said below
    raise UsageError(f"{transport}: {address!r} is not an address", "write HOST:PORT, or https://HOST:PORT for TLS")


def _level(tls: ClientTls | None) -> Tls:
    if tls is None:
        return "none"
    return "mutual" if tls.certificate else "server"
