"""Load on REST and gRPC services by locust; every request that its users make is written down.

By hand:

    .tools/locust/bin/locust --headless --locustfile drivers/python/locustfile.py --host http://127.0.0.1:5000 \
        --users 8 --spawn-rate 8 --run-time 3s --stop-timeout 10 --calls calls.json \
        --requests requests.json RestUser   # [["GET", "/api/users/1000001", null, {"data.id": 1000001}]]

`GrpcUser` takes `--host 127.0.0.1:50051`, `--descriptors` and the requests of grpc_client.py.

REST: FastHttpUser, because locust's other client is several times slower and would be what is measured. Each user keeps
one connection and sends when it has its reply. A latency begins before the request is written, holds connecting where
that was needed, and ends when locust has the whole body: one thread serves all users, and what waits for it is in there
too. gRPC: grpcio under gevent, as locust's documentation has it.
"""

from __future__ import annotations

import functools
import itertools
import json
import ssl
from pathlib import Path
from typing import Any

import gevent.ssl
import grpc.experimental.gevent
from grpc_client import (
    CHECK_EVERY,
    FRESH,
    TIMEOUT_S,
    Client,
    Log,
    Requests,
    has_values,
    make_chooser,
    open_channel,
    write_logs,
)
from locust import FastHttpUser, User, constant, events, task
from locust.exception import StopUser

#: Outcomes of REST are an HTTP status, or what was raised instead.
rest_log = Log()
grpc_clients: list[Client] = []


@events.init_command_line_parser.add_listener
def add_options(parser: Any) -> None:
    """Take what the load is; locust has options for the rest."""
    parser.add_argument(
        "--requests",
        required=True,
        help="file of what to choose from, as JSON: [[method, path, body, {path in the reply: value}]]",
    )
    parser.add_argument("--descriptors", help="descriptor set of the messages of gRPC")
    parser.add_argument("--tls", action="store_true", help="of gRPC")
    parser.add_argument("--create-from", type=int, help=f"put ids from here on in place of {FRESH}")
    parser.add_argument("--calls", required=True, help="file to write every request to, as JSON")
    parser.add_argument("--operation", default="request", help="how locust's own statistics name the requests")
    parser.add_argument("--cacert", help="PEM file of the authorities to trust over https, if not those of the system")
    parser.add_argument("--seed", type=int, default=1, help="of the random choice")


def succeeded(reply: Any) -> bool:
    """Say whether the status is 2xx."""
    return reply.status_code // 100 == 2  # noqa: PLR2004


@events.request.add_listener
def keep(request_type: str, response: Any, exception: Any, context: Any, **others: Any) -> None:
    """Keep one request; `context` has the values that a reply to be checked must have."""
    if request_type == GrpcUser.request_type:  # which its client has kept
        return
    status = response.status_code
    is_success = succeeded(response)
    is_broken = exception is not None and is_success  # its head came, and not all of its body
    outcome = str(status) if status and not is_broken else f"{type(exception).__name__}: {exception}"
    started_unix_s, latency_ms = others["start_time"], others["response_time"]
    rest_log.add(round(started_unix_s * 1e9 + latency_ms * 1e6), round(latency_ms * 1e6), outcome)
    if context and is_success and not is_broken and not answers(response, context["expected"]):
        rest_log.mismatches += 1


@events.test_stopping.add_listener
def stop(**_: Any) -> None:
    """Cancel the streams that are on their way."""
    for client in grpc_clients:
        client.stop()


@events.test_stop.add_listener
def write(environment: Any, **_: Any) -> None:
    """Write all requests down, once no user makes any more."""
    write_logs(Path(environment.parsed_options.calls), [rest_log, *(client.log for client in grpc_clients)])


class RestUser(FastHttpUser):
    """A user of REST, who never thinks."""

    wait_time = constant(0)
    network_timeout = TIMEOUT_S
    connection_timeout = TIMEOUT_S
    insecure = False
    users = itertools.count()
    created = itertools.count()

    def ssl_context_factory(self, **_: Any) -> ssl.SSLContext:
        """Return what https connections are made with."""
        options = self.environment.parsed_options
        return tls_context(options.cacert)

    def on_start(self) -> None:
        """Give each user random choices of its own."""
        self.options = self.environment.parsed_options
        self.random = make_chooser(self.options.seed, next(self.users))
        self.choices = read_requests(self.options.requests)
        self.until_check = 0

    @task
    def once(self) -> None:
        """Send one request, and look at every so many replies."""
        method, path, body, expected = self.random.choice(self.choices)
        if self.options.create_from is not None:
            number = str(self.options.create_from + next(self.created))
            path, body, expected = json.loads(json.dumps([path, body, expected]).replace(FRESH, number))
        # As other drivers do: no compression, and a redirect is the reply.
        headers = {"Accept-Encoding": "identity", **({"Content-Type": "application/json"} if body else {})}
        reply = self.client.request(
            method, path, name=self.options.operation, data=body, headers=headers, allow_redirects=False,
            context={} if self.until_check else {"expected": expected},
        )  # fmt: skip
        if self.until_check == 0 and succeeded(reply):
            self.until_check = CHECK_EVERY
        self.until_check -= self.until_check > 0


class GrpcUser(User):
    """A user of gRPC, who never thinks."""

    wait_time = constant(0)
    request_type = "grpc"
    users = itertools.count()

    def on_start(self) -> None:
        """Open a channel."""
        self.options = options = self.environment.parsed_options
        requests = read_grpc_requests(options.requests, options.descriptors, options.create_from)
        channel = open_channel(self.host, options.cacert, tls=options.tls)
        self.client = Client(channel, requests, make_chooser(options.seed, next(self.users)), TIMEOUT_S)
        grpc_clients.append(self.client)

    @task
    def once(self) -> None:
        """Send one request."""
        if self.client.stopped:
            raise StopUser
        latency_ns, outcome = self.client.send()
        error = None if outcome == "OK" else RuntimeError(outcome)
        self.environment.events.request.fire(
            request_type=self.request_type, name=self.options.operation, response_time=latency_ns / 1e6,
            response_length=0, response=None, exception=error, start_time=0, context={},
        )  # fmt: skip


@functools.cache  # by all users
def read_grpc_requests(requests: str, descriptors: str, create_from: int | None) -> Requests:
    """Read what to choose from, and have grpcio wait as gevent does."""
    grpc.experimental.gevent.init_gevent()
    return Requests(Path(requests), Path(descriptors), create_from)


@functools.cache  # by all users
def tls_context(cacert: str | None) -> ssl.SSLContext:
    """Return a context that trusts these authorities."""
    return gevent.ssl.create_default_context(cafile=cacert)


@functools.cache  # by all users
def read_requests(path: str) -> list[list[Any]]:
    """Read what to choose from."""
    requests: list[list[Any]] = json.loads(Path(path).read_text(encoding="utf-8"))
    return requests


def answers(reply: Any, expected: dict[str, Any]) -> bool:
    """Return whether the reply's JSON has these values at these paths; without any, it need not be JSON."""
    try:
        return not expected or has_values(reply.json(), expected)
    except ValueError:
        return False
