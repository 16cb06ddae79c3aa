"""The local target: services as child processes on loopback, on cores of their own."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from wirebench import processes
from wirebench.errors import UsageError
from wirebench.places import POSTGRES_URL, TOOLS
from wirebench.ports import LOOPBACK, free_ports
from wirebench.processes import Child
from wirebench.readiness import wait_ready
from wirebench.scenario import ServiceSpec
from wirebench.scenario.contract import Disruption
from wirebench.targets.cores import Cores
from wirebench.targets.target import Description, Disrupted, Endpoint, LoadPods, Replica

if TYPE_CHECKING:
    from wirebench.targets.certificates import CertificateFolder
    from wirebench.targets.databases import Databases

#: How long a service may take to finish requests in flight, and then to end its workers and itself.
_DRAIN_TIMEOUT_S = 10.0
_STOP_TIMEOUT_S = _DRAIN_TIMEOUT_S + 5.0


class LocalTarget:
    """Starts services with the commands that people start them with by hand."""

    name = "local"
    restarts_services = True
    runs_all_services = True
    load_pods: LoadPods | None = None

    def __init__(self, cores: Cores, log_path: Callable[[str], Path]) -> None:
        """Take the cores to use, and where a service of a name logs to."""
        self.cores: Cores | None = cores
        self._server_cores = cores.server
        self._log_path = log_path
        self._children: list[Child] = []
        self._databases: Databases | None = None
        self._certificates: CertificateFolder | None = None
        self._description = Description(machine={"core_separation": str(cores)})

    def prepare(self, services: Sequence[ServiceSpec]) -> None:
        """See that the commands are there, and a database; ports are taken as they are free. Raises WirebenchError."""
        for service in services:
            path = Path(_command(service)[0])
            if not path.exists():
                raise UsageError(f"the command {path.name} is not at {path}", "run `make setup`")
        if any(service.store == "postgres" for service in services):
            self._prepare_databases()

    def describe(self) -> Description:
        """Say who has which cores."""
        return self._description

    def start(self, services: Sequence[ServiceSpec]) -> Mapping[ServiceSpec, Endpoint]:
        """Start all services at once and wait until each is ready. Raises WirebenchError."""
        try:
            if any(service.tls != "none" for service in services):
                self._certificates = _make_certificates()
            with free_ports(2 * len(services)) as ports:
                pairs = list(zip(ports[::2], ports[1::2], strict=True))
            endpoints = [self._start(service, *pair) for service, pair in zip(services, pairs, strict=True)]
            for child, (_, admin_port) in zip(self._children, pairs, strict=True):
                wait_ready(child, f"{LOOPBACK}:{admin_port}", "/readyz")
        except BaseException:  # also when interrupted
            self.stop()
            raise
        return {endpoint.service: endpoint for endpoint in endpoints}

    def check(self) -> None:
        """Raise ProcessError, with its last log lines, if a service has died."""
        for child in self._children:
            child.check_alive()

    def disrupt(self, service: ServiceSpec, how: Disruption) -> Disrupted:
        """Refuse: no plan for this target has such a cell."""
        raise UsageError(f"the target {self.name} can't do {how} to {service}", "add --target kubernetes")

    def stop(self) -> None:
        """Stop all services, side by side, each with time to drain; their databases go with them."""
        children, self._children = self._children, []
        if children:
            with ThreadPoolExecutor(len(children)) as pool:
                list(pool.map(lambda child: child.stop(_STOP_TIMEOUT_S), children))
        if self._certificates:
            self._certificates.remove()
            self._certificates = None
        if self._databases:
            self._databases.drop_copies()

    def clean_up(self) -> None:
        """Leave nothing: services end with their block, and the database that theirs were copied from ends here."""
        databases, self._databases = self._databases, None
        if databases:
            databases.close()

    def _prepare_databases(self) -> None:
        # Imported late: load pods, which start no services, have no psycopg.
        from wirebench.targets.databases import Databases  # noqa: PLC0415

        self._databases = Databases(POSTGRES_URL)
        self._databases.prepare()
        where = "the server's cores" if self._databases.run_on(self._server_cores) else "any core"
        self._description = dataclasses.replace(
            self._description,
            versions={"postgres": self._databases.version},
            notes=(f"PostgreSQL ran on {where}; server CPU and memory are those of the services, without it",),
        )

    def _start(self, service: ServiceSpec, port: int, admin_port: int) -> Endpoint:
        arguments = {
            "--host": LOOPBACK,
            "--port": port,
            "--admin-port": admin_port,
            "--runtime": service.runtime,
            "--workers": service.workers,
            "--threads": service.threads,
            "--store": service.store,
            "--store-connections": service.store_connections,
            "--drain-timeout-s": _DRAIN_TIMEOUT_S,
        }
        tls = None
        if self._certificates and service.tls != "none":
            arguments |= self._certificates.server_flags(service.tls)
            tls = self._certificates.client(service.tls)
        flags = [str(part) for flag, value in arguments.items() if value is not None for part in (flag, value)]
        child = processes.start(
            f"the service {service}",
            [*_command(service), *flags],
            self._log_path(str(service)),
            self._server_cores,
            self._environment(service),
        )
        self._children.append(child)
        replica = Replica(service.transport, f"http://{LOOPBACK}:{admin_port}", child.pid)
        return Endpoint(service, f"{LOOPBACK}:{port}", (replica,), tls=tls)

    def _environment(self, service: ServiceSpec) -> Mapping[str, str]:
        if service.store != "postgres" or self._databases is None:
            return {}
        # A database of its own: all begin with the same data.
        return {"WIREBENCH_STORE_URL": self._databases.create()}


def _make_certificates() -> CertificateFolder:
    # Imported late: load pods, which import targets too, have no cryptography.
    from wirebench.targets.certificates import CertificateFolder  # noqa: PLC0415

    return CertificateFolder([LOOPBACK, "localhost"])


def _command(service: ServiceSpec) -> list[str]:
    if service.implementation == "go":
        return [str(TOOLS / "wirebench-go"), service.transport]
    # These stand beside the interpreter that runs us: both come with the same set-up.
    return [str(Path(sys.executable).parent / f"wirebench-{service.transport}")]
