"""Loads that their factors don't fit."""

from __future__ import annotations

from collections.abc import Iterator

from wirebench.model.application import builtin
from wirebench.model.source import FieldPath
from wirebench.scenario.contract import Driver
from wirebench.scenario.drivers import DRIVERS
from wirebench.scenario.model import CALLS_MAX, EVERY_TRANSPORT, Load, Scenario
from wirebench.scenario.refusals.refusal import Refusal, all_levels
from wirebench.timing.recording import ENTRIES_MAX

A_LOAD = {
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
    "warmup_calls": "calls",
    "spawn_rate_per_s": "closed",
    "from_rate_per_s": "ramp",
    "timing": "replay",
    "speedup": "replay",
}

#: Keys that not all drivers know: those that do, and what the others do instead.
_KEYS_OF_DRIVERS: dict[str, tuple[frozenset[Driver], str]] = {
    "timeout_s": (frozenset({"wireload", "k6", "ghz", "oha"}), "has a timeout of its own"),
    "spawn_rate_per_s": (frozenset({"wireload", "k6", "locust"}), "starts all its users at once"),
}


def unfit_load(scenario: Scenario) -> Iterator[Refusal]:
    """Refuse a load that its factors don't fit."""
    factors, load = scenario.factors, scenario.load
    if load.model in ("open", "ramp") and not factors.rate_per_s:
        yield Refusal(("load", "model"), f"{A_LOAD[load.model]} needs a rate", "add factors.rate_per_s")
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
    yield from _unfit_drivers(scenario)
    yield from _unfit_calls(scenario)
    yield from _unfit_shape(scenario)
    yield from _unshared_load(scenario)
    yield from _unknown_work(scenario)
    yield from _unfit_phases(scenario)


def _unfit_keys(load: Load) -> Iterator[Refusal]:
    """Refuse the keys of other models."""
    for key, model in _KEYS_OF_MODELS.items():
        if key in load.model_fields_set and load.model != model:
            message = f"{A_LOAD[load.model]} has no {key}"
            yield Refusal(("load", key), message, f"remove it, or set load.model to {model}")


def _unfit_drivers(scenario: Scenario) -> Iterator[Refusal]:
    """Refuse drivers that don't know a key of the load."""
    for key, (able, message) in _KEYS_OF_DRIVERS.items():
        if getattr(scenario.load, key) is not None:
            hint = f"remove load.{key}, or use {' or '.join(sorted(able))}"
            for field, driver in scenario.drivers.items():
                if driver not in able:
                    yield Refusal(field, f"{driver} {message}", hint)


def _unfit_calls(scenario: Scenario) -> Iterator[Refusal]:
    """Refuse a number of calls that is missing, means nothing, or can't be counted one by one."""
    load = scenario.load
    if load.model != "calls":
        return
    greatest = max(all_levels(scenario.factors.concurrency), default=1)
    if not load.calls:
        yield Refusal(("load", "model"), "it needs a number of calls", "add load.calls")
    elif load.calls * greatest > CALLS_MAX:
        message = f"{load.calls} calls on each of {greatest} connections are over {CALLS_MAX:,}"
        yield Refusal(("load", "calls"), message, "each is kept one by one: lower it, or use a closed load")
    if {*all_levels(scenario.factors.disruption)} - {"none"}:
        message = "nobody knows how long a number of calls takes, and so when to disrupt it"
        yield Refusal(("factors", "disruption"), message, "use a closed or an open load")
    if load.warmup_s:
        yield Refusal(("load", "warmup_s"), "every call counts, from the first one on", "use load.warmup_calls")
    if load.warmup_calls and all_levels(scenario.factors.operation).intersection(builtin().streams):
        yield Refusal(("load", "warmup_calls"), "streams have no warm-up by calls", "remove it, or the stream")
    for field, driver in scenario.drivers.items():
        if not DRIVERS[driver].sends_workloads:
            message = f"{driver} sends for a time, and not a number of calls"
            yield Refusal(field, message, "drive them by wireload or k6")
    if load.generators > 1:
        yield Refusal(("load", "generators"), "several generators have no common order of calls", "use one")


def _unfit_shape(scenario: Scenario) -> Iterator[Refusal]:
    """Refuse a ramp or a replay that lacks something."""
    factors, load = scenario.factors, scenario.load
    if load.model == "ramp":
        if load.from_rate_per_s is None:
            yield Refusal(("load", "model"), "a ramp needs a rate to begin with", "add load.from_rate_per_s")
        first = load.from_rate_per_s or 0
        most = (max(all_levels(factors.rate_per_s)) + first) / 2 * load.window_s + first * load.warmup_s
        if most > ENTRIES_MAX:
            message = f"{most:,.0f} requests in warm-up and window are over {ENTRIES_MAX:,}"
            yield Refusal(("load", "window_s"), message, "shorten them, or lower the rates")
    if load.model == "replay" and load.timing is None:
        yield Refusal(("load", "model"), "a replay needs a timing file", "add load.timing")


def _unknown_work(scenario: Scenario) -> Iterator[Refusal]:
    """Refuse operations that are none, and workloads that have an operation's name or that nobody asks for."""
    workloads, asked, operations = scenario.load.workloads, scenario.factors.operation, builtin().operations
    for transport, levels in asked.items():
        for place, level in enumerate(levels):
            owner = () if transport == EVERY_TRANSPORT else (transport,)
            field: FieldPath = ("factors", "operation", *owner, place)
            if level not in operations and level not in workloads:
                hint = f"choose from {', '.join((*operations, *workloads))}; load.workloads can define others"
                yield Refusal(field, f"there is no operation or workload {level!r}", hint)
            elif level in operations and operations[level].deletes:
                hint = "write a sequence that creates users before it under load.workloads"
                yield Refusal(field, "a load deletes only users that it has created", hint)
    for name in workloads:
        if name not in all_levels(asked):
            yield Refusal(("load", "workloads", name), "no cell has this workload", f"add {name} to factors.operation")


def _unfit_phases(scenario: Scenario) -> Iterator[Refusal]:
    """Refuse phases that have no end, or not all the same number of calls."""
    load = scenario.load
    for name, workload in load.workloads.items():
        count = len(workload.phases)
        if count and load.model != "calls":
            message = f"{A_LOAD[load.model]} has no phases: no user knows when one ends"
            yield Refusal(("load", "workloads", name, "phases"), message, "set load.model to calls, and load.calls")
        elif count and (load.calls or 0) % count:
            message = f"{load.calls} calls can't be divided among the {count} phases of {name}"
            yield Refusal(("load", "calls"), message, f"make it a multiple of {count}")


def _unshared_load(scenario: Scenario) -> Iterator[Refusal]:
    """Refuse several generators for a load that can't be shared among them."""
    factors, generators = scenario.factors, scenario.load.generators
    if generators == 1:
        return
    field: FieldPath = ("load", "generators")
    if "ghz" in scenario.drivers.values():
        hint = "drive it by wireload or k6, or use one generator"
        yield Refusal(field, "ghz can't share a load with others of its kind", hint)
    if "same-pod" in all_levels(factors.placement):
        hint = "use one generator, or another placement"
        yield Refusal(field, "each of them would have a service of its own in its pod", hint)
    least = min(all_levels(factors.concurrency), default=1)
    if least < generators:
        message = f"{generators} generators can't share {least} connection{'s' if least > 1 else ''}"
        yield Refusal(field, message, "raise factors.concurrency, or use fewer generators")
