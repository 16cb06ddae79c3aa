"""The external target: running services, given by address."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping, Sequence

from wirebench.errors import UsageError, WirebenchError
from wirebench.model.address import Address, parse_address
from wirebench.model.application import Application
from wirebench.model.cell import ServiceSpec
from wirebench.model.contract import Tls
from wirebench.model.variant import Variant
from wirebench.system.tls import ClientTls, choose_tls, split_scheme
from wirebench.targets.cores import CoreClaim, divide_cores
from wirebench.targets.target import Description, Endpoint, Replica, Target

_CONNECT_TIMEOUT_S = 5.0
_USAGE_PROBLEM = "the target external reads only what services answer"


class ExternalTarget(Target):
    """Only loads what is there: it restarts nothing, and sees of a server what that tells of itself."""

    name = "external"
    restarts_services = False

    def __init__(
        self, addresses: Mapping[str, str], tls: Mapping[str, ClientTls | None], variants: Mapping[str, Variant]
    ) -> None:
        """Take addresses, what it takes for TLS, and variants, all by the name of the variant or of the transport."""
        self._addresses = {name: _parse_address(name, address) for name, address in addresses.items()}
        self._tls = tls
        self._variants = variants
        self._claim: CoreClaim | None = None

    @classmethod
    def of_transports(cls, addresses: Mapping[str, str], tls: ClientTls | None = None) -> ExternalTarget:
        """Return a target of the built-in application at these addresses (`connect` says which forms)."""
        return cls(addresses, {name: choose_tls(split_scheme(each)[0], tls) for name, each in addresses.items()}, {})

    @classmethod
    def of_variants(cls, application: Application, variants: Mapping[str, Variant]) -> ExternalTarget:
        """Return a target of variants, by name, at the addresses of their application file."""
        addresses = {name: variant.address for name, variant in variants.items() if variant.address}
        return cls(addresses, {name: application.find_tls(name) for name in variants}, variants)

    @property
    def tls_levels(self) -> Mapping[str, Tls]:
        return {name: "server" if tls else "none" for name, tls in self._tls.items()}

    def prepare(self, services: Sequence[ServiceSpec]) -> None:
        by_name: dict[str, ServiceSpec] = {}
        for service in services:
            name = _name_service(service)
            if name not in self._addresses:
                hint = f"add --{name} HOST:PORT"
                raise UsageError(f"the scenario loads {name}: no address is given for it", hint)
            if by_name.setdefault(name, service) != service:
                raise UsageError(
                    f"the scenario varies the {name} service, which an external target can't restart",
                    "leave runtime, workers, threads, store and store_connections at one level each",
                )
        self.start(services)
        self._claim = CoreClaim(divide_cores().all)  # the drivers run here, on any core

    def start(self, services: Sequence[ServiceSpec]) -> Mapping[ServiceSpec, Endpoint]:
        return {service: self._build_endpoint(service) for service in services}

    def clean_up(self) -> None:
        if self._claim:
            self._claim.release()

    def describe(self) -> Description:
        note = "services were not restarted between blocks: intervals leave out what differs from start to start"
        addresses = ", ".join(f"{name} at {address}" for name, address in self._addresses.items())
        return Description(machine={"services": addresses}, notes=(note, *self._describe_limits()))

    def _describe_limits(self) -> Iterator[str]:
        for name, variant in self._variants.items():
            if place := variant.find_foreign(self.name):
                yield f"{name} {place}: its limit is {variant.limit}"

    def _build_endpoint(self, service: ServiceSpec) -> Endpoint:
        name = _name_service(service)
        address = self._addresses[name]
        try:
            socket.create_connection(address, timeout=_CONNECT_TIMEOUT_S).close()
        except (OSError, UnicodeError) as error:  # or it can be no name of a host
            raise WirebenchError(
                f"nothing answers at {address} for {name}: {getattr(error, 'strerror', None) or error}",
                "start the service there, or correct the address",
            ) from None
        variant = self._variants.get(name)
        metrics_url = variant.metrics if variant else None
        replicas = (Replica(name, None, metrics_url=metrics_url),) if metrics_url else ()
        unread = f"{metrics_url} didn't answer with process_cpu_seconds_total throughout"
        problem = unread if metrics_url else _USAGE_PROBLEM
        limit = variant.limit if variant and variant.find_foreign(self.name) else None
        return Endpoint(service, str(address), replicas, tls=self._tls[name], usage_problem=problem, limit=limit)


def _name_service(service: ServiceSpec) -> str:
    """Return the variant of a service, or its transport for the built-in application."""
    return service.variant or service.transport


def _parse_address(name: str, text: str) -> Address:
    try:
        return parse_address(split_scheme(text)[1])
    except UsageError as error:
        raise UsageError(
            f"{name}: {text!r} is not an address", "write HOST:PORT, or https://HOST:PORT for TLS"
        ) from error
