"""The control groups that this process is in, version 1 or 2: what they have used, and when they were held back.

Files and fields are those of cgroups(7) and of the kernel's Documentation/admin-guide/cgroup-v1 and cgroup-v2.rst.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath

#: What the only hierarchy of version 2 is called here; those of version 1 go by their controllers.
_V2 = ""


class Cgroup:
    """Reads the files anew at each call. What isn't there is None: another system, or a controller that is off."""

    def __init__(self, proc: Path = Path("/proc/self")) -> None:
        """Find the folders of a process, by its folder in /proc."""
        self._folders = _folders(proc)

    def cpu_seconds(self) -> float | None:
        """Return the CPU time of all processes that are or were in the group, in seconds."""
        if "cpuacct" in self._folders:
            usage_ns = _number(self._folders["cpuacct"] / "cpuacct.usage")
            return None if usage_ns is None else usage_ns / 1e9
        usage_us = self._cpu_statistics().get("usage_usec")
        return None if usage_us is None else usage_us / 1e6

    def throttled_periods(self) -> int | None:
        """Return in how many periods the group met its CPU limit."""
        return self._cpu_statistics().get("nr_throttled")

    def memory_bytes(self) -> int | None:
        """Return the working set: memory in use, without cached files that can go at once.

        It is the figure that Kubernetes shows and evicts by.
        """
        if "memory" in self._folders:
            folder, usage, cache = self._folders["memory"], "memory.usage_in_bytes", "total_inactive_file"
        elif _V2 in self._folders:
            folder, usage, cache = self._folders[_V2], "memory.current", "inactive_file"
        else:
            return None
        used_bytes = _number(folder / usage)
        return None if used_bytes is None else max(0, used_bytes - _fields(folder / "memory.stat").get(cache, 0))

    def _cpu_statistics(self) -> dict[str, int]:
        folder = self._folders.get("cpu") or self._folders.get(_V2)
        return _fields(folder / "cpu.stat") if folder else {}


def _folders(proc: Path) -> dict[str, Path]:
    """Return the group's folder for each controller.

    /proc/self/cgroup names groups from the top of their hierarchy, /proc/self/mountinfo says where it is mounted, and
    from which group down: in a container of version 1 that is the container's own, though its path is the host's.
    """
    groups: dict[str, str] = {}
    for line in _lines(proc / "cgroup"):
        _, controllers, path = line.split(":", 2)
        groups.update(dict.fromkeys(controllers.split(","), path))
    folders: dict[str, Path] = {}
    for line in _lines(proc / "mountinfo"):
        place, _, source = line.partition(" - ")
        if not source.startswith("cgroup"):
            continue
        top, mount = place.split()[3:5]
        kind, _, options = source.split(" ")[:3]
        mounted = {"cgroup": options.split(","), "cgroup2": [_V2]}.get(kind, [])
        for name in groups.keys() & mounted:
            folders.setdefault(name, _below(Path(mount), top, groups[name]))
    return folders


def _below(mount: Path, top: str, group: str) -> Path:
    """Return where a group lies in a mount that begins with the group `top`."""
    try:
        folder = mount / PurePosixPath(group).relative_to(top)
    except ValueError:
        return mount
    return folder if folder.is_dir() else mount


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _fields(path: Path) -> dict[str, int]:
    """Return the numbers of a file that has a name and a number on each line."""
    pairs = (line.split() for line in _lines(path))
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdecimal()}  # noqa: PLR2004
