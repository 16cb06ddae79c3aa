"""The interface of a driver: a tool that sends a job's load and returns a histogram file."""

from __future__ import annotations

import sqlite3
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from pydantic import Field

from wirebench.errors import WirebenchError
from wirebench.model.cell import Cell
from wirebench.model.histogram_file import HistogramFile
from wirebench.model.scenario import Load
from wirebench.system import processes
from wirebench.system.paths import APPLICATION, CONTRACT
from wirebench.system.processes import Child
from wirebench.system.tls import ClientTls

#: Installs the driver that every user needs, and those that check its figures. Each other has a make target of its own.
SETUP = "make setup"
SETUP_CROSS_CHECK = "make setup-cross-check"

#: Where a Prometheus takes pushes, by the OpenTelemetry protocol: https://opentelemetry.io/docs/specs/otlp/
OTLP = "/api/v1/otlp/v1/metrics"

#: For what a job has on its own machine only: it isn't sent to load pods.
_LOCAL = Field(exclude=True)

_TIMEOUT_S = 10.0
_GRACE_S = 60.0


@dataclass(frozen=True, slots=True)
class MetricsPush:
    """A Prometheus that wireload and k6 push live metrics to, and the labels of these. A load continues without it."""

    url: str
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Job:
    """The load of one cell in one block.

    `address` is host:port. Where the client balances, `replicas` are the addresses behind that host. `id_base` is the
    first id that a creating operation may use. `output` is the histogram file, beside which the driver has a temporary
    folder, and `log` its log. `tls` is None for plain text. `application` is the application file, and `descriptors`
    one with the messages of gRPC.
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
    application: Annotated[Path, _LOCAL] = APPLICATION
    descriptors: Annotated[Path, _LOCAL] = CONTRACT

    @property
    def timeout_s(self) -> float:
        """How long a request may take."""
        return self.load.timeout_s or _TIMEOUT_S

    @property
    def rest_url(self) -> str:
        return f"{'https' if self.tls else 'http'}://{self.address}"

    def write_input(self, name: str, text: str) -> Path:
        """Write a file that the tool reads beside the job's output, and return its path."""
        path = self.output.with_name(name)
        path.write_text(text, encoding="utf-8")
        return path


class Driver(ABC):
    """A load tool. Its adapter says how it is called, and what its report means."""

    name: str
    path: Path
    #: The make target that installs it.
    setup = SETUP
    #: How many cores it can use; None if as many as there are.
    cores_max: int | None = None

    def read_version(self) -> str | None:
        return processes.read_version(self.path)

    @abstractmethod
    def build_arguments(self, job: Job) -> list[str | Path]:
        """Write what the tool needs beside the job's output, and return the command line."""

    @abstractmethod
    def read(self, job: Job) -> HistogramFile:
        """Read what the tool has reported; what is raised where that can't be read becomes a WirebenchError."""

    def run(self, job: Job, watch: Callable[[Child], None]) -> HistogramFile:
        """Send the load and return what was measured.

        `watch` is called with its process when it has started. Raises ProcessError, with the tool's last lines, if it
        fails, and WirebenchError if its result can't be read.
        """
        try:
            with tempfile.TemporaryDirectory(prefix=f"{self.name}-", dir=job.output.parent) as folder:
                own = replace(job, output=Path(folder).absolute() / "output")
                arguments = self.build_arguments(own)
                # Loads go past the proxies that the environment may name; times are in UTC.
                environment = {"NO_PROXY": "*", "no_proxy": "*", "TZ": "UTC"}
                child = processes.start(self.name, arguments, job.log, job.cores, environment)
                try:
                    watch(child)
                    # What waits at the end of an open load may be sent for one timeout, and take another one.
                    status = child.wait(job.load.warmup_s + job.load.window_s + 2 * job.timeout_s + _GRACE_S)
                finally:
                    child.stop()
                if status:
                    raise child.make_error(processes.describe_status(status))
                return self.read(own)
        except (OSError, ValueError, LookupError, TypeError, sqlite3.Error) as error:
            raise WirebenchError(f"{self.name} has no result: {error}", "see its log") from error
