"""What a target doesn't have."""

from __future__ import annotations

from collections.abc import Iterator

from wirebench.scenario import drivers
from wirebench.scenario.contract import (
    CLUSTER_DEFAULTS,
    TargetName,
)
from wirebench.scenario.model import Scenario
from wirebench.scenario.refusals.refusal import Refusal

#: A load pod's task is a ConfigMap, which holds a mebibyte; each request takes up to thirty bytes of it.
RECORDED_IN_CLUSTER_MAX = 30_000


def unfit_target(scenario: Scenario, target: TargetName) -> Iterator[Refusal]:
    """Refuse what only a cluster can vary, anywhere else; a single level is a setting that is left out there."""
    if target == "kubernetes":
        yield from _absent_drivers(scenario)
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


def _absent_drivers(scenario: Scenario) -> Iterator[Refusal]:
    """Refuse drivers that the pods of a cluster don't have."""
    present = [name for name, can in drivers.DRIVERS.items() if can.in_clusters]
    for field, driver in scenario.drivers.items():
        if driver not in present:
            message = f"{driver} is not in the image of the load pods, which holds {' and '.join(present)}"
            yield Refusal(field, message, f"drive it by {' or '.join(present)}, or run it on another target")
