"""What a plan refuses: cells whose answers or figures would be wrong, and questions that no cell answers."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from wirebench.scenario import drivers
from wirebench.scenario.cell import Cell
from wirebench.scenario.contract import (
    CLOSING_RUNTIMES,
    CLUSTER_DEFAULTS,
    COMES_WITH,
    COMPARABLE,
    OPERATIONS,
    STREAM_OPERATIONS,
    THREADED_RUNTIMES,
    TRANSPORTS,
    WRITING_OPERATIONS,
    TargetName,
)
from wirebench.scenario.model import CALLS_MAX, EVERY_TRANSPORT, Factors, Load, Scenario, field_of
from wirebench.scenario.payload import takes
from wirebench.scenario.source import FieldPath
from wirebench.timing.recording import ENTRIES_MAX

T = TypeVar("T")

#: A load pod's task is a ConfigMap, which holds a mebibyte; each request takes up to thirty bytes of it.
RECORDED_IN_CLUSTER_MAX = 30_000

_A_LOAD = {
    "closed": "a closed load",
    "sweep": "a sweep",
    "calls": "a load of calls",
    "open": "an open load",
    "ramp": "a ramp",
    "replay": "a replay",
}
_KEYS_OF_MODELS = {
    "concurrency_max": "sweep",
    "calls": "calls",
    "from_rate_per_s": "ramp",
    "timing": "replay",
    "speedup": "replay",
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """The field that asks for what can't be, what is wrong with it, and what to do."""

    field: FieldPath
    message: str
    hint: str


def unfit_load(scenario: Scenario) -> Iterator[Refusal]:
    """Refuse a load that its factors don't fit."""
    factors, load = scenario.factors, scenario.load
    if load.model in ("open", "ramp") and not factors.rate_per_s:
        yield Refusal(("load", "model"), f"{_A_LOAD[load.model]} needs a rate", "add factors.rate_per_s")
    if load.model in ("closed", "sweep", "calls") and factors.rate_per_s:
        hint = "remove factors.rate_per_s, or set load.model to open"
        yield Refusal(("factors", "rate_per_s"), "a closed load has no rate", hint)
    if load.model == "replay" and factors.rate_per_s:
        hint = "remove factors.rate_per_s; load.speedup makes it faster"
        yield Refusal(("factors", "rate_per_s"), "a replay has the rate of its recording", hint)
    if load.model == "sweep" and factors.concurrency:
        hint = "remove factors.concurrency; load.concurrency_max says where a sweep ends"
        yield Refusal(("factors", "concurrency"), "a sweep has its own numbers of connections", hint)
    yield from _unfit_keys(load)
    yield from _unfit_calls(scenario)
    yield from _unfit_shape(scenario)
    yield from _unshared_load(scenario)
    yield from _unknown_work(scenario)


def _unfit_keys(load: Load) -> Iterator[Refusal]:
    """Refuse the keys of other models."""
    for key, model in _KEYS_OF_MODELS.items():
        if key in load.model_fields_set and load.model != model:
            message = f"{_A_LOAD[load.model]} has no {key}"
            yield Refusal(("load", key), message, f"remove it, or set load.model to {model}")


def _unfit_calls(scenario: Scenario) -> Iterator[Refusal]:
    """Refuse a number of calls that is missing, means nothing, or can't be counted one by one."""
    load = scenario.load
    if load.model != "calls":
        return
    greatest = max(_all_levels(scenario.factors.concurrency), default=1)
    if not load.calls:
        yield Refusal(("load", "model"), "it needs a number of calls", "add load.calls")
    elif load.calls * greatest > CALLS_MAX:
        message = f"{load.calls} calls on each of {greatest} connections are over {CALLS_MAX:,}"
        yield Refusal(("load", "calls"), message, "each is kept one by one: lower it, or use a closed load")
    if {*_all_levels(scenario.factors.disruption)} - {"none"}:
        message = "nobody knows how long a number of calls takes, and so when to disrupt it"
        yield Refusal(("factors", "disruption"), message, "use a closed or an open load")
    if load.warmup_s:
        yield Refusal(("load", "warmup_s"), "every call counts, from the first one on", "remove it")
    for driver in sorted(_all_levels(scenario.factors.driver) - {"k6"}):
        message = f"{driver} sends for a time, and not a number of calls"
        yield Refusal(("factors", "driver"), message, "drive them by k6")
    if load.generators > 1:
        yield Refusal(("load", "generators"), "several generators have no common order of calls", "use one")


def _unfit_shape(scenario: Scenario) -> Iterator[Refusal]:
    """Refuse a ramp or a replay that lacks something."""
    factors, load = scenario.factors, scenario.load
    if load.model == "ramp":
        if load.from_rate_per_s is None:
            yield Refusal(("load", "model"), "a ramp needs a rate to begin with", "add load.from_rate_per_s")
        first = load.from_rate_per_s or 0
        most = (max(_all_levels(factors.rate_per_s)) + first) / 2 * load.window_s + first * load.warmup_s
        if most > ENTRIES_MAX:
            message = f"{most:,.0f} requests in warm-up and window are over {ENTRIES_MAX:,}"
            yield Refusal(("load", "window_s"), message, "shorten them, or lower the rates")
    if load.model == "replay" and load.timing is None:
        yield Refusal(("load", "model"), "a replay needs a timing file", "add load.timing")


def _unknown_work(scenario: Scenario) -> Iterator[Refusal]:
    """Refuse operations that are none, and workloads that have an operation's name or that nobody asks for."""
    workloads, asked = scenario.load.workloads, scenario.factors.operation
    for transport, levels in asked.items():
        for place, level in enumerate(levels):
            owner = () if transport == EVERY_TRANSPORT else (transport,)
            field: FieldPath = ("factors", "operation", *owner, place)
            if level not in OPERATIONS and level not in workloads:
                hint = f"choose from {', '.join((*OPERATIONS, *workloads))}; load.workloads can define others"
                yield Refusal(field, f"there is no operation or workload {level!r}", hint)
            if level == "users.delete":
                hint = "write a sequence with users.create before it under load.workloads"
                yield Refusal(field, "a load deletes only users that it has created", hint)
    for name in workloads:
        if name not in _all_levels(asked):
            yield Refusal(("load", "workloads", name), "no cell has this workload", f"add {name} to factors.operation")


def _unshared_load(scenario: Scenario) -> Iterator[Refusal]:
    """Refuse several generators for a load that can't be shared among them."""
    factors, generators = scenario.factors, scenario.load.generators
    if generators == 1:
        return
    field: FieldPath = ("load", "generators")
    if "ghz" in _all_levels(factors.driver):
        yield Refusal(field, "ghz can't share a load with others of its kind", "drive it by k6, or use one generator")
    if "same-pod" in _all_levels(factors.placement):
        hint = "use one generator, or another placement"
        yield Refusal(field, "each of them would have a service of its own in its pod", hint)
    least = min(_all_levels(factors.concurrency), default=1)
    if least < generators:
        message = f"{generators} generators can't share {least} connection{'s' if least > 1 else ''}"
        yield Refusal(field, message, "raise factors.concurrency, or use fewer generators")


def unfit_target(scenario: Scenario, target: TargetName) -> Iterator[Refusal]:
    """Refuse what only a cluster can vary, anywhere else; a single level is a setting that is left out there."""
    if target == "kubernetes":
        yield from _absent_drivers(scenario.factors)
        recording = scenario.load.recording
        if recording and recording.count > RECORDED_IN_CLUSTER_MAX:
            message = f"{recording.count:,} requests are more than load pods can be told ({RECORDED_IN_CLUSTER_MAX:,})"
            yield Refusal(("load", "timing"), message, "replay a part of the recording, or run it on another target")
        return
    for name in CLUSTER_DEFAULTS:
        by_transport = getattr(scenario.factors, name)
        if len(set(by_transport.values())) > 1 or any(len(levels) > 1 for levels in by_transport.values()):
            hint = "run it with --target kubernetes, or leave the factor at one level"
            yield Refusal(("factors", name), f"the target {target} can't vary {name}", hint)
    if any(levels != (1,) for levels in scenario.factors.replicas.values()):
        hint = "run it with --target kubernetes, or remove the factor"
        yield Refusal(("factors", "replicas"), f"the target {target} has one replica", hint)
    if scenario.load.generators > 1:
        hint = "run it with --target kubernetes, or remove the key"
        yield Refusal(("load", "generators"), f"the target {target} has one generator", hint)


def _absent_drivers(factors: Factors) -> Iterator[Refusal]:
    """Refuse drivers that the pods of a cluster don't have."""
    present = [name for name, can in drivers.DRIVERS.items() if can.in_clusters]
    for transport, levels in factors.driver.items():
        for level in levels:
            if level not in present:
                field = ("factors", "driver", *(() if transport == EVERY_TRANSPORT else (transport,)))
                message = f"{level} is not in the image of the load pods, which holds {' and '.join(present)}"
                yield Refusal(field, message, f"drive it by {' or '.join(present)}, or run it on another target")


def unfit_levels(factors: Factors) -> Iterator[Refusal]:
    """Refuse levels that stand twice, and those of a transport that no cell has."""
    for name in factors.names():
        levels = factors.levels(name)
        by_transport = levels if isinstance(levels, dict) else {EVERY_TRANSPORT: levels}
        for transport, own in by_transport.items():
            field = field_of(name) if transport == EVERY_TRANSPORT else (*field_of(name), transport)
            if len(set(own)) < len(own):
                yield Refusal(field, "a level stands twice in the list", "name each level once")
            if transport not in (EVERY_TRANSPORT, *factors.transport):
                hint = "add it there, or remove its levels here"
                yield Refusal(field, f"{transport} is not in factors.transport", hint)


def unfit_runtimes(factors: Factors) -> Iterator[Refusal]:
    """Refuse runtimes that a transport doesn't have, or not in the implementations that there are."""
    for transport in factors.transport:
        owner = (transport,) if transport in factors.runtime else ()
        runtimes = TRANSPORTS[transport].runtimes
        possible = [name for each in factors.implementations(transport) for name in runtimes[each]]
        for place, name in enumerate(factors.runtime.get(owner[0] if owner else EVERY_TRANSPORT, ())):
            if name in possible:
                continue
            languages = [each for each, names in runtimes.items() if name in names]
            yield Refusal(
                ("factors", "runtime", *owner, place),
                f"{name!r} is a runtime in {languages[0]}" if languages else f"{transport} has no runtime {name!r}",
                f"add {languages[0]} to factors.implementation, or choose from {', '.join(possible)}"
                if languages
                else f"choose from {', '.join(possible)}; for one transport alone: runtime: {{{transport}: …}}",
            )


def impossible(cell: Cell, factors: Factors, load: Load) -> Iterator[Refusal]:
    """Refuse a cell whose answers, or whose figures, would be wrong."""
    facts = TRANSPORTS[cell.transport]
    for name, possible in (("driver", facts.drivers), ("codec", facts.codecs)):
        if getattr(cell, name) not in possible:
            yield Refusal(
                _written(factors, name, cell),
                f"{cell.transport} has no {name} {getattr(cell, name)!r}",
                f"choose from {', '.join(possible)}; for one transport alone: {name}: {{{cell.transport}: …}}",
            )
    operations = load.workload(cell.operation).operations
    writes = not WRITING_OPERATIONS.isdisjoint(operations)
    yield from _impossible_service(cell, factors, writes=writes)
    yield from _impossible_work(cell, factors, operations)
    yield from _impossible_users(cell, load)
    yield from _impossible_load(cell, factors)
    if cell.is_disrupted:
        yield from _impossible_disruption(cell, factors, writes=writes)
    yield from _impossible_link(cell, factors)


def _impossible_work(cell: Cell, factors: Factors, operations: Sequence[str]) -> Iterator[Refusal]:
    """Refuse operations that a payload doesn't fit."""
    if cell.payload is not None and not any(takes(operation, cell.payload) for operation in operations):
        yield Refusal(
            _written(factors, "payload", cell),
            f"{cell.operation} has no payload {cell.payload!r}",
            "small and profile are for users.create, users.update and users.create_batch, list for users.list, batch "
            "for users.create_batch, 512k for echoes; a number is bytes of an echo, or users of a list or batch",
        )
    yield from _impossible_stream(cell, factors)


def _impossible_users(cell: Cell, load: Load) -> Iterator[Refusal]:
    """Refuse kinds of clients that get no user, and streams that are due one by one."""
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
    if cell.is_stream and load.model in ("ramp", "replay"):
        message = f"{_A_LOAD[load.model]} is of requests that end soon, and not of streams"
        yield Refusal(("load", "model"), message, "use a closed or an open load, or another operation")


def _impossible_stream(cell: Cell, factors: Factors) -> Iterator[Refusal]:
    """Refuse a codec that streams don't have, and what is said of streams to an operation that is none."""
    if cell.is_stream and cell.transport == "rest" and cell.codec == "protobuf":
        message = "REST streams are Server-Sent Events, which are JSON text"
        hint = "leave factors.codec out, or give it to the socket alone: codec: {socket: protobuf}"
        yield Refusal(_written(factors, "codec", cell), message, hint)
    for name in ("stream_items", "stream_rate_limit_per_s"):
        if getattr(factors, name) and not cell.is_stream:
            hint = f"set factors.operation to {' or '.join(STREAM_OPERATIONS)} alone, or remove {name}"
            yield Refusal(("factors", name), f"{cell.operation} is no stream", hint)


def _impossible_service(cell: Cell, factors: Factors, *, writes: bool) -> Iterator[Refusal]:
    if cell.implementation == "go":
        yield from _impossible_in_go(cell, factors)
    if writes and cell.store == "memory" and cell.workers > 1:
        yield Refusal(
            _written(factors, "workers", cell),
            f"{cell.operation} on {cell.workers} workers with a store in each one's memory: "
            "a worker would not know what another one stored, and its answers would be wrong",
            "set factors.store to sqlite or postgres, which workers share, or workers to 1",
        )
    if writes and cell.replicas > 1 and cell.store != "postgres":
        yield Refusal(
            _written(factors, "replicas", cell),
            f"{cell.operation} on {cell.replicas} replicas, each with a store of its own: "
            "a replica would not know what another one stored, and its answers would be wrong",
            "set factors.store to postgres, which replicas share, or replicas to 1",
        )
    if cell.threads is not None and cell.runtime not in THREADED_RUNTIMES:
        yield Refusal(
            _written(factors, "threads", cell),
            f"the runtime {cell.runtime!r} has no thread pool",
            f"give threads by transport, to runtimes that have one: {', '.join(sorted(THREADED_RUNTIMES))}",
        )
    if cell.runtime in CLOSING_RUNTIMES and cell.connection == "keep":
        yield Refusal(
            _written(factors, "runtime", cell),
            f"{cell.runtime} closes the connection after each reply, so that none is kept",
            "set factors.connection to reopen, for all that is compared with it",
        )


def _impossible_in_go(cell: Cell, factors: Factors) -> Iterator[Refusal]:
    if cell.workers > 1:
        yield Refusal(
            _written(factors, "workers", cell),
            f"{cell.workers} workers in Go, where a service is one process that uses many cores",
            "set factors.workers to 1, and factors.threads to the cores that it is to use at once",
        )
    if cell.store != "memory":
        yield Refusal(
            _written(factors, "store", cell), f"in Go there is no store {cell.store!r}", "set factors.store to memory"
        )


def _impossible_load(cell: Cell, factors: Factors) -> Iterator[Refusal]:
    if cell.placement == "same-pod" and cell.replicas > 1:
        message = f"a load in the same pod has one service to go to, and not {cell.replicas}"
        yield Refusal(_written(factors, "placement", cell), message, "set factors.replicas to 1, or another placement")
    if cell.placement == "same-pod" and cell.balancing != "service":
        yield Refusal(
            _written(factors, "placement", cell),
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
        yield Refusal(_written(factors, "driver", cell), message, "drive ramps and replays by k6")
    if cell.rate_per_s is not None and can.no_open_load:
        able = drivers.who_can(cell.transport, rate=True)
        field = _written(factors, "driver", cell)
        yield Refusal(field, f"{cell.driver} {can.no_open_load}", f"drive open loads by {able}")
    if cell.connection == "reopen" and cell.transport not in can.reopens:
        able = drivers.who_can(cell.transport, reopen=True)
        field = _written(factors, "connection", cell)
        yield Refusal(field, f"{cell.driver} keeps its connections", f"drive reopened connections by {able}")
    if cell.transport == "rest" and cell.codec == "protobuf" and can.json_only:
        message = f"{cell.driver} sends JSON over REST"
        yield Refusal(_written(factors, "driver", cell), message, "drive protobuf over REST by k6")
    if cell.tls != "none" and not can.tls:
        able = drivers.who_can(cell.transport, tls=True)
        message = f"{cell.driver} is driven in plain text only"
        yield Refusal(_written(factors, "driver", cell), message, f"drive TLS by {able}")
    if not drivers.has(cell.driver, cell.operation):
        able = drivers.who_can(cell.transport, operation=cell.operation)
        message = f"{cell.driver} can't drive {cell.operation}: {can.no_other_operation}"
        yield Refusal(_written(factors, "driver", cell), message, f"drive it by {able}")


def _all_levels(by_transport: Mapping[Any, tuple[T, ...]]) -> set[T]:
    return set(itertools.chain(*by_transport.values()))


def _impossible_connections(cell: Cell, factors: Factors) -> Iterator[Refusal]:
    field = _written(factors, "connections", cell)
    if cell.driver != "ghz":
        hint = "leave connections out; to share them among users is for the driver ghz"
        yield Refusal(field, f"each user of {cell.driver} has a connection of its own", hint)
    if (cell.connections or 0) > cell.concurrency:
        hint = "raise factors.concurrency, or leave connections out"
        yield Refusal(field, f"{cell.connections} connections are more than one for each of {cell.concurrency}", hint)


def _impossible_disruption(cell: Cell, factors: Factors, *, writes: bool) -> Iterator[Refusal]:
    field = _written(factors, "disruption", cell)
    if cell.placement == "same-pod":
        hint = "choose another placement"
        yield Refusal(field, "a load in the same pod would be disrupted along with its service", hint)
    if cell.balancing != "service":
        message = f"replicas get new addresses, and a load balanced by {cell.balancing} goes to the old ones"
        yield Refusal(field, message, "set factors.balancing to service")
    if cell.driver == "ghz":
        yield Refusal(field, "ghz doesn't tell when requests failed", "drive it by k6")
    if writes and cell.store != "postgres":
        message = f"{cell.operation} to a store that goes with its replica: its answers would be wrong"
        yield Refusal(field, message, "set factors.store to postgres, or choose an operation that only reads")


def _impossible_link(cell: Cell, factors: Factors) -> Iterator[Refusal]:
    if cell.jitter_ms and not cell.delay_ms:
        yield Refusal(
            _written(factors, "jitter_ms", cell),
            f"a jitter of {cell.jitter_ms} ms needs a delay that it can take from and add to",
            "leave out the jitter, or the levels of delay_ms without a delay",
        )
    elif (cell.jitter_ms or 0) > (cell.delay_ms or 0):
        yield Refusal(
            _written(factors, "jitter_ms", cell),
            f"a jitter of {cell.jitter_ms} ms is more than the delay of {cell.delay_ms} ms, and none can be negative",
            "lower the jitter, or leave out the smaller levels of delay_ms",
        )
    if cell.bandwidth_kib_s is not None and cell.link is None:
        yield Refusal(
            _written(factors, "bandwidth_kib_s", cell),
            "a load that goes straight to the service has all the bandwidth there is",
            "set delay_ms to 0 in place of none: through the proxy, but without a delay",
        )
    if cell.link and cell.driver == "ghz" and cell.balancing == "headless":
        yield Refusal(
            _written(factors, "driver", cell),
            "ghz finds the replicas by their common name, and the proxies before them have none",
            "drive it by k6, or choose another balancing",
        )


def incomparable(scenario: Scenario, cells: Sequence[Cell]) -> Iterator[Refusal]:
    """Refuse a comparison that no two cells make, if one is asked for: in words, or by several transports."""
    factor = scenario.compare
    in_words = "compare" in scenario.model_fields_set
    if _levels_compared(cells, factor) or not (in_words or len(scenario.factors.transport) > 1):
        return
    several = len({cell.factors[factor] for cell in cells}) > 1
    fix = "give the cells the same levels of all others" if several else f"give factors.{factor} several levels"
    compared = {name: levels for name in COMPARABLE if (levels := _levels_compared(cells, name))}
    varied = ", ".join(f"{name} ({', '.join(map(str, levels))})" for name, levels in compared.items())
    yield Refusal(
        ("compare",) if in_words else ("factors", "transport"),
        f"there is nothing to compare: no two cells differ in {factor} alone",
        f"{fix}, or compare what varies: {varied}" if varied else fix,
    )


def _levels_compared(cells: Sequence[Cell], factor: str) -> tuple[object, ...]:
    """Return the levels of a factor in which cells differ that are equal in all other factors."""
    own = {factor, *COMES_WITH.get(factor, ())}
    levels: dict[tuple[object, ...], dict[object, None]] = {}
    for cell in cells:
        others = tuple(level for name, level in cell.factors.items() if name not in own)
        levels.setdefault(others, {})[cell.factors[factor]] = None
    return tuple(dict.fromkeys(itertools.chain.from_iterable(each for each in levels.values() if len(each) > 1)))


def _written(factors: Factors, name: str, cell: Cell) -> FieldPath:
    """Return where the level is written that a cell has of a factor."""
    levels = factors.levels(name)
    owner = (cell.transport,) if cell.transport in levels else ()
    return (*field_of(name), *owner, levels[owner[0] if owner else EVERY_TRANSPORT].index(getattr(cell, name)))
