"""What a driver is: a tool that sends a job's load and hands back a histogram file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from wirebench.drivers.histogram_file import HistogramFile
from wirebench.processes import Child
from wirebench.scenario import Cell, Load

#: The users that every store starts with, which reads pick from: the first id, and how many.
SEEDED_FIRST_ID = 1_000_001
SEEDED_USERS = 10_000

#: A creating job takes its ids from a range of its own, this long.
ID_RANGE = 10_000_000
ID_RANGES = (2**31 - 1) // ID_RANGE


@dataclass(frozen=True, slots=True)
class Job:
    """The load of one cell in one block.

    `id_range` (1 to `ID_RANGES`) says which ids a creating operation may take. `output` gets the histogram file,
    `log` what the tool prints.
    """

    cell: Cell
    load: Load
    address: str
    seed: int
    id_range: int
    output: Path
    log: Path
    cores: frozenset[int] | None

    @property
    def id_base(self) -> int:
        """The first id that a creating operation may take."""
        return self.id_range * ID_RANGE


class Driver(Protocol):
    """One load tool."""

    name: str

    def path(self) -> Path:
        """Where the tool is."""

    def version(self) -> str | None:
        """Return the tool's version, or None if it isn't installed."""

    def run(self, job: Job, watch: Callable[[Child], None]) -> tuple[HistogramFile, ...]:
        """Send the load and return what was measured: in one part, or in several that follow each other.

        `watch` is called with each process that is started. Raises ProcessError, with the tool's last lines, if
        it fails, and WirebenchError if its result can't be read.
        """
