"""Load on a REST service by locust; every request that its users make is written down.

By hand:

    .tools/locust/bin/locust --headless --locustfile locust/locustfile.py --host http://127.0.0.1:5000 \
        --users 8 --spawn-rate 8 --run-time 3s --stop-timeout 10 --calls calls.json \
        --requests requests.jsonl   # {"method": "GET", "path": "/api/users/1000001"}

FastHttpUser, because locust's other client is several times slower and would be what is measured. Each user keeps one
connection and sends when it has its reply. A latency begins before the request is written, holds connecting where that
was needed, and ends when locust has the whole body: one thread serves all users, and what waits for it is in there too.
"""

from __future__ import annotations

import functools
import itertools
import json
import random
import ssl
from pathlib import Path
from typing import Any

import gevent.ssl

from locust import FastHttpUser, constant, events, task

TIMEOUT_S = 10.0

#: [end of the request in nanoseconds since 1970, its latency, its HTTP status, or 0 and what was raised instead].
calls: list[tuple[int, int, int, str]] = []


@events.init_command_line_parser.add_listener
def add_options(parser: Any) -> None:
    """Take what the load is; locust has options for the rest."""
    parser.add_argument("--requests", required=True, help="file of what to choose from: a request a line, as JSON")
    parser.add_argument("--calls", required=True, help="file to write every request to, as JSON")
    parser.add_argument("--cacert", help="PEM file of the authorities to trust over https, if not those of the system")
    parser.add_argument("--seed", type=int, default=1, help="of the random choice")


@events.request.add_listener
def keep(response: Any, exception: Any, start_time: float, response_time: float, **_: Any) -> None:
    """Keep one request."""
    status = response.status_code
    is_broken = exception is not None and status // 100 == 2  # noqa: PLR2004 - its head came, and not all of its body
    outcome = (status, "") if status and not is_broken else (0, f"{type(exception).__name__}: {exception}")
    calls.append((round(start_time * 1e9 + response_time * 1e6), round(response_time * 1e6), *outcome))


@events.test_stop.add_listener
def write(environment: Any, **_: Any) -> None:
    """Write all requests down, once no user makes any more."""
    Path(environment.parsed_options.calls).write_text(json.dumps(calls), encoding="utf-8")


class RestUser(FastHttpUser):
    """A user of REST, who never thinks."""

    wait_time = constant(0)
    network_timeout = TIMEOUT_S
    connection_timeout = TIMEOUT_S
    insecure = False
    users = itertools.count()

    def ssl_context_factory(self, **_: Any) -> ssl.SSLContext:
        """Return what https connections are made with."""
        return make_tls_context(self.environment.parsed_options.cacert)

    def on_start(self) -> None:
        """Give each user random choices of its own."""
        self.options = self.environment.parsed_options
        self.random = random.Random(self.options.seed * 10_007 + next(self.users))  # noqa: S311 - load, not a secret
        self.choices = read_requests(self.options.requests)

    @task
    def once(self) -> None:
        """Send one request."""
        given = self.random.choice(self.choices)
        # As other drivers do: no compression, and a redirect is the reply.
        self.client.request(
            given["method"],
            given["path"],
            name="request",
            data=given.get("body"),
            headers={"Accept-Encoding": "identity", **given.get("headers", {})},
            allow_redirects=False,
        )


@functools.cache  # by all users
def make_tls_context(cacert: str | None) -> ssl.SSLContext:
    """Return a context that trusts these authorities."""
    return gevent.ssl.create_default_context(cafile=cacert)


@functools.cache  # by all users
def read_requests(path: str) -> list[dict[str, Any]]:
    """Read what to choose from."""
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").strip().split("\n")]
