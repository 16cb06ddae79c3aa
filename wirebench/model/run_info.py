"""A run: its data, and what lies in its folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AwareDatetime, ConfigDict, Field

from wirebench.errors import pluralise
from wirebench.model.cell import Comparable
from wirebench.model.frozen import FrozenModel
from wirebench.model.record import Record

#: The copy of the timing file that a run has replayed.
TIMING_FILE = "timing.json"
#: The application of a run with variants, as it was read.
APPLICATION_FILE = "application.json"


class RunInfo(FrozenModel):
    """Data of a whole run: `run.json`."""

    model_config = ConfigDict(str_max_length=200_000)  # A page shows most of its texts.

    schema_version: Literal["wirebench.run/1"] = "wirebench.run/1"
    id: str
    scenario: str
    #: With overrides applied.
    scenario_text: Annotated[str, Field(max_length=1_000_000)]
    #: What options changed in the scenario file, such as `factors.concurrency 1, 16 -> 64`.
    overrides: tuple[str, ...] = ()
    #: Path of the application file; None for the built-in application.
    application: str | None = None
    question: str
    command: str
    target: str
    seed: int
    blocks: int
    cells: int
    #: Whether it looks up the drivers' error.
    calibrate: bool = True
    #: `running` until the end; `incomplete` if it was stopped, with the reason.
    status: Literal["running", "complete", "incomplete"]
    reason: str
    pid: int
    #: When that process began, as its number may be used again.
    process_began_unix_s: float | None = None
    started_at: AwareDatetime
    #: When it was resumed, each time. Durations are those of its parts, without the pauses.
    resumed_at: tuple[AwareDatetime, ...] = ()
    duration_s: float | None
    conformance_requests: int
    conformance_mismatches: tuple[str, ...]
    compare: Comparable
    equivalence_margin: float
    equivalence_margin_us: float | None = None
    versions: dict[str, str]
    machine: dict[str, str]
    notes: tuple[str, ...]
    commit: str | None

    @property
    def margin(self) -> str:
        """Within what differences count as equivalent: `5 %`, or `20 µs`."""
        return f"{us:,.12g} µs" if (us := self.equivalence_margin_us) else f"{self.equivalence_margin * 100:.12g} %"

    @property
    def machine_name(self) -> str:
        """What it was measured on in one short line, the same for the same hardware: `Some CPU, 4 cores`.

        The nodes of a cluster that are machines of their own are named by what they run and by their CPU.
        """
        cores = self.machine.get("cores", "")
        if cores.isdecimal():
            return f"{self.machine.get('cpu', 'unknown CPU')}, {pluralise(int(cores), 'core')}"
        return ", ".join(filter(None, (self.machine.get("cluster"), cores))) or "unknown"


@dataclass(frozen=True, slots=True)
class Run:
    """A run as it stands on disk; `records` in the order of their measuring."""

    folder: Path
    info: RunInfo
    records: tuple[Record, ...]
