"""Whether a CPU limit held this process's cgroup back: the generator runs in it too."""

from __future__ import annotations

from pathlib import Path

from wirebench import cgroup


def throttled_periods(membership: Path = cgroup.MEMBERSHIP, root: Path = cgroup.ROOT) -> int | None:
    """Return in how many periods the cgroup met its CPU limit, so far; None where there is no such count."""
    for folder in cgroup.folders("cpu", membership, root):
        count = cgroup.fields(folder / "cpu.stat").get("nr_throttled")
        if count is not None:
            return count
    return None
