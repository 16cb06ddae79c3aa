"""The snapshot that a running load writes once a second: docs/histogram-file.md, "The snapshot"."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, NonNegativeInt, PositiveInt, ValidationError

from wirebench.model.frozen import FrozenModel


class SnapshotLatency(FrozenModel):
    """Percentiles of what came in that second, in nanoseconds: of requests, or of the gaps between items."""

    clock: Literal["service", "response", "gap"]
    p50_ns: NonNegativeInt
    p99_ns: NonNegativeInt


class Snapshot(FrozenModel):
    """The last full second of a window; `seconds` of it are over. `items` is None without streams."""

    schema_version: Literal["wirebench.snapshot/1"] = Field(alias="schema")
    seconds: PositiveInt
    successful: NonNegativeInt
    failed: NonNegativeInt
    items: NonNegativeInt | None = None
    latency: SnapshotLatency | None = None


def read_snapshot(path: Path) -> Snapshot | None:
    """Return what a load has reported last; None if it has reported nothing yet, or nothing that can be read."""
    try:
        return Snapshot.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
