"""Whether a CPU limit held this process's cgroup back: the generator runs in it too."""

from __future__ import annotations

from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")


def throttled_periods(membership: Path = Path("/proc/self/cgroup"), root: Path = _ROOT) -> int | None:
    """Return in how many periods the cgroup met its CPU limit, so far; None where there is no such count."""
    try:
        lines = membership.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "" or "cpu" in controllers.split(","):
            # In a container only its own cgroup is mounted, at the root, though it has its path on the host.
            for folder in (root / controllers / path.lstrip("/"), root / controllers):
                count = _nr_throttled(folder / "cpu.stat")
                if count is not None:
                    return count
    return None


def _nr_throttled(path: Path) -> int | None:
    try:
        fields = dict(line.split() for line in path.read_text(encoding="ascii").splitlines())
        return int(fields["nr_throttled"])
    except (OSError, ValueError, KeyError):
        return None
