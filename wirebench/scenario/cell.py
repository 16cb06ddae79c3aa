"""A cell: one combination of factors."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from wirebench.scenario.contract import Codec, Connection, Driver, Operation, Store, Transport


@dataclass(frozen=True, slots=True)
class ServiceSpec:
    """The part of a cell that a running service embodies."""

    transport: Transport
    runtime: str
    workers: int
    threads: int | None
    store: Store

    def __str__(self) -> str:
        """Name the service in messages and log files."""
        threads = f"-t{self.threads}" if self.threads else ""
        return f"{self.transport}-{self.runtime}-w{self.workers}{threads}-{self.store}"


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of factors; `rate_per_s` is None under a closed load."""

    transport: Transport
    runtime: str
    driver: Driver
    operation: Operation
    concurrency: int
    rate_per_s: int | None
    workers: int
    threads: int | None
    store: Store
    codec: Codec
    connection: Connection

    @property
    def service(self) -> ServiceSpec:
        """The service that this cell loads."""
        return ServiceSpec(self.transport, self.runtime, self.workers, self.threads, self.store)

    @property
    def factors(self) -> dict[str, str | int | float | None]:
        """All factors by name."""
        return dataclasses.asdict(self)

    @property
    def id(self) -> str:
        """A name that is unique in its plan, and fit for a file."""
        load = f"r{self.rate_per_s}-c{self.concurrency}" if self.rate_per_s else f"c{self.concurrency}"
        parts = (self.service, self.codec, self.connection, self.operation, load, self.driver)
        return "-".join(map(str, parts))
