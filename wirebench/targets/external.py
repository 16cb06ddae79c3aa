"""The external target: running services, given by address."""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping, Sequence

from wirebench.errors import UsageError, WirebenchError
from wirebench.model.address import Address, parse_address
from wirebench.model.application import Application
from wirebench.model.cell import ServiceSpec
from wirebench.model.contract import Tls
from wirebench.model.variant import Variant, is_loopback
from wirebench.system.http import fetch
from wirebench.system.tls import ClientTls, split_address
from wirebench.targets.cores import CoreClaim, Cores, divide_cores
from wirebench.targets.endpoint import Description, Endpoint, Replica
from wirebench.targets.listeners import Servers, find_servers
from wirebench.targets.target import Target

_CONNECT_TIMEOUT_S = 5.0
_ADMIN_TIMEOUT_S = 2.0


class ExternalTarget(Target):
    """Only loads what is there: it restarts nothing, and sees of a server elsewhere what that tells of itself.

    Of a server on this machine it finds the processes, and the driver runs on cores that these don't use, if there are.
    """

    name = "external"
    restarts_services = False

    def __init__(self, addresses: Mapping[str, str], tls: ClientTls | None = None) -> None:
        """Take addresses of the built-in application's services, by transport, and what TLS takes.

        `split_address` says which of them speak TLS.
        """
        self._addresses = {name: parse_address(split_address(address)[0]) for name, address in addresses.items()}
        self._tls = {name: split_address(address, tls)[1] for name, address in addresses.items()}
        self.on_loopback = all(is_loopback(str(each)) for each in self._addresses.values())
        self._variants: Mapping[str, Variant] = {}
        self._claim: CoreClaim | None = None
        #: Of services on this machine, by the service's name.
        self._servers: dict[str, Servers] = {}

    @classmethod
    def of_variants(cls, application: Application, variants: Mapping[str, Variant]) -> ExternalTarget:
        """Return a target of variants, by name, at the addresses of their application file."""
        target = cls({name: variant.address for name, variant in variants.items() if variant.address})
        target._tls = {name: application.find_tls(name) for name in variants}
        target._variants = variants
        return target

    @property
    def tls_levels(self) -> Mapping[str, Tls]:
        return {name: "server" if tls else "none" for name, tls in self._tls.items()}

    def prepare(self, services: Sequence[ServiceSpec]) -> None:
        by_name: dict[str, ServiceSpec] = {}
        for service in services:
            name = service.variant or service.transport
            if name not in self._addresses:
                hint = f"add --{name} HOST:PORT, or leave it out: --transport"
                raise UsageError(f"the scenario loads {name}: no address is given for it", hint)
            if by_name.setdefault(name, service) != service:
                raise UsageError(
                    f"the scenario varies the {name} service, which an external target can't restart",
                    "leave runtime, workers, threads, store and store_connections at one level each",
                )
        self.start(services)
        everywhere = divide_cores()
        self._claim = CoreClaim(everywhere.all)
        server = frozenset[int]().union(*(each.cores or everywhere.all for each in self._servers.values()))
        self.cores = Cores(server, everywhere.all - server or everywhere.all)

    def start(self, services: Sequence[ServiceSpec]) -> Mapping[ServiceSpec, Endpoint]:
        return {service: self._build_endpoint(service, service.variant or service.transport) for service in services}

    def clean_up(self) -> None:
        if self._claim:
            self._claim.release()

    def describe(self) -> Description:
        notes = ["services were not restarted between blocks: intervals leave out what differs from start to start"]
        for name, variant in self._variants.items():
            if place := variant.find_foreign(self.name):
                notes.append(f"{name} {place}: its limit is {variant.limit}")
        for name, servers in self._servers.items():
            if servers.pids:
                pids = ", ".join(map(str, servers.pids))
                notes.append(f"CPU time and memory of {name} are those of {servers.programs} (process {pids})")
        places = ", ".join(f"{name} at {address}" for name, address in self._addresses.items())
        return Description(machine={"services": places, "core_separation": str(self.cores)}, notes=tuple(notes))

    def _build_endpoint(self, service: ServiceSpec, name: str) -> Endpoint:
        address = self._addresses[name]
        try:
            with socket.create_connection(address, timeout=_CONNECT_TIMEOUT_S) as connection:
                own, peer = connection.getsockname()[0], connection.getpeername()[0]
        except (OSError, UnicodeError) as error:  # or it can be no name of a host
            raise WirebenchError(
                f"nothing answers at {address} for {name}: {getattr(error, 'strerror', None) or error}",
                "start the service there, or correct the address",
            ) from None
        variant = self._variants.get(name)
        admin_url = None if variant else find_admin(service, address)
        metrics = variant.metrics if variant else admin_url and f"{admin_url}/metrics"
        servers = Servers(problem=f"{name} serves no metrics that the run knows of, such as those on its port + 1000")
        if own == peer or is_loopback(f"{peer}:{address.port}"):
            servers = self._servers[name] = find_servers(peer, address.port)
        problem = servers.problem
        if metrics and not servers.pids:
            problem = f"{metrics} didn't answer with process_cpu_seconds_total throughout"
        replicas = (Replica(name, admin_url, servers.pids, metrics_url=metrics, may_go=True),)
        limit = variant.limit if variant and variant.find_foreign(self.name) else None
        return Endpoint(service, str(address), replicas, tls=self._tls[name], usage_problem=problem, limit=limit)


def find_admin(service: ServiceSpec, address: Address) -> str | None:
    """Return the URL of a built-in service's metrics and health; None if they aren't on its port + 1000.

    Raises UsageError if that service isn't what the scenario says: its figures would have a wrong name.
    """
    url = f"http://{Address(address.host, address.port + 1000)}"
    try:
        page = fetch(f"{url}/metrics", timeout_s=_ADMIN_TIMEOUT_S).body.decode()
    except (OSError, ValueError, OverflowError):  # there may be no such port
        return None
    build = re.search(r"(?m)^wirebench_build_info\{(.*)\} 1", page)
    facts = re.findall(r'(\w+)="(.*?)"', build[1]) if build else []
    for name, level in (*facts, *re.findall(r"(?m)^wirebench_(workers) (\d+)", page)):
        if level != (asked := str(getattr(service, name))):
            raise UsageError(
                f"the {service.transport} service at {address} has the {name} {level}, and the scenario has {asked}",
                f"add --set factors.{name}.{service.transport}={level}",
            )
    return url if build else None
