"""The processes behind an address of this machine, as proc(5) and proc_net_tcp(5) have them."""

from __future__ import annotations

import contextlib
import glob
import ipaddress
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import psutil

_LISTENING = "0A"
#: Programs that listen in place of a service, which runs in a container or on another machine.
_FORWARDERS = ("docker-proxy", "kubectl", "pasta", "rootlessport", "slirp4netns", "ssh")


class Servers(NamedTuple):
    """Processes that serve an address, the names of their programs, and their cores; or why they can't be seen."""

    pids: tuple[int, ...] = ()
    programs: str = ""
    cores: frozenset[int] = frozenset()
    problem: str = ""


def find_servers(host: str, port: int) -> Servers:
    """Find the processes that serve an IP address and a port of this machine.

    They are all that have a listening socket there, as in a prefork server or with SO_REUSEPORT, and their descendants.
    """
    sockets = defaultdict[str, set[str]](set)
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        for line in table.read_text(encoding="ascii").splitlines() if table.exists() else ():
            _, place, _, state, *_, inode = line.split()[:10]
            if state == _LISTENING:
                sockets[place].add(f"socket:[{inode}]")
    places = (f"{_encode(each)}:{port:04X}" for each in (host, f"::ffff:{host}", "0.0.0.0", "::"))  # noqa: S104
    inodes = next((sockets[place] for place in places if place in sockets), set[str]())
    pids = set[int]()
    # Path.glob fails if a process ends meanwhile.
    for link in map(Path, glob.iglob("/proc/[0-9]*/fd/*") if inodes else ()):  # noqa: PTH207
        with contextlib.suppress(OSError):
            if str(link.readlink()) in inodes:
                pids.add(int(link.parts[2]))
    pids = pids - {1} or pids  # an init may have the sockets of all that it has started
    problem = f"what listens on port {port} is in a container, or another user's"
    with contextlib.suppress(psutil.NoSuchProcess):
        listening = {psutil.Process(pid).name() for pid in pids}
        if not listening.isdisjoint(_FORWARDERS):
            problem = f"{', '.join(listening)} listens on port {port}, and what it passes requests on to can't be seen"
        elif family := sorted(list_family(pids), key=lambda each: each.pid):
            cores = frozenset(core for each in family for core in each.cpu_affinity())
            programs = ", ".join(dict.fromkeys(each.name() for each in family))
            return Servers(tuple(each.pid for each in family), programs, cores)
    return Servers(problem=problem)


def _encode(host: str) -> str:
    """Return an IP address as in /proc/net: words of 32 bits in the order of this machine; empty if it is none."""
    with contextlib.suppress(ValueError):
        packed = ipaddress.ip_address(host.partition("%")[0]).packed
        words = (packed[start : start + 4] for start in range(0, len(packed), 4))
        return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)
    return ""


def list_family(root_pids: Iterable[int]) -> frozenset[psutil.Process]:
    """Return processes and their descendants, without ourselves where one of them has started us."""
    found, ourselves = set[psutil.Process](), psutil.Process()
    for root_pid in root_pids:
        with contextlib.suppress(psutil.NoSuchProcess):
            root = psutil.Process(root_pid)
            found |= {root, *root.children(recursive=True)}
    return frozenset(
        found.difference((ourselves, *ourselves.children(recursive=True))) if ourselves in found else found
    )
