"""What a driver is: a tool that sends a job's load and hands back a histogram file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from wirebench.drivers.histogram_file import HistogramFile
from wirebench.drivers.live import Live
from wirebench.processes import Child
from wirebench.scenario import Cell, Load
from wirebench.tls import ClientTls

#: Where the ids of users that a load creates begin, and what a creating job's first id is a multiple of.
CREATED_FIRST_ID = 10_000_000
ID_STEP = 1_000_000

#: What installs the drivers that every user needs; of the others each has a make target of its own.
SETUP = "make setup"

#: Parts of the window that have figures of their own, where its load changes.
SLICES = 50


@dataclass(frozen=True, slots=True)
class Job:
    """The load of one cell in one block.

    `address` is host:port; where the client is to balance, `replicas` are the addresses that the host's name stands
    for. `id_base` is the first id that a creating operation may take. `output` gets the histogram file, `log` what the
    tool prints. Of several generators that share the load, `generator` says which this one is, and of how many. `live`
    is told how it goes. `snapshot` is a file for a driver to tell how it goes (`wirebench.drivers.snapshot`), if it
    tells at all. `tls` is what the tool needs for a service that speaks TLS; None is plain text.
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
    generator: tuple[int, int] = (0, 1)
    live: Live | None = None
    snapshot: Path | None = None
    tls: ClientTls | None = None


class Driver(Protocol):
    """A load tool."""

    name: str
    #: The make target that installs it.
    setup: str
    #: How many cores it can use; None if as many as there are.
    cores_max: int | None
    #: Whether it writes a job's snapshot once a second, rather than tell nothing before it ends.
    tells_each_second: bool

    def path(self) -> Path:
        """Where the tool is."""

    def version(self) -> str | None:
        """Return the tool's version, or None if it isn't installed."""

    def run(self, job: Job, watch: Callable[[Child], None]) -> tuple[HistogramFile, ...]:
        """Send the load and return what was measured: in one part, or in several that follow each other.

        `watch` is called with each process that is started. Raises ProcessError, with the tool's last lines, if
        it fails, and WirebenchError if its result can't be read.
        """
