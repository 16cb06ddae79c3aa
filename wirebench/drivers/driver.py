"""The interface of a driver: a tool that sends a job's load and returns a histogram file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from wirebench.drivers.metrics_push import MetricsPush
from wirebench.model.cell import Cell
from wirebench.model.histogram_file import HistogramFile
from wirebench.model.scenario import Load
from wirebench.system import processes
from wirebench.system.network_namespace import NetworkNamespace
from wirebench.system.paths import APPLICATION, CONTRACT
from wirebench.system.processes import Child
from wirebench.system.tls import ClientTls

#: Where the ids of users that a load creates begin, and what a creating job's first id is a multiple of.
CREATED_FIRST_ID = 10_000_000
ID_STEP = 1_000_000

#: Installs the driver that every user needs, and those that check its figures. Each other has a make target of its own.
SETUP = "make setup"
SETUP_CROSS_CHECK = "make setup-cross-check"

#: For what a job has on its own machine only: it isn't sent to load pods.
_LOCAL = Field(exclude=True)

_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class Job:
    """The load of one cell in one block.

    `address` is host:port. Where the client balances, `replicas` are the addresses behind that host. `id_base` is the
    first id that a creating operation may use. The driver writes the histogram file to `output` and its log to `log`.
    `tls` is None for plain text. `application` is the
    application file, and `descriptors` one with the messages of gRPC.
    """

    cell: Cell
    load: Load
    address: str
    seed: int
    id_base: int
    output: Path
    log: Path
    cores: frozenset[int] | None
    replicas: tuple[str, ...] = ()
    metrics_push: MetricsPush | None = None
    tls: ClientTls | None = None
    #: Where the driver runs, if not on this machine's network.
    namespace: NetworkNamespace | None = None
    application: Annotated[Path, _LOCAL] = APPLICATION
    descriptors: Annotated[Path, _LOCAL] = CONTRACT

    @property
    def timeout_s(self) -> float:
        """How long a request may take."""
        return self.load.timeout_s or _TIMEOUT_S

    @property
    def rest_url(self) -> str:
        return f"{'https' if self.tls else 'http'}://{self.address}"

    @property
    def tls_flags(self) -> list[str | Path]:
        """The flags that most tools take for TLS; without an authority, they trust those of the system."""
        return processes.list_flags({"--cacert": self.tls and self.tls.authority})


class Driver(ABC):
    """A load tool."""

    name: str
    path: Path
    #: The make target that installs it.
    setup = SETUP
    #: How many cores it can use; None if as many as there are.
    cores_max: int | None = None
    #: What it logs when Prometheus rejects its metrics; the load continues. Empty if it doesn't push by itself.
    push_failure = ""

    def read_version(self) -> str | None:
        return processes.read_version(self.path)

    @abstractmethod
    def run(self, job: Job, watch: Callable[[Child], None]) -> HistogramFile:
        """Send the load and return what was measured.

        `watch` is called with its process when it has started. Raises ProcessError, with the tool's last lines, if it
        fails, and WirebenchError if its result can't be read.
        """

    def build_environment(self, job: Job) -> Mapping[str, str]:  # noqa: ARG002 - of those that override it
        return {}

    def carry_out(
        self, job: Job, arguments: Sequence[str | Path], watch: Callable[[Child], None], timeout_s: float
    ) -> None:
        """Run the tool to its end. Raises ProcessError."""
        if job.namespace:
            arguments = job.namespace.wrap(arguments)
        # Load goes past the proxies that the environment may name, which some tools would take.
        environment = {"NO_PROXY": "*", "no_proxy": "*", **self.build_environment(job)}
        child = processes.start(self.name, arguments, job.log, job.cores, environment)
        try:
            watch(child)
            status = child.wait(timeout_s)
        finally:
            child.stop()
        if status:
            raise child.make_error(processes.describe_status(status))
        if job.metrics_push and self.push_failure:
            lines = job.log.read_text(errors="replace").splitlines()
            if failures := [line for line in lines if self.push_failure in line]:
                # A line may be in logfmt, in quotes, with those in it escaped.
                problem = failures[-1].rpartition(self.push_failure)[2].strip().removesuffix('"')
                job.metrics_push.problem = problem.replace('\\"', '"')
