"""The local target: services as child processes on loopback, on cores of their own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from wirebench.model.application import Application
from wirebench.model.cell import ServiceSpec
from wirebench.system import processes
from wirebench.system.paths import POSTGRES_URL
from wirebench.system.ports import LOOPBACK, reserve_ports, wait_ready
from wirebench.system.processes import Child, ProcessError
from wirebench.targets.cores import CoreClaim, Cores
from wirebench.targets.endpoint import Description, Endpoint, Replica
from wirebench.targets.launch import (
    DRAIN_TIMEOUT_S,
    Launch,
    find_builtin_command,
    find_command,
    launch_builtin,
    launch_variant,
    redact,
)
from wirebench.targets.target import Target

if TYPE_CHECKING:
    from wirebench.targets.certificates import CertificateFolder
    from wirebench.targets.databases import Databases

#: How long a service may take to finish requests in flight, and then to end its workers and itself.
_STOP_TIMEOUT_S = DRAIN_TIMEOUT_S + 5.0


class LocalTarget(Target):
    """Starts services with the commands that people start them with by hand."""

    name = "local"
    cores: Cores

    def __init__(self, cores: Cores, log_path: Callable[[str], Path], application: Application | None = None) -> None:
        """Take the cores to use, where a service of a name logs to, and the application whose variants are started."""
        self.cores = cores
        self._log_path = log_path
        self._application = application
        self._children: list[Child] = []
        self._databases: Databases | None = None
        self._certificates: CertificateFolder | None = None
        self._claim: CoreClaim | None = None
        self._description = Description(machine={"core_separation": str(cores)})

    def prepare(self, services: Sequence[ServiceSpec]) -> None:
        for service in services:
            if service.variant and self._application:
                find_command(self._application, service.variant)
            else:
                find_builtin_command(service)
        self._claim = CoreClaim(self.cores.all)
        if any(service.store == "postgres" for service in services):
            self._prepare_databases()

    def _prepare_databases(self) -> None:
        # Imported late: load pods, which start no services, have no psycopg.
        from wirebench.targets.databases import Databases

        self._databases = Databases(POSTGRES_URL)
        self._databases.prepare()
        where = "the server's cores" if self._databases.run_on(self.cores.server) else "any core"
        self._description = replace(
            self._description,
            versions={"postgres": self._databases.version},
            notes=(f"PostgreSQL ran on {where}; server CPU and memory are those of the services, without it",),
        )

    def describe(self) -> Description:
        return self._description

    def start(self, services: Sequence[ServiceSpec]) -> Mapping[ServiceSpec, Endpoint]:
        try:
            return self._start(services)
        except BaseException:  # also when interrupted
            self.stop()
            raise

    def _start(self, services: Sequence[ServiceSpec]) -> Mapping[ServiceSpec, Endpoint]:
        if any(service.tls != "none" and not service.variant for service in services):
            # Imported late: load pods, which import targets too, have no cryptography.
            from wirebench.targets.certificates import CertificateFolder

            self._certificates = CertificateFolder([LOOPBACK, "localhost"])
        with reserve_ports(2 * len(services)) as ports:
            pairs = zip(ports[::2], ports[1::2], strict=True)
        launches = [self._launch(service, *pair) for service, pair in zip(services, pairs, strict=True)]
        for service, launch in zip(services, launches, strict=True):
            name, log = f"the service {service}", self._log_path(str(service))
            log.parent.mkdir(parents=True, exist_ok=True)
            cores = self.cores.all if service.cores else self.cores.server
            child = processes.start(name, launch.arguments, log, cores, launch.environment, folder=launch.folder)
            self._children.append(child)
        endpoints = {}
        for service, launch, child in zip(services, launches, self._children, strict=True):
            with self._hide_variables(launch.where):
                wait_ready(child, launch.is_ready, launch.ready_timeout_s)
            replica = Replica(service.variant or service.transport, launch.admin_url, (child.pid,))
            endpoints[service] = Endpoint(service, f"{LOOPBACK}:{launch.port}", (replica,), tls=launch.tls)
        return endpoints

    def _launch(self, service: ServiceSpec, port: int, admin_port: int) -> Launch:
        if service.variant and self._application:
            return launch_variant(self._application, service.variant, port, admin_port, service.workers)
        # A database of its own: all begin with the same data.
        store_url = self._databases.create() if self._databases and service.store == "postgres" else None
        if self._certificates is None or service.tls == "none":
            return launch_builtin(service, port, admin_port, {}, store_url)
        launch = launch_builtin(service, port, admin_port, self._certificates.server_flags, store_url)
        return replace(launch, tls=self._certificates.client_tls)

    def check(self) -> None:
        for child in self._children:
            with self._hide_variables():
                child.check_alive()

    @contextlib.contextmanager
    def _hide_variables(self, where: str = "") -> Iterator[None]:
        """Have errors without the values of variables: a service may log what it was started with."""
        try:
            yield
        except ProcessError as error:
            details = error.details
            if self._application:
                details = redact(details, self._application)
            raise ProcessError(f"{where}: {error.message}".removeprefix(": "), error.hint, details) from None

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
        if self._claim:
            self._claim.release()
        databases, self._databases = self._databases, None
        if databases:
            databases.close()
