"""What a target, or a variant on it, doesn't have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wirebench.errors import suggest
from wirebench.model.cell import Cell
from wirebench.model.contract import TargetName
from wirebench.model.factor import CLUSTER_DEFAULTS
from wirebench.model.scenario import Scenario, find_own
from wirebench.model.variant import Variant
from wirebench.plan.driver_support import DRIVER_FACTS
from wirebench.plan.validation.messages import ValidationMessages

#: A load pod's task is a ConfigMap, which holds a mebibyte; each request takes up to thirty bytes of it.
RECORDED_IN_CLUSTER_MAX = 30_000
#: Factors of the built-in application alone, and what to do about each.
_BUILT_IN = {
    "transport": "choose variants by factors.variant: each has its transport",
    **dict.fromkeys(
        ("implementation", "runtime", "threads", "store", "store_connections", "codec"),
        "write a variant for each level",
    ),
    "tls": "set tls of the variant in the application file",
}
#: The key that a variant needs on a target.
_ON_TARGET: dict[TargetName, tuple[str, str]] = {
    "local": ("start", "a command"),
    "external": ("address", "HOST:PORT"),
    "kubernetes": ("kubernetes", "a Service"),
}


def validate_variants(scenario: Scenario, target: TargetName) -> ValidationMessages:
    """Reject variants that are unknown or not on the target, and factors that don't apply."""
    factors, application = scenario.factors, scenario.application
    if not application.variants:
        if factors.variant:
            hint = "remove it, or name an application file that has variants: application"
            yield ("factors", "variant"), "the built-in application has no variants", hint
        if not factors.transport:
            yield ("factors", "transport"), "is missing", "name what is compared: transport: [rest, grpc]"
        return
    for place, name in enumerate(factors.variant):
        if name not in application.variants:
            message = f"the application has no variant {name!r}"
            yield ("factors", "variant", place), message, suggest(name, application.variants)
    for factor, hint in _BUILT_IN.items():
        if factors.find_levels(factor):
            yield ("factors", factor), "it is for the built-in application", hint
    key, what = _ON_TARGET[target]
    for name, variant in scenario.variants.items():
        if getattr(variant, key) is None:
            others = [each for each, (other, _) in _ON_TARGET.items() if getattr(variant, other) is not None]
            where = application.locate(("variants", name))
            hint = f"add it, {where}, choose others by factors.variant, or add --target {' or '.join(others)}"
            message = f"the variant {name} has no {key} ({what}), which the target {target} needs"
            yield ("factors", "variant"), message, hint


def validate_target(scenario: Scenario, target: TargetName) -> ValidationMessages:
    """Reject what only a cluster can vary, anywhere else; a single level is a setting that is left out there."""
    if target == "kubernetes":
        yield from _validate_drivers(scenario)
        recording = scenario.load.recording
        if recording and recording.count > RECORDED_IN_CLUSTER_MAX:
            message = f"{recording.count:,} requests are more than load pods take ({RECORDED_IN_CLUSTER_MAX:,})"
            yield ("load", "timing"), message, "replay a part of the recording, or run it on another target"
        if scenario.load.model == "capacity":
            message = "each window of a search for the capacity would start load pods of its own"
            yield ("load", "model"), message, "run it with --target local or external, or set load.model to open"
        return
    for name in CLUSTER_DEFAULTS:
        by_transport = getattr(scenario.factors, name)
        if len(set(by_transport.values())) > 1 or any(len(levels) > 1 for levels in by_transport.values()):
            hint = "run it with --target kubernetes, or leave the factor at one level"
            yield ("factors", name), f"the target {target} can't vary {name}", hint
    if any(levels != (1,) for levels in scenario.factors.replicas.values()):
        hint = "run it with --target kubernetes, or remove the factor"
        yield ("factors", "replicas"), f"the target {target} has one replica", hint
    if scenario.load.generators > 1:
        hint = "run it with --target kubernetes, or remove the key"
        yield ("load", "generators"), f"the target {target} has one generator", hint


def _validate_drivers(scenario: Scenario) -> ValidationMessages:
    present = [name for name, can in DRIVER_FACTS.items() if can.in_clusters]
    for field, driver in scenario.drivers.items():
        if driver not in present:
            message = f"{driver} is not in the image of the load pods, which holds {' and '.join(present)}"
            yield field, message, f"drive it by {' or '.join(present)}, or run it on another target"


def validate_cluster(scenario: Scenario) -> ValidationMessages:
    """Reject what a run can't set on services that run in a cluster already."""
    for name, variant in scenario.variants.items():
        if variant.kubernetes is None:
            continue
        for factor in ("workers", "replicas", "cpu_limit_millicores"):
            if _list_levels(scenario, factor, variant):
                hint = f"remove it: the run changes nothing in the namespace {variant.kubernetes.namespace}"
                yield ("factors", factor), f"it can't be set on {name}", hint
        if "same-pod" in _list_levels(scenario, "placement", variant):
            hint = "choose same-node or cross-node"
            yield ("factors", "placement"), f"the load can't run in the pods of {name}", hint


def _list_levels(scenario: Scenario, factor: str, variant: Variant) -> tuple[Any, ...]:
    return find_own(scenario.factors.find_levels(factor), variant.transport)


def validate_service_limit(scenario: Scenario, cells: Iterable[Cell], target: TargetName) -> ValidationMessages:
    """Reject loads over the limit of a service that the run hasn't started; without a limit, any load."""
    for cell in cells:
        variant = scenario.variants.get(cell.variant or "")
        if variant is None or not (place := variant.find_foreign(target)):
            continue
        at = f"the variant {cell.variant} {place}"
        if variant.limit is None:
            where = scenario.application.locate(("variants", str(cell.variant)))
            hint = f"add it, {where}: limit: {{rate_per_s: …, connections: …}}"
            yield ("factors", "variant"), f"{at}, and has no limit", hint
        elif scenario.load.model != "open":
            hint = f"set load.model to open, and factors.rate_per_s to {variant.limit.rate_per_s:,} at most"
            yield ("load", "model"), f"{at}: only an open load keeps to its limit", hint
        elif (cell.rate_per_s or 0) > variant.limit.rate_per_s:
            hint = "lower it, or raise the limit if the service is yours"
            message = f"{at}, and its limit is {variant.limit.rate_per_s:,} requests/s"
            yield ("factors", "rate_per_s"), message, hint
        elif scenario.load.add_connections(cell).concurrency > variant.limit.connections:
            hint = "lower it, or raise the limit if the service is yours"
            message = f"{at}, and its limit is {variant.limit.connections:,} connections"
            field = ("load", "concurrency_max") if scenario.load.concurrency_max else ("factors", "concurrency")
            yield field, message, hint
