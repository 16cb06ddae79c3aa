"""Validation of a scenario: each function yields the fields that are invalid, what is wrong, and the next step.

What a factor needs of others stands in its declaration (`wirebench.model.cell`), and what a key of a load needs in the
load's (`wirebench.model.scenario`). Here is what depends on operations, workloads, variants, targets and whole plans.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from wirebench.errors import suggest
from wirebench.model.application import Operation
from wirebench.model.cell import DEFAULTS, FACTORS, Cell
from wirebench.model.contract import CLUSTER_DRIVERS, TRANSPORTS, LoadModel, TargetName
from wirebench.model.factor import Level
from wirebench.model.scenario import (
    CALLS_MAX,
    EVERY_TRANSPORT,
    Load,
    Objective,
    Only,
    Scenario,
    find_own,
)
from wirebench.model.source import FieldPath
from wirebench.plan.driver_support import explain_unsupported

T = TypeVar("T")

#: An invalid field, what is wrong with it, and the next step.
ValidationMessage = tuple[FieldPath, str, str]
ValidationMessages = Iterator[ValidationMessage]
#: The same of a cell, by the name of a factor.
CellMessages = Iterator[tuple[str, str, str]]

#: A load pod's task is a ConfigMap, which holds a mebibyte; each request takes up to thirty bytes of it.
RECORDED_IN_CLUSTER_MAX = 30_000
#: So many times as long as the objective a window of a search is at least: a queue needs time to grow.
_WINDOW_OVER_OBJECTIVE = 10
#: What load models can't do without.
_NEEDED: dict[LoadModel, tuple[str, str]] = {
    "open": ("factors", "rate_per_s"),
    "calls": ("load", "calls"),
    "replay": ("load", "timing"),
    "capacity": ("load", "objective"),
}
#: The key that a variant needs on a target.
_ON_TARGET: dict[TargetName, tuple[str, str]] = {
    "local": ("start", "a command"),
    "external": ("address", "HOST:PORT"),
    "kubernetes": ("kubernetes", "a Service"),
}


def validate_scenario(scenario: Scenario, target: TargetName) -> ValidationMessages:
    """Reject what can't be measured, whatever the cells are."""
    if scenario.application.variants:
        yield from _validate_variants(scenario, target)
    elif scenario.factors.variant:
        hint = "remove it, or name an application file that has variants: application"
        yield ("factors", "variant"), "the built-in application has no variants", hint
    elif not scenario.factors.transport:
        yield ("factors", "transport"), "is missing", "name what is compared: transport: [rest, grpc]"
    yield from _validate_load(scenario)
    yield from _validate_work(scenario)
    yield from _validate_cluster(scenario) if target == "kubernetes" else _validate_without_cluster(scenario, target)


def _validate_variants(scenario: Scenario, target: TargetName) -> ValidationMessages:
    """Reject variants that are unknown or not on the target, and factors that don't apply."""
    factors, application = scenario.factors, scenario.application
    for place, name in enumerate(factors.variant):
        if name not in application.variants:
            message = f"the application has no variant {name!r}"
            yield ("factors", "variant", place), message, suggest(name, application.variants)
    for factor, declaration in FACTORS.items():
        if declaration.is_built_in_only and getattr(factors, factor):
            yield ("factors", factor), "it is for the built-in application", "remove it: variants have their own"
    key, what = _ON_TARGET[target]
    for name, variant in scenario.variants.items():
        if getattr(variant, key) is None:
            others = [each for each, (other, _) in _ON_TARGET.items() if getattr(variant, other) is not None]
            where = application.source.locate(("variants", name))
            hint = f"add it, {where}, choose others by factors.variant, or add --target {' or '.join(others)}"
            message = f"the variant {name} has no {key} ({what}), which the target {target} needs"
            yield ("factors", "variant"), message, hint


def _validate_load(scenario: Scenario) -> ValidationMessages:
    """Reject a load that lacks a key or a factor, or has one that its model or drivers don't know."""
    load, a_load = scenario.load, f"the load model {scenario.load.model}"
    section, key = _NEEDED.get(load.model, ("load", "model"))
    if not (getattr(scenario.factors if section == "factors" else load, key) or load.recording):
        yield ("load", "model"), f"{a_load} needs {section}.{key}", f"add {section}.{key}"
    for name, factor in FACTORS.items():
        if load.model not in factor.load_models and name != "shape" and getattr(scenario.factors, name):
            hint = f"remove factors.{name}, or set load.model to {' or '.join(factor.load_models)}"
            yield ("factors", name), f"{a_load} has no {name} of its own", hint
    for key, field in Load.model_fields.items():
        rules = [each for each in field.metadata if isinstance(each, Only)]
        if rules and getattr(load, key) != field.get_default():
            yield from _validate_key(scenario, key, rules)
    if load.calls:
        yield from _validate_calls(scenario, load.calls)
    if load.objective:
        yield from _validate_search(load, load.objective)


def _validate_key(scenario: Scenario, key: str, rules: Sequence[Only]) -> ValidationMessages:
    """Reject a key of the load that its model or its drivers don't know."""
    only = next((only for only in rules if scenario.load.model in only.models), None)
    if only is None:
        models = " or ".join(model for only in rules for model in only.models)
        message = f"the load model {scenario.load.model} has no {key}"
        yield ("load", key), message, f"remove it, or set load.model to {models}"
        return
    for field, driver in scenario.drivers.items():
        if driver not in only.drivers:
            yield field, f"{driver} takes no load.{key}", f"remove load.{key}, or use {' or '.join(only.drivers)}"


def _validate_calls(scenario: Scenario, calls: int) -> ValidationMessages:
    """Reject a number of calls that means nothing, or can't be counted one by one."""
    load, concurrency = scenario.load, max(collect_levels(scenario.factors.concurrency), default=1)
    if calls * concurrency > CALLS_MAX:
        message = f"{calls} calls on each of {concurrency} connections are over {CALLS_MAX:,}"
        yield ("load", "calls"), message, "each is kept one by one: lower it, or use a closed load"
    if load.warmup_s:
        yield ("load", "warmup_s"), "every call counts, from the first one on", "use load.warmup_calls"
    streams = {name for name, each in scenario.application.operations.items() if each.stream}
    if load.warmup_calls and collect_levels(scenario.factors.operation) & streams:
        yield ("load", "warmup_calls"), "streams have no warm-up by calls", "remove it, or the stream"


def _validate_search(load: Load, objective: Objective) -> ValidationMessages:
    """Reject a search for the capacity with windows and a timeout that can't show it."""
    p99_s = objective.p99_ms / 1000
    if load.window_s < _WINDOW_OVER_OBJECTIVE * p99_s:
        message = f"a window of {load.window_s:g} s is too short to show a p99 of {objective.p99_ms:g} ms"
        yield ("load", "window_s"), message, f"lengthen it to at least {_WINDOW_OVER_OBJECTIVE * p99_s:g} s"
    if load.timeout_s is not None and load.timeout_s <= p99_s:
        message = f"requests end after {load.timeout_s:g} s, and none would be slower than the objective"
        yield ("load", "timeout_s"), message, "lengthen it, or remove it"


def _validate_work(scenario: Scenario) -> ValidationMessages:
    """Reject unknown operations, and workloads that have an operation's name, or phases without an end."""
    load, operations = scenario.load, scenario.application.operations
    for transport, levels in scenario.factors.operation.items():
        for place, level in enumerate(levels):
            field = (*_locate_levels("operation", transport), place)
            if level not in operations and level not in load.workloads:
                hint = f"choose from {', '.join((*operations, *load.workloads))}; load.workloads can define others"
                yield field, f"there is no operation or workload {level!r}", hint
            elif level in operations and operations[level].deletes:
                hint = "write a sequence that creates users before it under load.workloads"
                yield field, "a load deletes only users that it has created", hint
    for name, workload in load.workloads.items():
        field, count = ("load", "workloads", name), len(workload.phases)
        if name in operations:
            yield field, "an operation has the same name", "rename the workload"
        if count and load.model != "calls":
            message = f"the load model {load.model} has no phases: no user knows when one ends"
            yield (*field, "phases"), message, "set load.model to calls, and load.calls"
        elif count and (load.calls or 0) % count:
            message = f"{load.calls} calls can't be divided among the {count} phases of {name}"
            yield ("load", "calls"), message, f"make it a multiple of {count}"


def _validate_without_cluster(scenario: Scenario, target: TargetName) -> ValidationMessages:
    """Reject what only a cluster has; a single level is a setting that is left out elsewhere, unless it is replicas."""
    for name, factor in FACTORS.items():
        levels = collect_levels(getattr(scenario.factors, name)) if target not in factor.targets else set()
        if len(levels) > 1 or (name == "replicas" and levels - {1}):
            hint = f"run it with --target {' or '.join(factor.targets)}, or remove factors.{name}"
            yield ("factors", name), f"the target {target} can't vary {name}", hint


def _validate_cluster(scenario: Scenario) -> ValidationMessages:
    """Reject what load pods can't do, what a cluster lacks, and what can't be set on services that run there."""
    for field, driver in scenario.drivers.items():
        if driver not in CLUSTER_DRIVERS:
            message = f"{driver} is not in the image of the load pods, which holds {' and '.join(CLUSTER_DRIVERS)}"
            yield field, message, f"drive it by {' or '.join(CLUSTER_DRIVERS)}, or run it on another target"
    if "postgres" in collect_levels(scenario.factors.store):
        hint = "run it with --target local, after `make postgres-up`, or set factors.store to memory"
        yield ("factors", "store"), "the target kubernetes brings no PostgreSQL server", hint
    recording = scenario.load.recording
    if recording and recording.count > RECORDED_IN_CLUSTER_MAX:
        message = f"{recording.count:,} requests are more than load pods take ({RECORDED_IN_CLUSTER_MAX:,})"
        yield ("load", "timing"), message, "replay a part of the recording, or run it on another target"
    if scenario.load.model == "capacity":
        message = "each window of a search for the capacity would start load pods of its own"
        yield ("load", "model"), message, "run it with --target local or external, or set load.model to open"
    fixed = [name for name, factor in FACTORS.items() if factor.is_fixed_in_cluster]
    for name, variant in scenario.variants.items():
        for factor in (*fixed, "placement") if variant.kubernetes else ():
            own = find_own(getattr(scenario.factors, factor), variant.transport)
            if "same-pod" in own or (own and factor in fixed):
                hint = "remove it, or choose another level: the run changes nothing of a service that runs already"
                yield ("factors", factor), f"it can't be set on {name}", hint


def validate_cell(cell: Cell, scenario: Scenario) -> ValidationMessages:
    """Reject a cell whose answers, or whose figures, would be wrong."""
    every = scenario.application.operations
    operations = [every[name] for name in scenario.load.find_workload(cell.operation).operations]
    found = itertools.chain(
        _validate_needs(cell),
        _validate_requests(cell, scenario),
        _validate_operations(cell, scenario, operations),
        _validate_connections(cell),
        _validate_driver(cell, scenario, operations) if cell.driver in TRANSPORTS[cell.transport].drivers else (),
    )
    for name, message, hint in found:
        yield _locate_level(scenario, name, cell), message, hint
    yield from _validate_streams(cell, scenario, operations)
    if (spawn_s := scenario.load.compute_spawn_s(cell.concurrency)) > scenario.load.warmup_s:
        message = f"the last of {cell.concurrency} users starts after {spawn_s:g} s, and the warm-up ends before"
        yield ("load", "spawn_rate_per_s"), message, "raise it, or lengthen load.warmup_s"


def _validate_needs(cell: Cell) -> CellMessages:
    """Reject levels that another factor doesn't fit, as the declarations have it."""
    facts, levels = TRANSPORTS[cell.transport], cell.factors
    for name, factor in FACTORS.items():
        level = levels[name]
        possible = factor.choices(facts, cell.implementation) if factor.choices else (level,)
        if level not in possible and level is not None and name != "runtime":
            known = ", ".join(map(str, possible))
            hint = f"choose from {known}; for one transport alone: {name}: {{{cell.transport}: …}}"
            yield name, f"{cell.transport} has no {name} {level!r}", hint
        elif level != DEFAULTS.get(name):
            for needed, fitting in factor.needs.items():
                if level in (factor.needed_by or (level,)) and levels[needed] not in fitting:
                    yield _describe_need(cell, name, needed, fitting)


def _describe_need(cell: Cell, name: str, needed: str, levels: Sequence[Level]) -> tuple[str, str, str]:
    choices = FACTORS[needed].choices
    possible = choices(TRANSPORTS[cell.transport], cell.implementation) if choices else levels
    named = [str(level) for level in levels if level is not None]
    fitting = " or ".join([level for level in named if level in possible] or named)
    wanted = f"{needed} {fitting}" if fitting else f"no {needed}"
    message = f"{name} {getattr(cell, name)} needs {wanted}, and not {getattr(cell, needed)}"
    fix = f"set factors.{needed} to {fitting}" if fitting else f"remove factors.{needed}"
    return name, message, f"{fix}, or change {name}; for some transports alone: {name}: {{rest: …}}"


def _validate_requests(cell: Cell, scenario: Scenario) -> CellMessages:
    """Reject workers that can't be set on a variant, and operations without a request for it."""
    application = scenario.application
    if cell.variant and cell.workers > 1 and not application.variants[cell.variant].takes_workers:
        hint = f"write {{workers}} into its command: {application.source.locate(('variants', cell.variant))}"
        yield "workers", f"it can't be set on the variant {cell.variant}", hint
    for name in scenario.load.find_workload(cell.operation).operations:
        if application.operations[name].find_request(cell.transport, cell.variant) is None:
            others = "variant" if cell.variant else "transport"
            hint = f"add it, {application.source.locate(('operations', name))}, or choose others by factors.{others}"
            yield "operation", f"{name} has no {cell.transport} request", hint


def _validate_operations(cell: Cell, scenario: Scenario, operations: Sequence[Operation]) -> CellMessages:
    """Reject writes to stores that aren't shared, and payloads that no operation takes."""
    for name, shares in (("workers", cell.store != "memory"), ("replicas", cell.store is None)):
        count = getattr(cell, name) or 1
        if count > 1 and not shares and any(each.writes for each in operations):
            message = f"{cell.operation} on {count} {name}, each with a store of its own: answers would be wrong"
            fix = "set factors.store to postgres, which workers share, " if name == "workers" else ""
            yield name, message, f"{fix}choose an operation that only reads, or set {name} to 1"
    if cell.payload is not None and not any(each.takes(cell.payload) for each in operations):
        taking = [name for name, each in scenario.application.operations.items() if each.takes(cell.payload)]
        hint = f"it is for {', '.join(taking)}" if taking else "remove it: no operation has it"
        yield "payload", f"{cell.operation} has no payload {cell.payload!r}", hint
    if cell.stream_items is not None and cell.transport == "rest" and cell.codec == "protobuf":
        hint = "leave factors.codec out"
        yield "codec", "REST streams are Server-Sent Events, which are JSON text", hint


def _validate_connections(cell: Cell) -> CellMessages:
    """Reject connections that users can't share."""
    if cell.connections and cell.transport != "grpc" and not cell.http:
        version = "REST over HTTP/1.1" if cell.transport == "rest" else "the socket"
        hint = "give connections to gRPC alone, or to REST with http: 2"
        yield "connections", f"{version} has one request at a time on each connection", hint
    if cell.connections and cell.connections > cell.concurrency:
        message = f"{cell.connections} connections are more than one for each of {cell.concurrency}"
        yield "connections", message, "raise factors.concurrency, or leave connections out"


def _validate_driver(cell: Cell, scenario: Scenario, operations: Sequence[Operation]) -> CellMessages:
    headers = scenario.application.variants[cell.variant].headers if cell.variant else {}
    drivers, window_s = TRANSPORTS[cell.transport].drivers, scenario.load.window_s
    reasons = {name: explain_unsupported(name, cell, window_s, operations, headers) for name in drivers}
    if reason := reasons[cell.driver]:
        able = (name for name in drivers if not reasons[name])
        yield "driver", f"{cell.driver} can't drive {cell.operation}: {reason}", f"drive it by {' or '.join(able)}"


def _validate_streams(cell: Cell, scenario: Scenario, operations: Sequence[Operation]) -> ValidationMessages:
    """Reject what only streams have of other operations, and streams that are due one by one."""
    for name, given in (("stream_items", "items"), ("stream_rate_limit_per_s", "rate_limit_per_s")):
        if getattr(scenario.factors, name) and not all(each.asks_for(given) for each in operations):
            what = "doesn't ask for it" if all(each.stream for each in operations) else "is not a stream"
            asking = [key for key, each in scenario.application.operations.items() if each.asks_for(given)]
            hint = f"remove {name}, or set factors.operation to {' or '.join(asking) or 'a stream'} alone"
            yield ("factors", name), f"{cell.operation} {what}", hint
    if cell.stream_items is not None and scenario.load.shape:
        message = f"the load model {scenario.load.model} is of requests that end soon, and not of streams"
        yield ("load", "model"), message, "use a closed or an open load, or another operation"


def validate_plan(scenario: Scenario, cells: Sequence[Cell], target: TargetName) -> ValidationMessages:
    """Reject loads over a service's limit, runtimes that no cell has, and comparisons without a pair of cells."""
    for cell in cells:
        yield from _validate_limit(scenario, cell, target)
    for owner, runtimes in scenario.factors.runtime.items():
        used = {cell.runtime for cell in cells if owner in (EVERY_TRANSPORT, cell.transport)}
        for place, name in enumerate(runtimes if used else ()):
            if name not in used:
                message = f"no transport and implementation here has the runtime {name!r}"
                yield (*_locate_levels("runtime", owner), place), message, "docs/scenarios.md lists those of each"
    yield from _validate_comparison(scenario, cells)


def _validate_limit(scenario: Scenario, cell: Cell, target: TargetName) -> ValidationMessages:
    """Reject a load over the limit of a service that the run hasn't started; without a limit, any load."""
    variant, load = scenario.variants.get(cell.variant or ""), scenario.load
    if variant is None or not (place := variant.find_foreign(target)):
        return
    at, limit, hint = (
        f"the variant {cell.variant} {place}",
        variant.limit,
        "lower it, or raise the limit if it is yours",
    )
    if limit is None:
        where = scenario.application.source.locate(("variants", str(cell.variant)))
        hint = f"add it, {where}: limit: {{rate_per_s: …, connections: …}}"
        yield ("factors", "variant"), f"{at}, and has no limit", hint
    elif load.model != "open":
        hint = f"set load.model to open, and factors.rate_per_s to {limit.rate_per_s:,} at most"
        yield ("load", "model"), f"{at}: only an open load keeps to its limit", hint
    elif (cell.rate_per_s or 0) > limit.rate_per_s:
        yield ("factors", "rate_per_s"), f"{at}, and its limit is {limit.rate_per_s:,} requests/s", hint
    elif load.add_connections(cell).concurrency > limit.connections:
        field = ("load", "concurrency_max") if load.concurrency_max else ("factors", "concurrency")
        yield field, f"{at}, and its limit is {limit.connections:,} connections", hint


def _validate_comparison(scenario: Scenario, cells: Sequence[Cell]) -> ValidationMessages:
    """Reject a comparison that no two cells make, if one is asked for: in words, or by several transports."""
    factor, main = scenario.compare, "variant" if scenario.variants else "transport"
    in_words = "compare" in scenario.model_fields_set
    if not in_words and len({cell.factors[main] for cell in cells}) == 1:
        return
    free = {factor, *FACTORS[factor].comes_with}
    levels: dict[tuple[Level, ...], set[Level]] = {}
    for cell in cells:
        others = tuple(level for name, level in cell.factors.items() if name not in free)
        levels.setdefault(others, set()).add(cell.factors[factor])
    if any(len(each) > 1 for each in levels.values()):
        return
    several = len({cell.factors[factor] for cell in cells}) > 1
    hint = "give the cells the same levels of all others" if several else f"give factors.{factor} several levels"
    message = f"there is nothing to compare: no two cells differ in {factor} alone"
    yield ("compare",) if in_words else ("factors", main), message, hint


def collect_levels(by_transport: Mapping[Any, Iterable[T]]) -> set[T]:
    return set(itertools.chain(*by_transport.values()))


def _locate_levels(factor: str, transport: str) -> FieldPath:
    """Return where the levels of a factor for a transport, or for all of them, are written."""
    return ("factors", factor, *(() if transport == EVERY_TRANSPORT else (transport,)))


def _locate_level(scenario: Scenario, name: str, cell: Cell) -> FieldPath:
    """Return where the level is written that a cell has of a factor, or would be."""
    if name == "shape":
        return "load", "model"
    levels = getattr(scenario.factors, name)
    owner = cell.transport if cell.transport in levels else EVERY_TRANSPORT
    own, level = levels.get(owner, ()), getattr(cell, name)
    return (*_locate_levels(name, owner), own.index(level)) if level in own else ("factors", name)
