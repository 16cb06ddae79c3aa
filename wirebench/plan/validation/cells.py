"""Cells whose answers, or whose figures, would be wrong."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from wirebench.model.application import Operation
from wirebench.model.cell import Cell
from wirebench.model.contract import H2C_RUNTIMES, THREADED_RUNTIMES, TRANSPORTS
from wirebench.model.scenario import Load, Scenario
from wirebench.model.source import FieldPath
from wirebench.plan.driver_support import DRIVER_FACTS, explain_unsupported, name_able_drivers
from wirebench.plan.validation.loads import A_LOAD
from wirebench.plan.validation.messages import CellMessages, ValidationMessages, locate_level

#: The factors of streams, and what an operation's input asks for by each.
_STREAM_FACTORS: dict[str, Literal["items", "rate_limit_per_s"]] = {
    "stream_items": "items",
    "stream_rate_limit_per_s": "rate_limit_per_s",
}


def validate_cell(cell: Cell, scenario: Scenario) -> ValidationMessages:
    every = scenario.application.operations
    operations = [every[name] for name in scenario.load.find_workload(cell.operation).operations]
    headers = scenario.application.variants[cell.variant].headers if cell.variant else {}
    found: Iterator[tuple[FieldPath | str, str, str]] = itertools.chain(
        _validate_choices(cell),
        _validate_variant(cell, scenario),
        _validate_service(cell, operations),
        _validate_payload(cell, scenario, operations),
        _validate_stream_factors(cell, scenario, operations),
        _validate_http(cell) if cell.http else (),
        _validate_users(cell, scenario.load),
        _validate_placement(cell),
        _validate_connections(cell),
        _validate_driver(cell, operations, headers) if cell.driver in TRANSPORTS[cell.transport].drivers else (),
        _validate_link(cell),
    )
    for field, message, hint in found:
        yield locate_level(scenario.factors, field, cell) if isinstance(field, str) else field, message, hint


def _validate_choices(cell: Cell) -> CellMessages:
    facts = TRANSPORTS[cell.transport]
    for name, possible in (("driver", facts.drivers), ("codec", facts.codecs)):
        if getattr(cell, name) not in possible:
            hint = f"choose from {', '.join(possible)}; for one transport alone: {name}: {{{cell.transport}: …}}"
            yield name, f"{cell.transport} has no {name} {getattr(cell, name)!r}", hint


def _validate_variant(cell: Cell, scenario: Scenario) -> CellMessages:
    """Reject workers that can't be set on a variant, and operations without a request for it."""
    application = scenario.application
    if cell.variant is None:
        return
    if cell.workers > 1 and not application.variants[cell.variant].takes_workers:
        hint = f"write {{workers}} into its command: {application.locate(('variants', cell.variant))}"
        yield "workers", f"it can't be set on the variant {cell.variant}", hint
    for name in scenario.load.find_workload(cell.operation).operations:
        if application.operations[name].find_request(cell.transport, cell.variant) is None:
            hint = f"add it, {application.locate(('operations', name))}, or choose others by factors.variant"
            yield "operation", f"{name} has no {cell.transport} request, which the variant {cell.variant} takes", hint


def _validate_service(cell: Cell, operations: Sequence[Operation]) -> CellMessages:
    writes = any(each.writes for each in operations)
    if cell.implementation == "go" and cell.workers > 1:
        message = f"{cell.workers} workers in Go, where a service is one process that uses many cores"
        yield "workers", message, "set factors.workers to 1, and factors.threads to the cores that it is to use at once"
    if writes and cell.store == "memory" and cell.workers > 1:
        message = (
            f"{cell.operation} on {cell.workers} workers with a store in each one's memory: "
            "a worker would not know what another one stored, and its answers would be wrong"
        )
        yield "workers", message, "set factors.store to postgres, which workers share, or workers to 1"
    if writes and (cell.replicas or 1) > 1 and cell.store not in ("postgres", None):
        message = (
            f"{cell.operation} on {cell.replicas} replicas, each with a store of its own: "
            "a replica would not know what another one stored, and its answers would be wrong"
        )
        yield "replicas", message, "set factors.store to postgres, which replicas share, or replicas to 1"
    if cell.threads is not None and cell.runtime not in THREADED_RUNTIMES:
        hint = f"give threads by transport, to runtimes that have one: {', '.join(sorted(THREADED_RUNTIMES))}"
        yield "threads", f"the runtime {cell.runtime!r} has no thread pool", hint
    if cell.store_connections is not None and cell.store == "memory":
        hint = "set factors.store to postgres, or remove store_connections"
        yield "store_connections", "the store 'memory' has no connections", hint


def _validate_http(cell: Cell) -> CellMessages:
    """Reject HTTP/2 where the transport, the service, the driver or TLS doesn't leave that choice."""
    if cell.transport != "rest":
        hint = f"give it to REST alone: http: {{rest: {cell.http}}}"
        yield "http", f"{cell.transport} has no choice of HTTP versions", hint
        return
    if not cell.variant and cell.runtime not in H2C_RUNTIMES:
        hint = f"set factors.runtime to {' or '.join(sorted(H2C_RUNTIMES))} for REST, or http to 1"
        yield "http", f"the runtime {cell.runtime!r} speaks HTTP/1.1 only", hint
    if cell.tls != "none":
        yield "http", "HTTP/2 is measured without TLS (h2c)", "set factors.tls to none, or http to 1"
    if cell.driver != "wireload":
        yield "driver", f"{cell.driver} doesn't send HTTP/2 without TLS (h2c)", "drive HTTP/2 over REST by wireload"


def _validate_payload(cell: Cell, scenario: Scenario, operations: Sequence[Operation]) -> CellMessages:
    if cell.payload is not None and not any(each.takes(cell.payload) for each in operations):
        taking = [name for name, each in scenario.application.operations.items() if each.takes(cell.payload)]
        hint = f"it is for {', '.join(taking)}" if taking else "remove it: no operation has it"
        yield "payload", f"{cell.operation} has no payload {cell.payload!r}", hint
    if cell.is_stream and cell.transport == "rest" and cell.codec == "protobuf":
        hint = "leave factors.codec out, or give it to the socket alone: codec: {socket: protobuf}"
        yield "codec", "REST streams are Server-Sent Events, which are JSON text", hint


def _validate_stream_factors(cell: Cell, scenario: Scenario, operations: Sequence[Operation]) -> ValidationMessages:
    for name, given in _STREAM_FACTORS.items():
        if getattr(scenario.factors, name) and not all(each.asks_for(given) for each in operations):
            asking = [key for key, each in scenario.application.operations.items() if each.asks_for(given)]
            alone = f"set factors.operation to {' or '.join(asking)} alone, or " if asking else ""
            what = "doesn't ask for it" if all(each.stream for each in operations) else "is not a stream"
            yield ("factors", name), f"{cell.operation} {what}", f"{alone}remove {name}"


def _validate_users(cell: Cell, load: Load) -> ValidationMessages:
    """Reject kinds of clients that get no user, users that start too late, and streams that are due one by one."""
    kinds = load.find_workload(cell.operation).clients
    weights = [each.users for each in kinds.values()]
    # As wireload shares users out among the kinds.
    places = ((user + 0.5) / cell.concurrency * sum(weights) for user in range(cell.concurrency))
    taken = {bisect.bisect_right(list(itertools.accumulate(weights)), place) for place in places}
    for index, name in enumerate(kinds):
        if index not in taken:
            message = f"none of {cell.concurrency} users is one of the {name} of {cell.operation}"
            hint = "raise factors.concurrency, or the kind's share of the users"
            yield ("load", "workloads", cell.operation, "clients", name), message, hint
    if (spawn_s := load.compute_spawn_s(cell.concurrency)) > load.warmup_s:
        message = (
            f"the last of {cell.concurrency} users starts after {spawn_s:g} s, the window after {load.warmup_s:g} s"
        )
        yield ("load", "spawn_rate_per_s"), message, "raise it, or lengthen load.warmup_s"
    if cell.is_stream and load.shape:
        message = f"{A_LOAD[load.model]} is of requests that end soon, and not of streams"
        yield ("load", "model"), message, "use a closed or an open load, or another operation"


def _validate_placement(cell: Cell) -> CellMessages:
    alone = "a load in the same pod has one service to go to, and"
    if cell.placement == "same-pod" and (cell.replicas or 1) > 1:
        yield "placement", f"{alone} not {cell.replicas}", "set factors.replicas to 1, or another placement"
    if cell.placement == "same-pod" and cell.balancing != "service":
        hint = "set factors.balancing to service, or another placement"
        yield "placement", f"{alone} nothing to balance by {cell.balancing}", hint


def _validate_connections(cell: Cell) -> CellMessages:
    """Reject connections that users can't share."""
    if cell.connections is None:
        return
    if cell.transport != "grpc" and not cell.http:
        hint = "give connections to gRPC alone, or to REST with http: 2"
        version = "REST over HTTP/1.1" if cell.transport == "rest" else "the socket"
        yield "connections", f"{version} has one request at a time on each connection", hint
    if cell.connections > cell.concurrency:
        message = f"{cell.connections} connections are more than one for each of {cell.concurrency}"
        yield "connections", message, "raise factors.concurrency, or leave connections out"
    if cell.connection == "reopen":
        yield "connections", "a connection for each request isn't shared", "set factors.connection to keep"


def _validate_driver(cell: Cell, operations: Sequence[Operation], headers: Mapping[str, str]) -> CellMessages:
    can = DRIVER_FACTS[cell.driver]
    if cell.shape == "capacity" and cell.driver != "wireload":
        message = f"{cell.driver} uses too much CPU time to find what a service serves at most"
        yield "driver", message, "search for the capacity by wireload"
    elif cell.shape and cell.driver != "wireload":
        message = f"{cell.driver} takes no schedule of single requests"
        yield "driver", message, "drive replays by wireload"
    if cell.rate_per_s is not None and can.no_open_load:
        able = name_able_drivers(cell.transport, lambda name: not DRIVER_FACTS[name].no_open_load)
        yield "driver", f"{cell.driver} {can.no_open_load}", f"drive open loads by {able}"
    if cell.connection == "reopen" and cell.transport not in can.reopens:
        able = name_able_drivers(cell.transport, lambda name: cell.transport in DRIVER_FACTS[name].reopens)
        yield "connection", f"{cell.driver} keeps its connections", f"drive reopened connections by {able}"
    if cell.transport == "rest" and cell.codec == "protobuf" and cell.driver != "wireload":
        yield "driver", f"{cell.driver} sends JSON over REST", "drive protobuf over REST by wireload"
    if reason := explain_unsupported(cell.driver, cell, operations, headers):
        able = name_able_drivers(cell.transport, lambda name: not explain_unsupported(name, cell, operations, headers))
        yield "driver", f"{cell.driver} can't drive {cell.operation}: {reason}", f"drive it by {able}"


def _validate_link(cell: Cell) -> CellMessages:
    if (cell.link or cell.variant) and cell.driver == "ghz" and cell.balancing == "headless":
        nameless = "the proxies before them" if cell.link else "these"
        message = f"ghz finds the replicas by their common name, and {nameless} have none"
        yield "driver", message, "drive it by wireload, or choose another balancing"
    if cell.loss_percent is None:
        return
    if cell.link is None:
        message = "a load that goes straight to the service loses no packets"
        yield "loss_percent", message, "set delay_ms to 0 in place of none"
    if cell.placement is not None:
        message = "shaping a pod's packets needs a privileged container, and load pods have none"
        yield "loss_percent", message, "measure it with the target local, or leave it out"
    if cell.tls != "none":
        message = "certificates name this machine, and not the address that the load has beyond the network"
        yield "loss_percent", message, "set factors.tls to none"
