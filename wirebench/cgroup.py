"""The cgroup that this process is in, version 1 or 2, and with it all that it starts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

MEMBERSHIP = Path("/proc/self/cgroup")
ROOT = Path("/sys/fs/cgroup")


def folders(controller: str, membership: Path = MEMBERSHIP, root: Path = ROOT) -> Iterator[Path]:
    """Yield the folders in which the files of a controller may be; none of them has to be there."""
    try:
        lines = membership.read_text(encoding="ascii").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "" or controller in controllers.split(","):
            # In a container only its own cgroup is mounted, at the root, though it has its path on the host.
            yield from (root / controllers / path.lstrip("/"), root / controllers)


def fields(path: Path) -> dict[str, int]:
    """Return the numbers of a file such as `cpu.stat`, by name; none if it isn't there or isn't such a file."""
    try:
        return {name: int(value) for name, value in map(str.split, path.read_text(encoding="ascii").splitlines())}
    except (OSError, ValueError):
        return {}
