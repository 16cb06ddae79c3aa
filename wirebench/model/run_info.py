"""Data of a whole run."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, PositiveFloat, PositiveInt

from wirebench.model.factor import Comparable
from wirebench.model.frozen import FrozenModel

#: What ended a run that was repeated: settled verdicts, or a limit; empty until then.
Ended = Literal["", "settled", "blocks", "time"]


class Looks(FrozenModel):
    """When a run looks at its verdicts, which repeats blocks until they are settled."""

    #: The numbers of blocks after which it does so; the last is its limit. Verdicts are corrected for all of them.
    blocks: Annotated[tuple[PositiveInt, ...], Field(min_length=1, max_length=1000)]
    #: No block begins after so long.
    duration_max_s: PositiveFloat | None = None
    ended: Ended = ""


class RunInfo(FrozenModel):
    """Data of a whole run: `run.json`."""

    schema_version: Literal["wirebench.run/1"] = "wirebench.run/1"
    id: str
    scenario: str
    #: With overrides applied.
    scenario_text: str
    #: What options changed in the scenario file, such as `factors.concurrency 1, 16 -> 64`.
    overrides: tuple[str, ...] = ()
    #: Path of the application file; None for the built-in application.
    application: str | None = None
    question: str
    command: str
    target: str
    seed: int
    #: Of a run that is repeated until its verdicts are settled: at most so many, until it ends.
    blocks: int
    looks: Looks | None = None
    cells: int
    #: Whether it looks up the drivers' error.
    calibrate: bool = True
    #: `running` until the end; `incomplete` if it was stopped, with the reason.
    status: Literal["running", "complete", "incomplete"]
    reason: str
    pid: int
    #: When that process began, as its number may be used again.
    process_began_unix_s: float | None = None
    started_at: str
    #: When it was resumed, each time. Durations are those of its parts, without the pauses.
    resumed_at: tuple[AwareDatetime, ...] = ()
    duration_s: float | None
    measured_s: float | None
    services_start_s: float | None
    conformance_requests: int
    conformance_mismatches: tuple[str, ...]
    compare: Comparable
    equivalence_margin: float
    versions: dict[str, str]
    machine: dict[str, str]
    notes: tuple[str, ...]
    commit: str | None

    @property
    def looks_planned(self) -> int:
        """How often verdicts are looked at, which they are corrected for."""
        return len(self.looks.blocks) if self.looks else 1
