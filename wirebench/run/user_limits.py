"""How many users of a load this machine can hold: by its memory and by the limit of open files."""

from __future__ import annotations

import contextlib
import resource
from pathlib import Path

import psutil

from wirebench.errors import UsageError
from wirebench.plan import driver_support
from wirebench.plan.plan import Plan
from wirebench.system import cgroup

#: Files that a process has open besides its connections.
_OTHER_FILES = 200
#: The highest limit that Linux allows by default: fs.nr_open.
_FILES_MAX = 1_048_576
#: The rest is for services, which take ten or twenty kilobytes a connection, and for a machine that isn't idle.
_MEMORY_SHARE = 0.9


def read_free_memory_mib(membership: Path = cgroup.MEMBERSHIP, root: Path = cgroup.ROOT) -> float:
    """Return what the machine has, or less if the limits of our cgroup and its parents leave less."""
    free_bytes = [psutil.virtual_memory().available]
    for folder in cgroup.list_folders("memory", membership, root):
        for each in (folder, *folder.parents):
            if each == root.parent:
                break
            limit, used = cgroup.read_memory_limit_bytes(each), cgroup.read_memory_bytes(each)
            if limit is not None and used is not None:
                free_bytes.append(max(0, limit - used))
    return min(free_bytes) / 2**20


def raise_open_files() -> int:
    """Let all programs that are started from now on open as many files as the system lets us; return how many."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = _FILES_MAX if most == resource.RLIM_INFINITY else most
    with contextlib.suppress(ValueError, OSError):  # A system may have a lower limit that it doesn't report.
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, most))
    return files


def check_users_fit(plan: Plan, memory_mib: float, open_files: int) -> None:
    """Raise UsageError for more users than fit on this machine: it would swap, or kill a process, during the run."""
    load, free_mib, shortfalls = plan.scenario.load, memory_mib * _MEMORY_SHARE, []
    for cell in map(load.add_connections, plan.cells):
        users = cell.concurrency
        fitting = driver_support.count_fitting_users(free_mib, cell.driver, cell.transport)
        if fitting is not None and fitting < users:
            taken_mib = driver_support.estimate_memory_mib(cell.driver, cell.transport, users)
            why = f"{taken_mib:,} MiB of memory, and {free_mib:,.0f} MiB are free for them"
            shortfalls.append((fitting / users, fitting, cell, why))
        # A proxy between has two for each.
        each = 1 if cell.delay_ms is None else 2
        fitting = max(0, open_files - _OTHER_FILES) // each
        if fitting < users:
            taken = each * users + _OTHER_FILES
            why = f"{taken:,} open files, and a process may have {open_files:,} (ulimit -Hn)"
            shortfalls.append((fitting / users, fitting, cell, why))
    if shortfalls:
        _, fitting, cell, why = min(shortfalls, key=lambda each: each[0])
        is_max = load.swept or load.concurrency_max
        field = ("load", "concurrency_max") if is_max else ("factors", "concurrency")
        raise UsageError(
            f"{plan.scenario.locate(field)}: {cell.concurrency:,} {cell.driver} users of {cell.transport} take "
            f"{why}: {fitting:,} fit",
            "lower it, make room, or share the load among pods of a cluster: load.generators",
        )
