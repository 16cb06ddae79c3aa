"""A cell: one combination of factors."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from wirebench.model import contract
from wirebench.model.factor import FACTORS


@dataclass(frozen=True, slots=True)
class ServiceSpec:
    """The part of a cell that a running service embodies."""

    transport: contract.Transport
    #: None, as the store and the implementation, of an own variant.
    runtime: str | None
    workers: int
    threads: int | None
    store: contract.Store | None
    #: None is what the service has: a run can't set it.
    replicas: int | None = 1
    #: Of each replica, in a cluster; None elsewhere.
    cpu_limit_millicores: int | None = None
    #: Whether it runs in the pod that its load comes from, and has no pod of its own.
    beside_load: bool = False
    implementation: contract.Implementation | None = "python"
    tls: contract.Tls = "none"
    #: Of each worker; None is the service's own number.
    store_connections: int | None = None
    #: Its name in the application file; None of the built-in application.
    variant: str | None = None

    def __str__(self) -> str:
        threads = f"-t{self.threads}" if self.threads else ""
        connections = f"-p{self.store_connections}" if self.store_connections else ""
        cpu = f"-{self.cpu_limit_millicores}m" if self.cpu_limit_millicores else ""
        replicas = f"-x{self.replicas}" if (self.replicas or 1) > 1 else ""
        tls = f"-{self.tls}-tls" if self.tls != "none" else ""
        name = f"{self.variant}-w{self.workers}"
        if not self.variant:
            name = f"{self.transport}-{self.runtime}-w{self.workers}{threads}-{self.store}{connections}"
        return f"{name}{replicas}{cpu}{tls}"


@dataclass(frozen=True, slots=True)
class Link:
    """What a proxy does to all that passes between generator and server.

    `delay_ms` is added to every round trip. With `loss_percent`, of the packets of each direction, the kernel does all
    of it (netem), to the packets on their way to the proxy.
    """

    delay_ms: int
    loss_percent: float | None = None

    def __str__(self) -> str:
        loss = "" if self.loss_percent is None else f"l{self.loss_percent:g}"
        return f"d{self.delay_ms}{loss}"


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of factors.

    `operation` is one of the application's, or the name of a workload. `rate_per_s` is None under a closed load and a
    replay. `shape` is None under a load that is steady, `connections` where
    each of the load's users has its own, outside clusters what only they have, and `delay_ms` where the load goes
    straight to the service.
    """

    transport: contract.Transport
    runtime: str | None
    driver: contract.Driver
    operation: str
    concurrency: int
    rate_per_s: int | None
    workers: int
    threads: int | None
    store: contract.Store | None
    codec: contract.Codec
    connection: contract.Connection
    connections: int | None = None
    implementation: contract.Implementation | None = "python"
    #: None is the operation's own.
    payload: str | int | None = None
    shape: contract.Shape | None = None
    #: Of each stream, where the operation is one, or 0 where that isn't asked for.
    stream_items: int | None = None
    #: The rate that its items are asked for at; None for no limit.
    stream_rate_limit_per_s: int | None = None
    replicas: int | None = 1
    placement: contract.Placement | None = None
    balancing: contract.Balancing | None = None
    cpu_limit_millicores: int | None = None
    delay_ms: int | None = None
    loss_percent: float | None = None
    tls: contract.Tls = "none"
    store_connections: int | None = None
    #: None for the built-in application; otherwise runtime, implementation and store are None.
    variant: str | None = None
    #: None is HTTP/1.1, or another transport than REST.
    http: Literal[2] | None = None

    @property
    def service(self) -> ServiceSpec:
        own: dict[str, Any] = {name: getattr(self, name) for name in _OF_SERVICE}
        return ServiceSpec(**own, beside_load=self.placement == "same-pod")

    def adopt(self, service: ServiceSpec) -> Cell:
        """Return the cell as it is on a service."""
        return dataclasses.replace(self, **{name: getattr(service, name) for name in _OF_SERVICE})

    @property
    def link(self) -> Link | None:
        """The link that its load goes through; None if it goes straight to the service."""
        if self.delay_ms is None:
            return None
        return Link(self.delay_ms, self.loss_percent)

    @property
    def is_stream(self) -> bool:
        return self.stream_items is not None

    @property
    def factors(self) -> dict[str, str | int | float | None]:
        return dataclasses.asdict(self)

    @property
    def id(self) -> str:
        """A name that is unique in its plan, and fit for a file."""
        rate = f"r{self.rate_per_s}" if self.rate_per_s else None
        load = "-".join(filter(None, (self.shape, rate, f"c{self.concurrency}")))
        connections = f"n{self.connections}" if self.connections else None
        parts = (self.service, self.codec, self.connection, self.operation, load, self.driver)
        items = f"i{self.stream_items}" if self.stream_items else None
        limit = f"l{self.stream_rate_limit_per_s}" if self.stream_rate_limit_per_s else None
        http = f"http{self.http}" if self.http else None
        others = (http, self.payload, items, limit, connections, self.placement, self.balancing, self.link)
        return "-".join(map(str, (*parts, *filter(None, others))))


#: The factors that a running service embodies as they are.
_OF_SERVICE = tuple(each.name for each in dataclasses.fields(ServiceSpec) if each.name in FACTORS)
#: The levels of factors that not every cell names.
FACTOR_DEFAULTS: Mapping[str, Any] = {
    field.name: field.default for field in dataclasses.fields(Cell) if field.default is not dataclasses.MISSING
}
