"""A network namespace that a pair of virtual interfaces joins to this machine: another machine, as far as TCP sees."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

import psutil

from wirebench.system import processes
from wirebench.system.processes import ProcessError

_TIMEOUT_S = 20.0
#: 198.18.0.0/15 is for measurements between networks (RFC 2544); each namespace has four addresses of it.
_FIRST = IPv4Address("198.18.0.0")
_NAMESPACES = 2**15
#: Where ip-netns(8) keeps them, and how ours are called, by process id.
_FOLDER, _PREFIX = Path("/run/netns"), "wirebench-"


@dataclass(frozen=True, slots=True)
class NetworkNamespace:
    """A namespace, its address, and the address of this machine that it sees."""

    name: str
    address: str
    host_address: str
    interface: str
    host_interface: str

    def wrap(self, arguments: Sequence[str | Path]) -> list[str | Path]:
        """Return a command line that runs another one in the namespace, with the same process id."""
        return ["ip", "netns", "exec", self.name, *arguments]


@contextlib.contextmanager
def open_namespace() -> Iterator[NetworkNamespace]:
    """Make a namespace, and remove it with its interfaces; killed runs' too. Raises ProcessError."""
    for path in _FOLDER.glob(f"{_PREFIX}*"):
        pid = path.name.removeprefix(_PREFIX)
        if pid.isdigit() and not psutil.pid_exists(int(pid)):
            _try("ip", "netns", "delete", path.name)
    number = os.getpid()
    first = _FIRST + 4 * (number % _NAMESPACES)
    made = NetworkNamespace(f"{_PREFIX}{number}", str(first + 2), str(first + 1), f"wb{number}n", f"wb{number}h")
    _run("ip", "netns", "add", made.name)
    try:
        _run("ip", "link", "add", made.host_interface, "type", "veth", "peer", made.interface, "netns", made.name)
        _run("ip", "address", "add", f"{made.host_address}/30", "dev", made.host_interface)
        _run("ip", "link", "set", made.host_interface, "up")
        inside = ("ip", "-n", made.name)
        _run(*inside, "address", "add", f"{made.address}/30", "dev", made.interface)
        for interface in (made.interface, "lo"):
            _run(*inside, "link", "set", interface, "up")
        yield made
    finally:
        # Its end of the pair goes with it, and ours with its end; at once, and not when the kernel gets to it.
        _try("ip", "link", "delete", made.host_interface)
        _try("ip", "netns", "delete", made.name)


def _try(*arguments: str) -> None:
    with contextlib.suppress(ProcessError):
        _run(*arguments)


def _run(*arguments: str | Path) -> None:
    processes.run(str(arguments[0]), arguments, _TIMEOUT_S)
