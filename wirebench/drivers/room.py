"""How many users of a load fit on this machine: by its memory, and by the files that a process may open."""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from wirebench import cgroup
from wirebench.scenario import Cell, drivers

#: Files that a process has open besides its connections.
_OTHER_FILES = 200
#: Linux allows no process more than this unless it is told to: fs.nr_open.
_FILES_MAX = 1_048_576
#: The rest is for services, which take ten or twenty kilobytes a connection, and for a machine that isn't idle.
_MEMORY_SHARE = 0.9
_MIB = 2**20


@dataclass(frozen=True, slots=True)
class Room:
    """What there is: free memory, and how many files a process may have open."""

    memory_mib: float
    open_files: int


@dataclass(frozen=True, slots=True)
class Squeeze:
    """A cell whose users don't fit: what they would take, what there is, and how many fit; the words with units."""

    cell: Cell
    taken: str
    free: str
    fitting: int


def here(membership: Path = cgroup.MEMBERSHIP, root: Path = cgroup.ROOT) -> Room:
    """Return what this machine has, and this process's cgroup leaves it."""
    free = psutil.virtual_memory().available
    _, files = resource.getrlimit(resource.RLIMIT_NOFILE)
    return Room(
        memory_mib=min([free, *_left_of_cgroups(membership, root)]) / _MIB,
        open_files=_FILES_MAX if files == resource.RLIM_INFINITY else files,
    )


def raise_open_files(room: Room) -> None:
    """Let all programs that are started from now on open as many files as the system lets us have."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):  # A system may have a lower limit that it doesn't tell.
        resource.setrlimit(resource.RLIMIT_NOFILE, (room.open_files, most))


def tightest(cells: Iterable[Cell], room: Room) -> Squeeze | None:
    """Return the cell of which the least share of users fits; None if all users of all cells do."""
    squeezes = [squeeze for cell in cells for squeeze in _squeezes(cell, room)]
    return min(squeezes, key=lambda each: each.fitting / each.cell.concurrency, default=None)


def _squeezes(cell: Cell, room: Room) -> Iterator[Squeeze]:
    free_mib = room.memory_mib * _MEMORY_SHARE
    fitting = drivers.users_in(free_mib, cell.driver, cell.transport)
    if fitting is not None and fitting < cell.concurrency:
        taken_mib = drivers.memory_mib(cell.driver, cell.transport, cell.concurrency)
        yield Squeeze(cell, f"{taken_mib:,} MiB of memory", f"{free_mib:,.0f} MiB are free for them", fitting)
    # A proxy between has two for each.
    each = 2 if cell.link else 1
    fitting = max(0, room.open_files - _OTHER_FILES) // each
    if fitting < cell.concurrency:
        taken = f"{each * cell.concurrency + _OTHER_FILES:,} open files"
        yield Squeeze(cell, taken, f"a process may have {room.open_files:,} (ulimit -Hn)", fitting)


def _left_of_cgroups(membership: Path, root: Path) -> Iterator[int]:
    """Yield what each limit of the cgroup, and of those that it is in, leaves, in bytes."""
    for folder in cgroup.folders("memory", membership, root):
        for each in (folder, *folder.parents):
            if each == root.parent:
                break
            yield from _left(each)


def _left(folder: Path) -> Iterator[int]:
    # What is cached of files gives way.
    cached = cgroup.fields(folder / "memory.stat").get
    for limit_file, used_file, cache in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        try:
            limit, used = (int((folder / name).read_text(encoding="ascii")) for name in (limit_file, used_file))
        except (OSError, ValueError):  # not this version, or "max"
            continue
        yield max(0, limit - used + cached(cache, 0))
