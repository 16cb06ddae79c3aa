"""Loads that their factors don't fit."""

from __future__ import annotations

from wirebench.model.contract import Driver, LoadModel
from wirebench.model.scenario import CALLS_MAX, EVERY_TRANSPORT, Load, Scenario
from wirebench.model.source import FieldPath
from wirebench.plan.validation.messages import ValidationMessages, collect_levels

A_LOAD = {
    "closed": "a closed load",
    "sweep": "a sweep",
    "calls": "a load of calls",
    "open": "an open load",
    "replay": "a replay",
    "capacity": "a search for the capacity",
}

_KEYS_OF_MODELS: dict[str, tuple[LoadModel, ...]] = {
    "concurrency_max": ("sweep", "open", "replay"),
    "calls": ("calls",),
    "warmup_calls": ("calls",),
    "spawn_rate_per_s": ("closed",),
    "from_rate_per_s": ("capacity",),
    "timing": ("replay",),
    "speedup": ("replay",),
    "objective": ("capacity",),
    "resolution": ("capacity",),
    "windows_max": ("capacity",),
}
#: So many times as long as the objective a window of a search is at least: a queue needs time to grow.
_WINDOW_OVER_OBJECTIVE = 10

#: Keys that not all drivers know: those that do, and what the others do instead.
_KEYS_OF_DRIVERS: dict[str, tuple[frozenset[Driver], str]] = {
    "timeout_s": (frozenset({"wireload", "k6", "ghz", "oha"}), "has a timeout of its own"),
    "spawn_rate_per_s": (frozenset({"wireload", "locust"}), "starts all its users at once"),
}


def validate_load(scenario: Scenario) -> ValidationMessages:
    factors, load = scenario.factors, scenario.load
    if load.model == "open" and not factors.rate_per_s:
        yield ("load", "model"), "an open load needs a rate", "add factors.rate_per_s"
    if load.model in ("closed", "sweep", "calls") and factors.rate_per_s:
        hint = "remove factors.rate_per_s, or set load.model to open"
        yield ("factors", "rate_per_s"), f"{A_LOAD[load.model]} has no rate", hint
    if load.model == "replay" and factors.rate_per_s:
        hint = "remove factors.rate_per_s; load.speedup makes it faster"
        yield ("factors", "rate_per_s"), "a replay has the rate of its recording", hint
    if load.model == "capacity" and factors.rate_per_s:
        hint = "remove factors.rate_per_s; load.from_rate_per_s is where the search begins"
        yield ("factors", "rate_per_s"), "a search for the capacity finds the rate", hint
    if load.model == "replay" and load.timing is None and load.recording is None:
        yield ("load", "model"), "a replay needs a timing file", "add load.timing, or give --timing"
    if load.model == "sweep" and factors.concurrency:
        hint = "remove factors.concurrency; load.concurrency_max is where a sweep ends"
        yield ("factors", "concurrency"), "a sweep has its own numbers of connections", hint
    yield from _validate_keys(load)
    yield from _validate_drivers(scenario)
    yield from _validate_connections(scenario)
    yield from _validate_calls(scenario)
    yield from _validate_search(scenario)
    yield from _validate_generators(scenario)
    yield from _validate_work(scenario)
    yield from _validate_phases(scenario)


def _validate_keys(load: Load) -> ValidationMessages:
    for key, models in _KEYS_OF_MODELS.items():
        if key in load.model_fields_set and load.model not in models:
            message = f"{A_LOAD[load.model]} has no {key}"
            yield ("load", key), message, f"remove it, or set load.model to {' or '.join(models)}"


def _validate_drivers(scenario: Scenario) -> ValidationMessages:
    for key, (able, message) in _KEYS_OF_DRIVERS.items():
        if getattr(scenario.load, key) is not None:
            hint = f"remove load.{key}, or use {' or '.join(sorted(able))}"
            for field, driver in scenario.drivers.items():
                if driver not in able:
                    yield field, f"{driver} {message}", hint


def _validate_connections(scenario: Scenario) -> ValidationMessages:
    """Reject connections that an open load can't add."""
    load, field = scenario.load, ("load", "concurrency_max")
    if load.model not in ("open", "replay") or load.concurrency_max is None:
        return
    greatest = max(collect_levels(scenario.factors.concurrency), default=1)
    if load.concurrency_max < greatest:
        message = f"{load.concurrency_max} connections at most are fewer than the {greatest} of factors.concurrency"
        yield field, message, f"raise it to at least {greatest}, or remove it"
    for at, driver in scenario.drivers.items():
        if driver != "wireload":
            message = f"{driver} opens no more connections than factors.concurrency"
            yield at, message, "remove load.concurrency_max, or use wireload"
    for name, workload in load.workloads.items():
        if workload.clients:
            message = f"the kinds of clients of {name} share a fixed number of connections"
            yield field, message, "remove it, or give all connections the same work"


def _validate_calls(scenario: Scenario) -> ValidationMessages:
    """Reject a number of calls that is missing, means nothing, or can't be counted one by one."""
    load = scenario.load
    if load.model != "calls":
        return
    greatest = max(collect_levels(scenario.factors.concurrency), default=1)
    if not load.calls:
        yield ("load", "model"), "it needs a number of calls", "add load.calls"
    elif load.calls * greatest > CALLS_MAX:
        message = f"{load.calls} calls on each of {greatest} connections are over {CALLS_MAX:,}"
        yield ("load", "calls"), message, "each is kept one by one: lower it, or use a closed load"
    if load.warmup_s:
        yield ("load", "warmup_s"), "every call counts, from the first one on", "use load.warmup_calls"
    if load.warmup_calls and collect_levels(scenario.factors.operation).intersection(scenario.application.streams):
        yield ("load", "warmup_calls"), "streams have no warm-up by calls", "remove it, or the stream"
    for field, driver in scenario.drivers.items():
        if driver != "wireload":
            message = f"{driver} sends for a time, and not a number of calls"
            yield field, message, "drive them by wireload"
    if load.generators > 1:
        yield ("load", "generators"), "several generators have no common order of calls", "use one"


def _validate_search(scenario: Scenario) -> ValidationMessages:
    """Reject a search for the capacity without an objective, or with windows and a timeout that can't show it."""
    load = scenario.load
    if load.model != "capacity":
        return
    if load.objective is None:
        hint = "add load.objective, such as {p99_ms: 50}"
        yield ("load", "model"), "a search for the capacity needs an objective", hint
        return
    p99_s = load.objective.p99_ms / 1000
    if load.window_s < _WINDOW_OVER_OBJECTIVE * p99_s:
        message = f"a window of {load.window_s:g} s is too short to show a p99 of {load.objective.p99_ms:g} ms"
        yield ("load", "window_s"), message, f"lengthen it to at least {_WINDOW_OVER_OBJECTIVE * p99_s:g} s"
    if load.timeout_s is not None and load.timeout_s <= p99_s:
        message = f"requests end after {load.timeout_s:g} s, and none would be slower than the objective"
        yield ("load", "timeout_s"), message, "lengthen it, or remove it"


def _validate_work(scenario: Scenario) -> ValidationMessages:
    """Reject unknown operations, and workloads that are unused or have an operation's name."""
    workloads, asked = scenario.load.workloads, scenario.factors.operation
    operations = scenario.application.operations
    for transport, levels in asked.items():
        for place, level in enumerate(levels):
            owner = () if transport == EVERY_TRANSPORT else (transport,)
            field: FieldPath = ("factors", "operation", *owner, place)
            if level not in operations and level not in workloads:
                hint = f"choose from {', '.join((*operations, *workloads))}; load.workloads can define others"
                yield field, f"there is no operation or workload {level!r}", hint
            elif level in operations and operations[level].deletes:
                hint = "write a sequence that creates users before it under load.workloads"
                yield field, "a load deletes only users that it has created", hint
    for name in workloads:
        if name in operations:
            yield ("load", "workloads", name), "an operation has the same name", "rename the workload"
        if name not in collect_levels(asked):
            yield ("load", "workloads", name), "no cell has this workload", f"add {name} to factors.operation"


def _validate_phases(scenario: Scenario) -> ValidationMessages:
    """Reject phases that have no end, or not all the same number of calls."""
    load = scenario.load
    for name, workload in load.workloads.items():
        count = len(workload.phases)
        if count and load.model != "calls":
            message = f"{A_LOAD[load.model]} has no phases: no user knows when one ends"
            yield ("load", "workloads", name, "phases"), message, "set load.model to calls, and load.calls"
        elif count and (load.calls or 0) % count:
            message = f"{load.calls} calls can't be divided among the {count} phases of {name}"
            yield ("load", "calls"), message, f"make it a multiple of {count}"


def _validate_generators(scenario: Scenario) -> ValidationMessages:
    """Reject several generators for a load that can't be shared among them."""
    factors, generators = scenario.factors, scenario.load.generators
    if generators == 1:
        return
    field: FieldPath = ("load", "generators")
    for driver in sorted({*scenario.drivers.values()} - {"wireload"}):
        message = f"{driver} can't share a load with others of its kind"
        yield field, message, "drive it by wireload, or use one generator"
    if "same-pod" in collect_levels(factors.placement):
        hint = "use one generator, or another placement"
        yield field, "each of them would have a service of its own in its pod", hint
    least = min(collect_levels(factors.concurrency), default=1)
    if least < generators:
        message = f"{generators} generators can't share {least} connection{'s' if least > 1 else ''}"
        yield field, message, "raise factors.concurrency, or use fewer generators"
