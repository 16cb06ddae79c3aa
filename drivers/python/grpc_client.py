"""Load on a gRPC service by grpcio, as a plain Python client sends it: a thread and a channel for each user.

By hand:

    .venv/bin/python drivers/python/grpc_client.py --address 127.0.0.1:50051 --users 8 --duration-s 3 \
        --descriptors proto/contract.binpb --calls calls.json \
        --requests requests.json   # [["wirebench.v1.UserService/GetUser", {"id": 1000001}, {"data.id": 1000001}]]

A latency holds encoding and decoding. The interpreter runs one thread at a time: a reply waits for it, and that is in
the latency too. The locustfile has the same client.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
import threading
import time
from array import array
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

TIMEOUT_S = 10.0
CHECK_EVERY = 100
#: What stands for the id of a record to create.
FRESH = str(2**31 - 1)
#: Readings of this clock and this offset are nanoseconds since 1970; it doesn't jump.
_EPOCH_NS = time.time_ns() - time.perf_counter_ns()


class Log:
    """What one user has done: a row for each call that ended, and the moments of each stream's items."""

    def __init__(self) -> None:
        """Begin without any."""
        self.ends_unix_ns, self.latencies_ns, self.outcomes = array("q"), array("q"), list[str]()
        self.sent_unix_ns, self.items, self.arrivals_unix_ns = array("q"), array("q"), array("q")
        self.mismatches = self.cancelled = 0

    def add(self, end_unix_ns: int, latency_ns: int, outcome: str) -> None:
        """Keep one call."""
        self.ends_unix_ns.append(end_unix_ns)
        self.latencies_ns.append(latency_ns)
        self.outcomes.append(outcome)


def write_logs(path: Path, logs: Iterable[Log]) -> None:
    """Write what users have done, as `wirebench.drivers.per_request.read_columns` reads it."""
    logs = list(logs)
    places: dict[str, int] = {}
    rows = [places.setdefault(outcome, len(places)) for log in logs for outcome in log.outcomes]

    def join(column: str) -> list[int]:
        return list(itertools.chain.from_iterable(getattr(log, column) for log in logs))

    columns = {name: join(name) for name in ("ends_unix_ns", "latencies_ns")}
    streams = {name: join(name) for name in ("sent_unix_ns", "items", "arrivals_unix_ns")}
    totals = {name: sum(getattr(log, name) for log in logs) for name in ("mismatches", "cancelled")}
    path.write_text(
        json.dumps({**columns, "outcome": rows, "outcomes": list(places), "streams": streams, **totals}),
        encoding="utf-8",
    )


class Requests:
    """What users choose from, and the messages that it takes."""

    def __init__(self, requests: Path, descriptors: Path, create_from: int | None) -> None:
        """Read the requests, and the messages of gRPC from a descriptor set."""
        self.choices: list[tuple[str, dict[str, Any], dict[str, Any]]] = json.loads(requests.read_text("utf-8"))
        pool = descriptor_pool.DescriptorPool()
        for file in descriptor_pb2.FileDescriptorSet.FromString(descriptors.read_bytes()).file:
            pool.AddSerializedFile(file.SerializeToString())
        # All choices are of one call.
        self.path = f"/{self.choices[0][0]}"
        method = pool.FindMethodByName(self.choices[0][0].replace("/", "."))
        self.streams = method.server_streaming
        self._request, self._reply = map(message_factory.GetMessageClass, (method.input_type, method.output_type))
        self._ids = None if create_from is None else itertools.count(create_from)
        self._ready = [self._parse(choice) for choice in self.choices]

    def bind(self, channel: grpc.Channel) -> Callable[..., Any]:
        """Return the call on a channel."""
        make = channel.unary_stream if self.streams else channel.unary_unary
        return make(
            self.path, request_serializer=self._request.SerializeToString, response_deserializer=self._reply.FromString
        )

    def choose(self, chooser: random.Random) -> tuple[Any, dict[str, Any]]:
        """Return a message and what its reply must have."""
        if self._ids is None:
            return chooser.choice(self._ready)
        text = json.dumps(chooser.choice(self.choices)).replace(FRESH, str(next(self._ids)))
        return self._parse(json.loads(text))

    def _parse(self, choice: Any) -> tuple[Any, dict[str, Any]]:
        return json_format.ParseDict(choice[1], self._request()), choice[2]


class Client:
    """One user, with a channel of its own."""

    def __init__(self, channel: grpc.Channel, requests: Requests, chooser: random.Random, timeout_s: float) -> None:
        """Take a channel."""
        self.log = Log()
        self._call, self._requests, self._chooser, self._timeout_s = (
            requests.bind(channel),
            requests,
            chooser,
            timeout_s,
        )
        self._until_check = 0
        self.stopped = False
        self._stream: Any = None

    def send(self) -> tuple[int, str]:
        """Send one request; return its latency in nanoseconds and its outcome."""
        request, expected = self._requests.choose(self._chooser)
        sent = time.perf_counter_ns()
        try:
            reply = self._read(request) if self._requests.streams else self._call(request, timeout=self._timeout_s)
            outcome = "OK"
        except grpc.RpcError as error:
            reply, outcome = None, f"{error.code().name}: {error.details()}"  # type: ignore[attr-defined]
        ended = time.perf_counter_ns()
        if self.stopped and outcome.startswith("CANCELLED"):
            self.log.cancelled += 1
            return ended - sent, outcome
        self.log.add(_EPOCH_NS + ended, ended - sent, outcome)
        if reply is not None:
            if self._until_check == 0:
                self._until_check = CHECK_EVERY
                self.log.mismatches += not answers(reply, expected)
            self._until_check -= 1
        return ended - sent, outcome

    def stop(self) -> None:
        """Cancel the stream that is on its way; other calls have an end."""
        self.stopped = True
        if self._stream is not None:
            self._stream.cancel()

    def _read(self, request: Any) -> Any:
        """Read a stream to its end; return its first item."""
        log, first, items = self.log, None, 0
        log.sent_unix_ns.append(_EPOCH_NS + time.perf_counter_ns())
        self._stream = self._call(request)
        try:
            if self.stopped:
                self._stream.cancel()
            for item in self._stream:
                log.arrivals_unix_ns.append(_EPOCH_NS + time.perf_counter_ns())
                first, items = first or item, items + 1
        finally:
            log.items.append(items)
        return first


def answers(reply: Any, expected: dict[str, Any]) -> bool:
    """Return whether the reply's JSON has these values at these paths."""
    fields = json_format.MessageToDict(
        reply, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
    return has_values(fields, expected)


def has_values(whole: Any, expected: dict[str, Any]) -> bool:
    """Return whether JSON has these values at these paths; a number may be a text, as large ones are in protobuf's."""
    for path, value in expected.items():
        found = whole
        for key in path.split("."):
            try:
                found = found[int(key) if isinstance(found, list) else key]
            except (LookupError, TypeError, ValueError):
                return False
        if not is_alike(found, value):
            return False
    return True


def is_alike(found: Any, value: Any) -> bool:
    """Return whether two values are the same but for numbers that are texts."""
    if isinstance(found, list) and isinstance(value, list):
        return len(found) == len(value) and all(map(is_alike, found, value))
    texts = (each if isinstance(each, str) else json.dumps(each) for each in (found, value))
    return found == value or len(set(texts)) == 1


def open_channel(address: str, cacert: str | None, *, tls: bool) -> grpc.Channel:
    """Open a channel with a connection that no other channel shares."""
    own = [("grpc.use_local_subchannel_pool", 1), ("grpc.enable_http_proxy", 0)]
    if not tls:
        return grpc.insecure_channel(address, own)
    authority = Path(cacert).read_bytes() if cacert else None
    return grpc.secure_channel(address, grpc.ssl_channel_credentials(authority), own)


def make_chooser(seed: int, user: int) -> random.Random:
    """Return the random choices of a user."""
    return random.Random(seed * 10_007 + user)  # noqa: S311 - load, not a secret


def main() -> None:
    """Send the load, and write every call down."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--address", required=True, help="host:port")
    parser.add_argument("--users", type=int, default=1)
    parser.add_argument("--duration-s", type=float, required=True)
    parser.add_argument("--requests", type=Path, required=True, help="[[call, message, {path in the reply: value}]]")
    parser.add_argument("--descriptors", type=Path, required=True, help="descriptor set of the messages")
    parser.add_argument("--create-from", type=int, help=f"put ids from here on in place of {FRESH}")
    parser.add_argument("--calls", type=Path, required=True, help="file to write every call to, as JSON")
    parser.add_argument("--timeout-s", type=float, default=TIMEOUT_S, help="of a call that is no stream")
    parser.add_argument("--tls", action="store_true")
    parser.add_argument("--cacert", help="PEM file of the authorities to trust, if not those of the system")
    parser.add_argument("--seed", type=int, default=1, help="of the random choice")
    options = parser.parse_args()

    requests = Requests(options.requests, options.descriptors, options.create_from)
    channels = [open_channel(options.address, options.cacert, tls=options.tls) for _ in range(options.users)]
    for channel in channels:
        try:
            grpc.channel_ready_future(channel).result(TIMEOUT_S)
        except grpc.FutureTimeoutError:
            parser.exit(1, f"can't connect to {options.address}\n")
    clients = [
        Client(channel, requests, make_chooser(options.seed, user), options.timeout_s)
        for user, channel in enumerate(channels)
    ]
    over = threading.Event()

    def use(client: Client) -> None:
        while not over.is_set():
            client.send()

    threads = [threading.Thread(target=use, args=(client,)) for client in clients]
    try:
        for thread in threads:
            thread.start()
        time.sleep(options.duration_s)
    finally:  # Ctrl-C ends the load too.
        over.set()
        for client in clients:
            client.stop()
        for thread in filter(threading.Thread.is_alive, threads):
            thread.join()
    write_logs(options.calls, (client.log for client in clients))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
