"""Whether a CPU limit held this process's cgroup back: the generator runs in it too."""

from __future__ import annotations

from pathlib import Path

from wirebench import cgroup


def throttled_periods(membership: Path = cgroup.MEMBERSHIP, root: Path = cgroup.ROOT) -> int | None:
    """Return in how many periods the cgroup met its CPU limit, so far; None where there is no such count."""
    counts = map(cgroup.read_throttled_periods, cgroup.folders("cpu", membership, root))
    return next((count for count in counts if count is not None), None)
