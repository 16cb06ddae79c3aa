"""What is said once for a whole run."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict

from wirebench.scenario.contract import Comparable, Driver


class RunInfo(BaseModel):
    """What is said once for a run: `run.json`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Literal["wirebench.run/1"] = "wirebench.run/1"
    id: str
    scenario: str
    scenario_text: str
    question: str
    command: str
    target: str
    seed: int
    blocks: int
    #: The driver of all cells; None if there are several. Runs of earlier versions don't say.
    driver: Driver | None = None
    cells: int
    #: `running` until the end; `incomplete` if it was stopped, with the reason.
    status: Literal["running", "complete", "incomplete"]
    reason: str
    pid: int
    #: When that process began, which tells it from others of its number; runs of earlier versions don't say.
    process_began_unix_s: float | None = None
    started_at: str
    #: When it went on, each time that it had been stopped. Durations are those of its parts, without the pauses.
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
