"""Real services for tests: started on free ports, seen from outside only."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import NamedTuple

from prometheus_client.parser import text_string_to_metric_families
from wirebench_services.client import CLIENTS, Client

from tests.support.waiting import TIMEOUT_S, run_program, wait_until
from wirebench.model.address import Address
from wirebench.model.contract import Codec, Implementation
from wirebench.system.paths import ROOT, TOOLS

HOST = "127.0.0.1"

#: Ids that no other test uses: above those that the vectors and the invalid users name, below the seeded ones.
fresh_ids = itertools.count(100_000)


class Kind(NamedTuple):
    """What a service is started as, and the codec of its clients, where they have a choice."""

    transport: str
    runtime: str
    store: str = "memory"
    codec: Codec = "json"
    implementation: Implementation = "python"

    @property
    def command(self) -> tuple[str, ...]:
        """The command of its service."""
        if self.implementation == "go":
            return str(TOOLS / "wirebench-go"), self.transport
        return (str(Path(sys.executable).with_name(f"wirebench-{self.transport}")),)

    @property
    def program(self) -> str:
        """What begins each line that its service prints."""
        return f"wirebench-go {self.transport}" if self.implementation == "go" else f"wirebench-{self.transport}"

    @property
    def doubled(self) -> tuple[object, ...]:
        """Flags for two of what it uses cores by."""
        return ("--threads", 2) if self.implementation == "go" else ("--workers", 2)

    def __str__(self) -> str:
        """Name it in the ids of tests."""
        return "-".join((self.runtime, self.store, *(["protobuf"] if self.codec == "protobuf" else [])))


GTHREAD, UVICORN = (Kind("rest", name) for name in ("gunicorn-gthread", "uvicorn"))
GRPC_SYNC, GRPC_AIO = (Kind("grpc", name) for name in ("sync", "aio"))
ASYNCIO, THREADED = (Kind("socket", name) for name in ("asyncio", "threaded"))
NET_HTTP, GRPC_GO, GOROUTINES = (
    Kind(transport, runtime, implementation="go")
    for transport, runtime in (("rest", "net-http"), ("grpc", "grpc-go"), ("socket", "goroutines"))
)

#: Each transport's default, in both languages.
DEFAULT_KINDS = (GTHREAD, GRPC_SYNC, ASYNCIO)
GO_KINDS = (NET_HTTP, GRPC_GO, GOROUTINES)
REST_KINDS = (GTHREAD, UVICORN, NET_HTTP)
GRPC_KINDS = (GRPC_SYNC, GRPC_AIO, GRPC_GO)
SOCKET_KINDS = (ASYNCIO, THREADED, GOROUTINES)
#: The whole contract is checked on these; on the others only by slow tests, beside one test of each: test_runtimes.py.
CONTRACT_KINDS = (*DEFAULT_KINDS, *GO_KINDS)
#: Every runtime once.
RUNTIME_KINDS = (*REST_KINDS, *GRPC_KINDS, *SOCKET_KINDS)
#: Those with several workers.
PYTHON_KINDS = tuple(kind for kind in RUNTIME_KINDS if kind.implementation == "python")
#: Other stores and codecs, each way to ask for them once.
OTHER_KINDS = (
    *(kind._replace(store="postgres") for kind in (UVICORN, GRPC_SYNC, NET_HTTP)),
    *(kind._replace(codec="protobuf") for kind in (ASYNCIO, GOROUTINES)),
)


class HttpReply(NamedTuple):
    """What an HTTP server answers."""

    status: int
    headers: Message
    body: bytes


@dataclass
class Service:
    """A running service."""

    kind: Kind
    process: subprocess.Popen[bytes]
    log: Path
    host: str
    port: int
    admin_port: int

    @property
    def address(self) -> Address:
        """Where it listens."""
        return Address(self.host, self.port)

    def connect(self, timeout_s: float = TIMEOUT_S) -> Client:
        """Return a client."""
        codec = self.kind.codec if self.kind.transport == "socket" else "json"
        return CLIENTS[self.kind.transport](self.address, timeout_s, codec)

    def admin(self, path: str) -> tuple[int, str]:
        """Return status and body of a GET at the admin port."""
        response = self.request("GET", path, port=self.admin_port)
        return response.status, response.body.decode()

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        port: int | None = None,
    ) -> HttpReply:
        """Send an HTTP request on a connection of its own."""
        with contextlib.closing(http.client.HTTPConnection(self.host, port or self.port, timeout=TIMEOUT_S)) as opened:
            opened.request(method, path, body, headers or {})
            response = opened.getresponse()
            return HttpReply(response.status, response.headers, response.read())

    def is_ready(self) -> bool:
        """Return whether it says that it is ready."""
        return self.admin("/readyz")[0] == 200

    def samples(self, name: str) -> list[tuple[dict[str, str], float]]:
        """Return labels and values of a metric's samples."""
        _, text = self.admin("/metrics")
        return [
            (dict(sample.labels), sample.value)
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name == name
        ]

    def counts(self) -> Counter[tuple[str, str]]:
        """Return how many requests it has counted, by operation and code."""
        total: Counter[tuple[str, str]] = Counter()
        for labels, value in self.samples("wirebench_request_duration_seconds_count"):
            total[labels["operation"], labels["code"]] += int(value)
        return total

    def settle(self) -> None:
        """Wait until requests whose replies have been read, and streams of other tests, are counted, too."""
        seen = [self.counts()]

        def unchanged() -> bool:
            time.sleep(0.25)
            seen.append(self.counts())
            return seen[-1] == seen[-2]

        wait_until(unchanged, "the counts rest")

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal, wait for the end, and return the exit status."""
        self.process.send_signal(number)
        return self.process.wait(TIMEOUT_S)

    def logged(self) -> str:
        """Return what it has logged."""
        return self.log.read_text()


def command(kind: Kind, *flags: object) -> list[str]:
    """Return the command line of a service."""
    return [*kind.command, *map(str, flags)]


def environment(folder: Path) -> dict[str, str]:
    """Return ours, but so that a service leaves nothing elsewhere."""
    return {**os.environ, "TMPDIR": str(folder)}


@contextlib.contextmanager
def started(kind: Kind, folder: Path, *flags: object, host: str = HOST) -> Iterator[Service]:
    """Start a service on loopback or the host, wait until it is ready, and stop it in the end."""
    log = folder / f"{kind.transport}-{kind.runtime}-{time.monotonic_ns()}.log"
    ports = ("--port", 0) if "--port" not in flags else ()
    arguments = command(kind, *ports, "--host", host, "--runtime", kind.runtime, "--store", kind.store, *flags)
    process = _start(arguments, log, folder)
    try:
        if ports and _lost_its_port(process, log):
            process = _start(arguments, log, folder)
        port, admin_port = _announced_ports(process, log)
        yield Service(kind, process, log, host, port, admin_port)
    finally:
        if process.poll() is None:
            process.terminate()
        try:
            process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise


def _start(arguments: list[str], log: Path, folder: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as output:
        return subprocess.Popen(arguments, cwd=ROOT, stdout=output, stderr=output, env=environment(folder))


def _lost_its_port(process: subprocess.Popen[bytes], log: Path) -> bool:
    """Wait until a service is ready or has ended; return whether another program took the free port that it chose."""
    wait_until(
        lambda: process.poll() is not None or "listening on" in log.read_text(), "the service is ready", log.read_text
    )
    return process.poll() is not None and "address already in use" in log.read_text().lower()


def _announced_ports(process: subprocess.Popen[bytes], log: Path) -> tuple[int, int]:
    announcement = re.compile(r"listening on \S+:(\d+) .*admin on \S+:(\d+)")
    found: list[re.Match[str]] = []

    def announced() -> bool:
        assert process.poll() is None, f"it ended with status {process.poll()}: {log.read_text()}"
        found.extend(announcement.finditer(log.read_text()))
        return bool(found)

    wait_until(announced, "the service announces its ports", log.read_text)
    return int(found[0][1]), int(found[0][2])


def run_to_the_end(folder: Path, kind: Kind, *flags: object) -> tuple[int, list[str]]:
    """Run a service that can't start, and return its exit status and the lines that it printed."""
    done = run_program(command(kind, *flags), cwd=ROOT, env=environment(folder))
    return done.returncode, (done.stdout + done.stderr).splitlines()


def exchange(address: Address, *parts: bytes, half_close: bool = True) -> bytes:
    """Send raw bytes, part by part, and return all that comes back until the server closes."""
    with socket.create_connection(address, TIMEOUT_S) as connection:
        with contextlib.suppress(OSError):  # the server may have closed by now
            for part in parts:
                connection.sendall(part)
            if half_close:
                connection.shutdown(socket.SHUT_WR)
        return receive_all(connection)


def receive_all(connection: socket.socket) -> bytes:
    """Return what comes until the other side closes; a reset counts as a close."""
    received = bytearray()
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(65_536):
            received += part
    return bytes(received)
