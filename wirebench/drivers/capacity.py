"""How many users of a load this machine can hold: by its memory and by the limit of open files."""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from wirebench.model.cell import Cell
from wirebench.plan import driver_support
from wirebench.system import cgroup

#: Files that a process has open besides its connections.
_OTHER_FILES = 200
#: The highest limit that Linux allows by default: fs.nr_open.
_FILES_MAX = 1_048_576
#: The rest is for services, which take ten or twenty kilobytes a connection, and for a machine that isn't idle.
_MEMORY_SHARE = 0.9
_MIB = 2**20


@dataclass(frozen=True, slots=True)
class Capacity:
    """Free memory, and how many files a process may open."""

    memory_mib: float
    open_files: int


@dataclass(frozen=True, slots=True)
class CapacityShortfall:
    """A cell with more users than fit. `needed` and `available` are texts with units."""

    cell: Cell
    needed: str
    available: str
    users_max: int


def read_capacity(membership: Path = cgroup.MEMBERSHIP, root: Path = cgroup.ROOT) -> Capacity:
    free = psutil.virtual_memory().available
    _, files = resource.getrlimit(resource.RLIMIT_NOFILE)
    return Capacity(
        memory_mib=min([free, *_read_free_of_cgroups(membership, root)]) / _MIB,
        open_files=_FILES_MAX if files == resource.RLIM_INFINITY else files,
    )


def raise_open_files(capacity: Capacity) -> None:
    """Let all programs that are started from now on open as many files as the system lets us have."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):  # A system may have a lower limit that it doesn't report.
        resource.setrlimit(resource.RLIMIT_NOFILE, (capacity.open_files, most))


def find_shortfall(cells: Iterable[Cell], capacity: Capacity) -> CapacityShortfall | None:
    """Return the cell of which the smallest share of users fits; None if all fit."""
    shortfalls = [shortfall for cell in cells for shortfall in _list_shortfalls(cell, capacity)]
    return min(shortfalls, key=lambda each: each.users_max / each.cell.concurrency, default=None)


def _list_shortfalls(cell: Cell, capacity: Capacity) -> Iterator[CapacityShortfall]:
    free_mib = capacity.memory_mib * _MEMORY_SHARE
    fitting = driver_support.count_fitting_users(free_mib, cell.driver, cell.transport)
    if fitting is not None and fitting < cell.concurrency:
        taken_mib = driver_support.estimate_memory_mib(cell.driver, cell.transport, cell.concurrency)
        yield CapacityShortfall(cell, f"{taken_mib:,} MiB of memory", f"{free_mib:,.0f} MiB are free for them", fitting)
    # A proxy between has two for each.
    each = 1 if cell.delay_ms is None else 2
    fitting = max(0, capacity.open_files - _OTHER_FILES) // each
    if fitting < cell.concurrency:
        taken = f"{each * cell.concurrency + _OTHER_FILES:,} open files"
        yield CapacityShortfall(cell, taken, f"a process may have {capacity.open_files:,} (ulimit -Hn)", fitting)


def _read_free_of_cgroups(membership: Path, root: Path) -> Iterator[int]:
    """Yield the bytes that the limits of the cgroup and its parents leave."""
    for folder in cgroup.list_folders("memory", membership, root):
        for each in (folder, *folder.parents):
            if each == root.parent:
                break
            limit, used = cgroup.read_memory_limit_bytes(each), cgroup.read_memory_bytes(each)
            if limit is not None and used is not None:
                yield max(0, limit - used)
