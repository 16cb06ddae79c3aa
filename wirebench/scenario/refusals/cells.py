"""Cells whose answers, or whose figures, would be wrong."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator, Sequence

from wirebench.model.application import builtin
from wirebench.scenario import drivers
from wirebench.scenario.cell import Cell
from wirebench.scenario.contract import (
    CLOSING_RUNTIMES,
    THREADED_RUNTIMES,
    TRANSPORTS,
)
from wirebench.scenario.model import Factors, Load
from wirebench.scenario.refusals.loads import A_LOAD
from wirebench.scenario.refusals.refusal import Refusal, written


def impossible(cell: Cell, factors: Factors, load: Load) -> Iterator[Refusal]:
    """Refuse a cell whose answers, or whose figures, would be wrong."""
    facts = TRANSPORTS[cell.transport]
    for name, possible in (("driver", facts.drivers), ("codec", facts.codecs)):
        if getattr(cell, name) not in possible:
            yield Refusal(
                written(factors, name, cell),
                f"{cell.transport} has no {name} {getattr(cell, name)!r}",
                f"choose from {', '.join(possible)}; for one transport alone: {name}: {{{cell.transport}: …}}",
            )
    operations = load.workload(cell.operation).operations
    writes = any(builtin().operations[name].writes for name in operations)
    yield from _impossible_service(cell, factors, writes=writes)
    yield from _impossible_work(cell, factors, operations)
    yield from _impossible_users(cell, load)
    yield from _impossible_load(cell, factors)
    if cell.is_disrupted:
        yield from _impossible_disruption(cell, factors, writes=writes)
    yield from _impossible_link(cell, factors)


def _impossible_work(cell: Cell, factors: Factors, operations: Sequence[str]) -> Iterator[Refusal]:
    """Refuse operations that a payload doesn't fit."""
    if cell.payload is not None and not any(builtin().operations[name].takes(cell.payload) for name in operations):
        yield Refusal(
            written(factors, "payload", cell),
            f"{cell.operation} has no payload {cell.payload!r}",
            "small and profile are for users.create, users.update and users.create_batch, list for users.list, batch "
            "for users.create_batch, 512k for echoes; a number is bytes of an echo, or users of a list or batch",
        )
    yield from _impossible_stream(cell, factors)


def _impossible_users(cell: Cell, load: Load) -> Iterator[Refusal]:
    """Refuse kinds of clients that get no user, users that start too late, and streams that are due one by one."""
    kinds = load.workload(cell.operation).clients
    weights = [each.users for each in kinds.values()]
    # As k6/lib/work.js shares users out among the kinds.
    places = ((user + 0.5) / cell.concurrency * sum(weights) for user in range(cell.concurrency))
    taken = {bisect.bisect_right(list(itertools.accumulate(weights)), place) for place in places}
    for index, name in enumerate(kinds):
        if index not in taken:
            message = f"none of {cell.concurrency} users is one of the {name} of {cell.operation}"
            hint = "raise factors.concurrency, or the kind's share of the users"
            yield Refusal(("load", "workloads", cell.operation, "clients", name), message, hint)
    if (spawn_s := load.spawn_s(cell.concurrency)) > load.warmup_s:
        message = (
            f"the last of {cell.concurrency} users starts after {spawn_s:g} s, the window after {load.warmup_s:g} s"
        )
        yield Refusal(("load", "spawn_rate_per_s"), message, "raise it, or lengthen load.warmup_s")
    if cell.is_stream and load.model in ("ramp", "replay"):
        message = f"{A_LOAD[load.model]} is of requests that end soon, and not of streams"
        yield Refusal(("load", "model"), message, "use a closed or an open load, or another operation")


def _impossible_stream(cell: Cell, factors: Factors) -> Iterator[Refusal]:
    """Refuse a codec that streams don't have, and what is said of streams to an operation that is none."""
    if cell.is_stream and cell.transport == "rest" and cell.codec == "protobuf":
        message = "REST streams are Server-Sent Events, which are JSON text"
        hint = "leave factors.codec out, or give it to the socket alone: codec: {socket: protobuf}"
        yield Refusal(written(factors, "codec", cell), message, hint)
    for name in ("stream_items", "stream_rate_limit_per_s"):
        if getattr(factors, name) and not cell.is_stream:
            hint = f"set factors.operation to {' or '.join(builtin().streams)} alone, or remove {name}"
            yield Refusal(("factors", name), f"{cell.operation} is no stream", hint)


def _impossible_service(cell: Cell, factors: Factors, *, writes: bool) -> Iterator[Refusal]:
    if cell.implementation == "go":
        yield from _impossible_in_go(cell, factors)
    if writes and cell.store == "memory" and cell.workers > 1:
        yield Refusal(
            written(factors, "workers", cell),
            f"{cell.operation} on {cell.workers} workers with a store in each one's memory: "
            "a worker would not know what another one stored, and its answers would be wrong",
            "set factors.store to sqlite or postgres, which workers share, or workers to 1",
        )
    if writes and cell.replicas > 1 and cell.store != "postgres":
        yield Refusal(
            written(factors, "replicas", cell),
            f"{cell.operation} on {cell.replicas} replicas, each with a store of its own: "
            "a replica would not know what another one stored, and its answers would be wrong",
            "set factors.store to postgres, which replicas share, or replicas to 1",
        )
    if cell.threads is not None and cell.runtime not in THREADED_RUNTIMES:
        yield Refusal(
            written(factors, "threads", cell),
            f"the runtime {cell.runtime!r} has no thread pool",
            f"give threads by transport, to runtimes that have one: {', '.join(sorted(THREADED_RUNTIMES))}",
        )
    if cell.store_connections is not None and cell.store == "memory":
        yield Refusal(
            written(factors, "store_connections", cell),
            "the store 'memory' has no connections",
            "set factors.store to postgres or sqlite, or remove store_connections",
        )
    if cell.runtime in CLOSING_RUNTIMES and cell.connection == "keep":
        yield Refusal(
            written(factors, "runtime", cell),
            f"{cell.runtime} closes the connection after each reply, so that none is kept",
            "set factors.connection to reopen, for all that is compared with it",
        )


def _impossible_in_go(cell: Cell, factors: Factors) -> Iterator[Refusal]:
    if cell.workers > 1:
        yield Refusal(
            written(factors, "workers", cell),
            f"{cell.workers} workers in Go, where a service is one process that uses many cores",
            "set factors.workers to 1, and factors.threads to the cores that it is to use at once",
        )


def _impossible_load(cell: Cell, factors: Factors) -> Iterator[Refusal]:
    if cell.placement == "same-pod" and cell.replicas > 1:
        message = f"a load in the same pod has one service to go to, and not {cell.replicas}"
        yield Refusal(written(factors, "placement", cell), message, "set factors.replicas to 1, or another placement")
    if cell.placement == "same-pod" and cell.balancing != "service":
        yield Refusal(
            written(factors, "placement", cell),
            f"a load in the same pod has one service to go to, and nothing to balance by {cell.balancing}",
            "set factors.balancing to service, or another placement",
        )
    if cell.connections is not None and cell.connections != cell.concurrency:
        yield from _impossible_connections(cell, factors)
    if cell.driver in TRANSPORTS[cell.transport].drivers:
        yield from _impossible_driver(cell, factors)


def _impossible_driver(cell: Cell, factors: Factors) -> Iterator[Refusal]:
    """Refuse what the driver can't do, or can't do right."""
    can = drivers.DRIVERS[cell.driver]
    if cell.shape and not can.takes_moments:
        message = f"{cell.driver} can't be told when each request is due"
        yield Refusal(written(factors, "driver", cell), message, "drive ramps and replays by wireload or k6")
    if cell.rate_per_s is not None and can.no_open_load:
        able = drivers.who_can(cell.transport, rate=True)
        field = written(factors, "driver", cell)
        yield Refusal(field, f"{cell.driver} {can.no_open_load}", f"drive open loads by {able}")
    if cell.connection == "reopen" and cell.transport not in can.reopens:
        able = drivers.who_can(cell.transport, reopen=True)
        field = written(factors, "connection", cell)
        yield Refusal(field, f"{cell.driver} keeps its connections", f"drive reopened connections by {able}")
    if cell.transport == "rest" and cell.codec == "protobuf" and can.json_only:
        message = f"{cell.driver} sends JSON over REST"
        yield Refusal(written(factors, "driver", cell), message, "drive protobuf over REST by wireload or k6")
    if not drivers.has(cell.driver, cell.operation):
        able = drivers.who_can(cell.transport, operation=cell.operation)
        message = f"{cell.driver} can't drive {cell.operation}: {can.no_other_operation}"
        yield Refusal(written(factors, "driver", cell), message, f"drive it by {able}")


def _impossible_connections(cell: Cell, factors: Factors) -> Iterator[Refusal]:
    field = written(factors, "connections", cell)
    if cell.driver != "ghz":
        hint = "leave connections out; to share them among users is for the driver ghz"
        yield Refusal(field, f"each user of {cell.driver} has a connection of its own", hint)
    if (cell.connections or 0) > cell.concurrency:
        hint = "raise factors.concurrency, or leave connections out"
        yield Refusal(field, f"{cell.connections} connections are more than one for each of {cell.concurrency}", hint)


def _impossible_disruption(cell: Cell, factors: Factors, *, writes: bool) -> Iterator[Refusal]:
    field = written(factors, "disruption", cell)
    if cell.placement == "same-pod":
        hint = "choose another placement"
        yield Refusal(field, "a load in the same pod would be disrupted along with its service", hint)
    if cell.balancing != "service":
        message = f"replicas get new addresses, and a load balanced by {cell.balancing} goes to the old ones"
        yield Refusal(field, message, "set factors.balancing to service")
    if cell.driver == "ghz":
        yield Refusal(field, "ghz doesn't tell when requests failed", "drive it by wireload or k6")
    if writes and cell.store != "postgres":
        message = f"{cell.operation} to a store that goes with its replica: its answers would be wrong"
        yield Refusal(field, message, "set factors.store to postgres, or choose an operation that only reads")


def _impossible_link(cell: Cell, factors: Factors) -> Iterator[Refusal]:
    if cell.jitter_ms and not cell.delay_ms:
        yield Refusal(
            written(factors, "jitter_ms", cell),
            f"a jitter of {cell.jitter_ms} ms needs a delay that it can take from and add to",
            "leave out the jitter, or the levels of delay_ms without a delay",
        )
    elif (cell.jitter_ms or 0) > (cell.delay_ms or 0):
        yield Refusal(
            written(factors, "jitter_ms", cell),
            f"a jitter of {cell.jitter_ms} ms is more than the delay of {cell.delay_ms} ms, and none can be negative",
            "lower the jitter, or leave out the smaller levels of delay_ms",
        )
    if cell.bandwidth_kib_s is not None and cell.link is None:
        yield Refusal(
            written(factors, "bandwidth_kib_s", cell),
            "a load that goes straight to the service has all the bandwidth there is",
            "set delay_ms to 0 in place of none: through the proxy, but without a delay",
        )
    if cell.link and cell.driver == "ghz" and cell.balancing == "headless":
        yield Refusal(
            written(factors, "driver", cell),
            "ghz finds the replicas by their common name, and the proxies before them have none",
            "drive it by wireload or k6, or choose another balancing",
        )
