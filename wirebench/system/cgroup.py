"""Control groups, version 1 and 2: the one that this process is in, and what any of them has used.

Files and fields: cgroups(7), and cgroup-v1 and cgroup-v2.rst in the kernel's Documentation/admin-guide.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

MEMBERSHIP = Path("/proc/self/cgroup")
ROOT = Path("/sys/fs/cgroup")


def list_folders(controller: str, membership: Path = MEMBERSHIP, root: Path = ROOT) -> Iterator[Path]:
    """Yield the folders in which the files of a controller may be; none of them has to be there."""
    for line in membership.read_text(encoding="ascii").splitlines() if membership.is_file() else ():
        _, controllers, path = line.split(":", 2)
        if controllers == "" or controller in controllers.split(","):
            # In a container only its own cgroup is mounted, at the root, though it has its path on the host.
            yield from (root / controllers / path.lstrip("/"), root / controllers)


def read_fields(path: Path) -> dict[str, int]:
    """Return the numbers of a file such as `cpu.stat`, by name; none if it isn't there or isn't such a file."""
    try:
        return {name: int(value) for name, value in map(str.split, path.read_text(encoding="ascii").splitlines())}
    except (OSError, ValueError):
        return {}


def read_cpu_s(folder: Path) -> float | None:
    """Return the CPU time of all processes that are or were in a group, in seconds; None if it can't be read.

    `folder` belongs to the controller `cpuacct`, or to version 2.
    """
    usage_ns = _read_number(folder / "cpuacct.usage")
    if usage_ns is not None:
        return usage_ns / 1e9
    usage_us = read_fields(folder / "cpu.stat").get("usage_usec")
    return None if usage_us is None else usage_us / 1e6


def read_cpu_s_by_core(root: Path = ROOT) -> dict[int, float]:
    """Return for how long all processes of the machine ran on each core, in seconds; nothing if it can't be read.

    Version 1 alone has it. In a container its own group is mounted at the root: only the group of all processes has a
    `release_agent`.
    """
    folder = root / "cpuacct"
    if not (folder / "release_agent").exists():
        return {}
    try:
        used_ns = (folder / "cpuacct.usage_percpu").read_text(encoding="ascii").split()
        return {core: int(each) / 1e9 for core, each in enumerate(used_ns)}
    except (OSError, ValueError):
        return {}


def read_memory_bytes(folder: Path) -> int | None:
    """Return a group's working set: memory in use, without cached files that can go at once. None if it can't be read.

    Kubernetes shows and evicts by the same figure.
    """
    for usage, cache in (("memory.usage_in_bytes", "total_inactive_file"), ("memory.current", "inactive_file")):
        used_bytes = _read_number(folder / usage)
        if used_bytes is not None:
            return max(0, used_bytes - read_fields(folder / "memory.stat").get(cache, 0))
    return None


def _read_number(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
