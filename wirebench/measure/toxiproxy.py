"""toxiproxy: takes connections on loopback, passes them on, and delays what passes.

Read from its source (v2.5.0), and measured; docs/method.md says how exact it is:

- A toxic works on one direction of each connection by itself. So the whole delay is put on the way back: a round trip
  takes as much longer, and a millisecond doesn't have to be halved, which whole milliseconds can't be.
- It opens a connection to the service for each one that it gets, one after the other, and logs each, unless it is told
  to log errors alone.
- It doesn't say which port it took if it may choose.
"""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

from wirebench.errors import WirebenchError
from wirebench.system import processes
from wirebench.system.http import fetch
from wirebench.system.paths import TOOLS
from wirebench.system.ports import LOOPBACK, answers_http, reserve_ports, wait_ready
from wirebench.system.processes import Child

PROGRAM = TOOLS / "toxiproxy-server"
_READY_TIMEOUT_S = 20.0


@dataclass(frozen=True, slots=True)
class Toxiproxy:
    """A proxy that runs."""

    child: Child
    port: int
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def open_route(self, upstream: str, delay_ms: int) -> str:
        """Have connections passed on to `host:port`, with a delay of each round trip; return where to connect instead.

        Raises WirebenchError.
        """
        name = f"route-{next(self._numbers)}"
        # It answers with all attributes, and its answer has to be what was asked for.
        delay = {"name": "delay", "type": "latency", "stream": "downstream", "toxicity": 1}
        wanted = [{**delay, "attributes": {"latency": delay_ms, "jitter": 0}}] if delay_ms else []
        opened = self._call("POST", "/proxies", {"name": name, "listen": f"{LOOPBACK}:0", "upstream": upstream})
        for toxic in wanted:
            self._call("POST", f"/proxies/{name}/toxics", toxic)
        found = self._call("GET", f"/proxies/{name}/toxics")
        if found != wanted:
            raise self.child.make_error(f"was asked for {wanted} and has {found}")
        return str(opened["listen"])

    def _call(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - JSON
        try:
            content = None if body is None else json.dumps(body).encode()
            reply = fetch(f"http://{LOOPBACK}:{self.port}{path}", content, method=method)
            if reply.status < HTTPStatus.BAD_REQUEST:
                return json.loads(reply.body)
        except (OSError, ValueError) as error:
            self.child.check_alive()
            raise self.child.make_error(f"doesn't do {method} {path}: {error}") from error
        raise self.child.make_error(f"rejects {method} {path}: {reply.body.decode(errors='replace').strip()}")


def read_version() -> str | None:
    return processes.read_version(PROGRAM, "-version")


@contextlib.contextmanager
def start_toxiproxy(log: Path, cores: frozenset[int] | None) -> Iterator[Toxiproxy]:
    """Run a proxy on these cores.

    Raises ProcessError if it ends before we end it, whatever came of that.
    """
    with reserve_ports(1) as (port,):
        pass
    arguments: list[str | Path] = [PROGRAM, "-host", LOOPBACK, "-port", str(port)]
    child = processes.start("toxiproxy", arguments, log, cores, {"LOG_LEVEL": "error"})
    try:
        wait_ready(child, partial(answers_http, f"{LOOPBACK}:{port}", "/proxies"), _READY_TIMEOUT_S)
        try:
            yield Toxiproxy(child, port)
        except WirebenchError:
            child.check_alive()  # if it has died, that is the news, and not what then failed
            raise
        child.check_alive()
    finally:
        child.stop()
