"""`progress.json`: the progress of a run, in its folder while it is running."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, Self

from pydantic import (
    AwareDatetime,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveInt,
    ValidationError,
    model_validator,
)

from wirebench.model.frozen import FrozenModel
from wirebench.system.files import write_atomic

#: How many points a history has at most: two minutes of seconds.
HISTORY_MAX = 120
#: A run that was silent for so long, in seconds, has stopped, or can't write.
SILENT_S = 10.0
_FILE = "progress.json"


class Figures(FrozenModel):
    """What was measured: in the last full second of a cell's window, or in the whole of it.

    `rate_per_s` are successful requests; for streams those that ended, and `items_per_s` what they brought. The
    percentiles are of `clock`: of successful requests, or of the gaps between items; None where there were none.
    """

    cell: str
    rate_per_s: NonNegativeFloat
    failed_per_s: NonNegativeFloat
    items_per_s: NonNegativeFloat | None
    clock: Literal["service", "response", "gap"] | None
    p50_ms: NonNegativeFloat | None
    p99_ms: NonNegativeFloat | None


class ProgressPoint(FrozenModel):
    """One second of a cell, or the whole of one that reports nothing until it ends; `cell` is its number, from 1 on."""

    at: AwareDatetime
    cell: PositiveInt
    #: One of the run's variants.
    variant: str
    #: Requests, or items of streams.
    rate_per_s: NonNegativeFloat
    p99_ms: NonNegativeFloat | None


class RunProgress(FrozenModel):
    """How a run goes. `left_s` is how long it will still take, in seconds, by what its cells have taken so far."""

    schema_version: Literal["wirebench.progress/1"] = "wirebench.progress/1"
    updated_at: AwareDatetime
    #: The machine or the container that the run's process is on.
    host: str
    #: Cells whose records are on disk, and all.
    done: NonNegativeInt
    total: PositiveInt
    #: The transports of all variants by their names in the run's charts, in the order of the charts.
    variants: dict[str, str]
    #: What is happening, in words.
    step: str
    left_s: NonNegativeFloat
    #: The cell whose load is being sent, in words; None between two of them.
    cell: str | None
    driver: str | None
    #: Whether its driver reports progress, rather than nothing before its end.
    writes_snapshots: bool
    #: The last full second of that cell's window, and the last cell that is done.
    now: Figures | None
    last: Figures | None
    history: tuple[ProgressPoint, ...] = Field(max_length=HISTORY_MAX)

    @model_validator(mode="after")
    def _check_done(self) -> Self:
        if self.done > self.total:
            raise ValueError("more cells are done than there are")
        return self

    def silent_s(self, now: datetime | None = None) -> float:
        """Return how long the run has reported nothing, in seconds: it reports once a second while it is alive."""
        return max(0.0, ((now or datetime.now(UTC)) - self.updated_at).total_seconds())


def write_progress(folder: Path, progress: RunProgress) -> None:
    """Say in a run's folder how it goes, whole or not at all. Raises WirebenchError."""
    write_atomic(folder / _FILE, progress.model_dump_json(), lasting=False)


def read_progress(folder: Path) -> RunProgress | None:
    """Return how a run goes, or went when it was killed; None if it is over, has no progress yet, or is damaged.

    `run.json` and the time since the last write say whether it is still running.
    """
    try:
        return RunProgress.model_validate_json((folder / _FILE).read_bytes())
    except (OSError, ValidationError):
        return None


def remove_progress(folder: Path) -> None:
    """Say that a run is over; does nothing where nothing was said of it."""
    with contextlib.suppress(OSError):
        (folder / _FILE).unlink()
