"""What a target is: something that has services running and says where they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from wirebench.model.cell import Cell, ServiceSpec
from wirebench.model.scenario import Load
from wirebench.model.variant import Limit
from wirebench.system.tls import ClientTls
from wirebench.targets.cores import Cores

#: As JSON; `wirebench.run.load_pod.task` says what is in it.
Task = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Containers:
    """Containers of one pod, by id, and the agent on their node that reads what they use."""

    agent_url: str
    pod_uid: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Replica:
    """One replica of a service. `admin_url` is None where it can't be asked.

    What it uses is read from the processes below `root_pid`, from its containers, or from its own metrics at
    `metrics_url`; if all are None, it isn't known.
    """

    name: str
    admin_url: str | None
    root_pid: int | None = None
    containers: Containers | None = None
    metrics_url: str | None = None
    #: Whether its user may replace or remove it during a load; its own counts are lost then, and the load is not.
    may_go: bool = False

    @property
    def relies_on_metrics(self) -> bool:
        """Whether its usage can be read only from its own metrics."""
        return self.metrics_url is not None and self.root_pid is None and self.containers is None


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


class LoadPods(Protocol):
    """Where load comes from if not from this process: pods that each carry out a task (`wirebench.run.load_pod`)."""

    def count_cores(self, load: Load) -> float:
        """Return how many cores each of a load's pods may use."""

    def measure(self, cell: Cell, load: Load, endpoint: Endpoint, task: Task) -> tuple[str, ...]:
        """Have a pod for each of the load's generators carry out the task, and return what each has printed.

        They are placed as the cell says. Raises WirebenchError if one can't be started, fails, or has gone.
        """

    def run_once(
        self, task: Task, cores: float = 1.0, endpoints: Sequence[Endpoint] = (), expected_s: float = 0.0
    ) -> str:
        """Have a single pod, which may use so many cores, carry out the task; return what it has printed.

        `endpoints` are those that it sends requests to. For the `expected_s` that a measurement takes, nothing else is
        done.

        Raises WirebenchError.
        """


class Target:
    """A place where services run; the defaults are those of one that starts nothing."""

    name: str
    #: Which cores the services have and which the drivers are to use; None where the target doesn't know.
    cores: Cores | None = None
    #: Whether services are freshly started, for every block or for every cell.
    restarts_services: bool = True
    #: Whether the services of all cells of a block run at once, or each for its cells alone.
    runs_all_services: bool = True
    load_pods: LoadPods | None = None
    #: The Prometheus that load tools push live metrics to, as they reach it; None if to none.
    prometheus: str | None = None

    def prepare(self, services: Sequence[ServiceSpec]) -> None:
        """See that the services can be had, before anything is started or written. Raises WirebenchError."""
        raise NotImplementedError

    def describe(self) -> Description:
        """Return what is to be said of the place, once it is prepared."""
        raise NotImplementedError

    def start(self, services: Sequence[ServiceSpec]) -> Mapping[ServiceSpec, Endpoint]:
        """Have the services running and ready. Raises WirebenchError; then none of them is left running."""
        raise NotImplementedError

    def check(self) -> None:
        """Raise WirebenchError, with its last log lines, if a service has died."""

    def stop(self) -> None:
        """Stop what `start` has started, in order; does nothing when nothing runs."""

    def clean_up(self) -> None:
        """Remove all that was put there for the run; does nothing when nothing is there. Raises WirebenchError."""
