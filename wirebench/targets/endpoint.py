"""Running services: where they are reached, and what of them can be seen into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wirebench.model.cell import ServiceSpec
from wirebench.model.variant import Limit
from wirebench.system.tls import ClientTls


@dataclass(frozen=True, slots=True)
class Containers:
    """Containers of one pod, by id, and the agent on their node that reads what they use."""

    agent_url: str
    pod_uid: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Replica:
    """One replica of a service. `admin_url` is None where it can't be asked.

    What it uses is read from the processes below `root_pids`, from its containers, or from its own metrics at
    `metrics_url`; without any of them, it isn't known.
    """

    name: str
    admin_url: str | None
    root_pids: tuple[int, ...] = ()
    containers: Containers | None = None
    metrics_url: str | None = None
    #: Whether its user may replace or remove it during a load; its own counts are lost then, and the load is not.
    may_go: bool = False

    @property
    def relies_on_metrics(self) -> bool:
        """Whether its usage can be read only from its own metrics."""
        return self.metrics_url is not None and not self.root_pids and self.containers is None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A running service, and those of its replicas that can be seen into.

    `address` is where it is reached, and `tls` what clients need there; None is plain text. In a cluster, `addresses`
    are those of the replicas one by one, and `headless_address` is the name that stands for them all. `agents` has the
    URL of each node's agent, for a service whose containers only its load pod can find.
    """

    service: ServiceSpec
    address: str
    replicas: tuple[Replica, ...] = ()
    headless_address: str = ""
    addresses: tuple[str, ...] = ()
    tls: ClientTls | None = None
    agents: Mapping[str, str] = field(default_factory=dict)
    #: Why what the service uses can't be read; empty if it can.
    usage_problem: str = ""
    #: What its load pods need besides, as values of our chart: Secrets, and pods of others to be placed by.
    load_values: Mapping[str, Any] = field(default_factory=dict)
    #: The most load that may be sent to it, where the run hasn't started it.
    limit: Limit | None = None


@dataclass(frozen=True, slots=True)
class Description:
    """What is to be said of a target in every result: in words, by name."""

    machine: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    #: The cores of the one machine that services and generators share under limits; None if they don't.
    shared_cores: int | None = None

    @property
    def is_elsewhere(self) -> bool:
        """Whether all of it is on other machines, whose CPU it describes in place of this one's."""
        return "cpu" in self.machine
