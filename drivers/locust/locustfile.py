"""Load on the REST service by locust, which tells every request that its users make.

By hand:

    .tools/locust/bin/locust --headless --locustfile drivers/locust/locustfile.py --host http://127.0.0.1:5000 \
        --users 8 --spawn-rate 8 --run-time 3s --stop-timeout 10 --calls calls.json \
        --requests requests.json   # [["GET", "/api/users/1000001", null, {"data.id": 1000001}]]

FastHttpUser, because locust's other client is several times slower and would be what is measured. Each user keeps one
connection and sends when it has its reply. A latency begins before the request is written, holds connecting where that
was needed, and ends when locust has the whole body: one thread serves all users, and what waits for it is in there too.
"""

from __future__ import annotations

import functools
import itertools
import json
import operator
import random
import ssl
from array import array
from pathlib import Path
from typing import Any

import gevent.ssl
from locust import FastHttpUser, constant, events, task

TIMEOUT_S = 10.0
CHECK_EVERY = 100
#: What stands for the id of a record to create.
FRESH = str(2**31 - 1)

ends_unix_ns = array("q")
latencies_ns = array("q")
#: The place of each request's outcome in `outcomes`: an HTTP status, or what was raised instead.
places = array("q")
outcomes: dict[str, int] = {}
mismatches: list[str] = []


@events.init_command_line_parser.add_listener
def add_options(parser: Any) -> None:
    """Take what the load is; locust has options for the rest."""
    parser.add_argument(
        "--requests",
        required=True,
        help="file of what to choose from, as JSON: [[method, path, body, {path in the reply: value}]]",
    )
    parser.add_argument("--create-from", type=int, help=f"put ids from here on in place of {FRESH}")
    parser.add_argument("--calls", required=True, help="file to write every request to, as JSON")
    parser.add_argument("--operation", default="request", help="how locust's own statistics name the requests")
    parser.add_argument("--cacert", help="PEM file of the authorities to trust over https, if not those of the system")
    parser.add_argument("--cert", help="PEM file of a certificate to show to services that ask for one")
    parser.add_argument("--key", help="PEM file of its key")
    parser.add_argument("--seed", type=int, default=1, help="of the random choice")


@events.request.add_listener
def keep(start_time: float, response_time: float, response: Any, exception: Any, **_: Any) -> None:
    """Keep one request: it began at `start_time`, in seconds since 1970, and took `response_time`, in milliseconds."""
    status = response.status_code
    outcome = str(status) if status else f"{type(exception).__name__}: {exception}"
    ends_unix_ns.append(round(start_time * 1e9 + response_time * 1e6))
    latencies_ns.append(round(response_time * 1e6))
    places.append(outcomes.setdefault(outcome, len(outcomes)))


@events.test_stop.add_listener
def write(environment: Any, **_: Any) -> None:
    """Write all requests down, once no user makes any more."""
    columns = {
        "ends_unix_ns": ends_unix_ns.tolist(),
        "latencies_ns": latencies_ns.tolist(),
        "outcome": places.tolist(),
        "outcomes": list(outcomes),
        "mismatches": len(mismatches),
    }
    Path(environment.parsed_options.calls).write_text(json.dumps(columns), encoding="utf-8")


class Load(FastHttpUser):
    """One user, who never thinks."""

    wait_time = constant(0)
    network_timeout = TIMEOUT_S
    connection_timeout = TIMEOUT_S
    insecure = False
    users = itertools.count()
    created = itertools.count()

    def ssl_context_factory(self, **_: Any) -> ssl.SSLContext:
        """Return what https connections are made with."""
        options = self.environment.parsed_options
        return tls_context(options.cacert, options.cert, options.key)

    def on_start(self) -> None:
        """Give each user random choices of its own."""
        self.options = self.environment.parsed_options
        self.random = random.Random(self.options.seed * 10_007 + next(self.users))  # noqa: S311 - load, not a secret
        self.choices = read_requests(self.options.requests)
        self.until_check = 0

    @task
    def once(self) -> None:
        """Send one request, and look at every so many replies."""
        method, path, body, expected = self.random.choice(self.choices)
        if self.options.create_from is not None:
            number = str(self.options.create_from + next(self.created))
            path, body, expected = json.loads(json.dumps([path, body, expected]).replace(FRESH, number))
        headers = {"Content-Type": "application/json"} if body else {}
        reply = self.client.request(method, path, name=self.options.operation, data=body, headers=headers)
        if self.until_check == 0 and reply.status_code // 100 == 2:  # noqa: PLR2004 - 2xx
            self.until_check = CHECK_EVERY
            if not answers(reply, expected):
                mismatches.append(reply.text)
        self.until_check -= self.until_check > 0


@functools.cache  # by all users
def tls_context(cacert: str | None, cert: str | None, key: str | None) -> ssl.SSLContext:
    """Return a context that trusts these authorities, and can show this certificate."""
    context = gevent.ssl.create_default_context(cafile=cacert)
    if cert:
        context.load_cert_chain(cert, key)
    return context


@functools.cache  # by all users
def read_requests(path: str) -> list[list[Any]]:
    """Read what to choose from."""
    requests: list[list[Any]] = json.loads(Path(path).read_text(encoding="utf-8"))
    return requests


def answers(reply: Any, expected: dict[str, Any]) -> bool:
    """Return whether the reply's JSON has these values at these paths; without any, it need not be JSON."""
    whole = reply.json() if expected else None
    return all(value == functools.reduce(operator.getitem, path.split("."), whole) for path, value in expected.items())
