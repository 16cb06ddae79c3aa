"""Which processes serve a port of this machine."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from wirebench.targets.listeners import find_servers

#: A server of two workers, whose master has closed the socket that they share; others may listen on the port, too.
PREFORK = """
import os, socket, sys
host, port, name = sys.argv[1:]
with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as listener:
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    listener.bind((host, int(port)))
    listener.listen()
    port = listener.getsockname()[1]
    open("/proc/self/comm", "w").write(name)
    for _ in range(2):
        if os.fork() == 0:
            os.write(1, f"{port} {os.getpid()} ".encode())
            sys.stdin.read()
            os._exit(0)
sys.stdin.read()
"""


@contextlib.contextmanager
def serving(host: str, port: int = 0, name: str = "own") -> Iterator[tuple[int, set[int]]]:
    """Start a server, and yield its port and the processes that listen there."""
    command = [sys.executable, "-c", PREFORK, host, str(port), name]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout
        printed = b""
        while printed.count(b" ") < 4:
            printed += os.read(server.stdout.fileno(), 100)
        port, first, _, second = map(int, printed.split())
        yield port, {first, second}


@pytest.mark.parametrize("listens_on", ["127.0.0.1", "0.0.0.0", "::", "::ffff:127.0.0.1"])  # noqa: S104 - of tests
def test_all_that_share_a_socket_or_a_port_are_found(listens_on: str) -> None:
    """Workers of a prefork server are siblings, and the servers of a group have sockets of their own."""
    with serving(listens_on) as (port, workers), serving(listens_on, port) as (_, others), serving("127.0.0.2", port):
        found = find_servers("127.0.0.1", port)
        assert workers | others == set(found.pids)
        assert ("own", frozenset(os.sched_getaffinity(0)), "") == (found.programs, found.cores, found.problem)


def test_what_can_not_be_seen_is_said() -> None:
    """A program that passes requests on isn't the service, nor is a port without a process that can be seen."""
    with serving("127.0.0.1", name="docker-proxy") as (port, _):
        found = find_servers("127.0.0.1", port)
    assert ((), True) == (found.pids, found.problem.startswith(f"docker-proxy listens on port {port}"))
    assert "in a container, or another user's" in find_servers("127.0.0.1", port).problem


def test_what_has_started_us_does_not_count_us() -> None:
    """A service that starts wirebench uses what its own processes use."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        look = f"from wirebench.targets.listeners import *; print(find_servers(*{listener.getsockname()}).pids)"
        with subprocess.Popen([sys.executable, "-c", look], stdout=subprocess.PIPE, text=True) as started:
            pids = started.communicate()[0]
    assert (True, False) == tuple(str(pid) in pids for pid in (os.getpid(), started.pid))
