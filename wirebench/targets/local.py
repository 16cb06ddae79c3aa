"""The local target: services as child processes on loopback, on cores of their own."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from wirebench.errors import UsageError
from wirebench.model.application import Application
from wirebench.model.cell import ServiceSpec
from wirebench.model.variables import redact
from wirebench.system import processes
from wirebench.system.paths import POSTGRES_URL, TOOLS
from wirebench.system.ports import LOOPBACK, reserve_ports
from wirebench.system.processes import Child, ProcessError, list_flags
from wirebench.system.readiness import answers_http, wait_ready
from wirebench.targets.cores import CoreClaim, Cores
from wirebench.targets.launch import Launch, find_command, launch_variant
from wirebench.targets.target import Description, Endpoint, Replica, Target

if TYPE_CHECKING:
    from wirebench.targets.certificates import CertificateFolder
    from wirebench.targets.databases import Databases

#: How long a service may take to finish requests in flight, and then to end its workers and itself.
_DRAIN_TIMEOUT_S = 10.0
_STOP_TIMEOUT_S = _DRAIN_TIMEOUT_S + 5.0


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
            elif not (path := Path(_find_command(service)[0])).exists():
                raise UsageError(f"the command {path.name} is not at {path}", "run `make setup`")
        self._claim = CoreClaim(self.cores.all)
        if any(service.store == "postgres" for service in services):
            self._prepare_databases()

    def describe(self) -> Description:
        return self._description

    def start(self, services: Sequence[ServiceSpec]) -> Mapping[ServiceSpec, Endpoint]:
        try:
            if any(service.tls != "none" and not service.variant for service in services):
                self._certificates = _make_certificates()
            with reserve_ports(2 * len(services)) as ports:
                pairs = list(zip(ports[::2], ports[1::2], strict=True))
            launches = [self._launch(service, *pair) for service, pair in zip(services, pairs, strict=True)]
            for service, launch in zip(services, launches, strict=True):
                self._children.append(self._start(service, launch))
            for child, launch in zip(self._children, launches, strict=True):
                self._wait_ready(child, launch)
        except BaseException:  # also when interrupted
            self.stop()
            raise
        return {
            service: Endpoint(
                service,
                f"{LOOPBACK}:{port}",
                (Replica(service.variant or service.transport, launch.admin_url, child.pid),),
                tls=launch.tls,
            )
            for service, launch, child, (port, _) in zip(services, launches, self._children, pairs, strict=True)
        }

    def check(self) -> None:
        for child in self._children:
            try:
                child.check_alive()
            except ProcessError as error:
                raise ProcessError(error.message, error.hint, self._redact(error.details)) from None

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

    def _prepare_databases(self) -> None:
        # Imported late: load pods, which start no services, have no psycopg.
        from wirebench.targets.databases import Databases

        self._databases = Databases(POSTGRES_URL)
        self._databases.prepare()
        where = "the server's cores" if self._databases.run_on(self.cores.server) else "any core"
        self._description = dataclasses.replace(
            self._description,
            versions={"postgres": self._databases.version},
            notes=(f"PostgreSQL ran on {where}; server CPU and memory are those of the services, without it",),
        )

    def _launch(self, service: ServiceSpec, port: int, admin_port: int) -> Launch:
        if service.variant and self._application:
            return launch_variant(self._application, service.variant, port, admin_port, service.workers)
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
            arguments |= self._certificates.server_flags
            tls = self._certificates.client_tls
        return Launch(
            arguments=[*_find_command(service), *list_flags(arguments)],
            is_ready=partial(answers_http, f"{LOOPBACK}:{admin_port}", "/readyz"),
            # A database of its own: all begin with the same data.
            environment={"WIREBENCH_STORE_URL": self._databases.create()}
            if self._databases and service.store == "postgres"
            else {},
            admin_url=f"http://{LOOPBACK}:{admin_port}",
            tls=tls,
        )

    def _start(self, service: ServiceSpec, launch: Launch) -> Child:
        name, log = f"the service {service}", self._log_path(str(service))
        return processes.start(name, launch.arguments, log, self.cores.server, launch.environment, folder=launch.folder)

    def _wait_ready(self, child: Child, launch: Launch) -> None:
        try:
            wait_ready(child, launch.is_ready, launch.ready_timeout_s)
        except ProcessError as error:
            message = f"{launch.where}: {error.message}".removeprefix(": ")
            raise ProcessError(message, error.hint, self._redact(error.details)) from None

    def _redact(self, lines: str) -> str:
        """Return lines of a service's log without the values of variables: it may log what it was started with."""
        if self._application is None:
            return lines
        named = self._application.find_variables(self._application.variants, self._application.operations)
        return redact(lines, {name for name, _ in named})


def _make_certificates() -> CertificateFolder:
    # Imported late: load pods, which import targets too, have no cryptography.
    from wirebench.targets.certificates import CertificateFolder

    return CertificateFolder([LOOPBACK, "localhost"])


def _find_command(service: ServiceSpec) -> list[str]:
    if service.implementation == "go":
        return [str(TOOLS / "wirebench-go"), service.transport]
    # These stand beside the interpreter that runs us: both come with the same set-up.
    return [str(Path(sys.executable).parent / f"wirebench-{service.transport}")]
