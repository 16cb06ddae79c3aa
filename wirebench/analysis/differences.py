"""What two runs were made differently with, and which of it keeps their figures apart.

What is measured may differ: versions of the services and of what they stand on are what runs are compared for. What it
is measured on and with must not: a target, a machine, a load or a driver of another kind has figures of its own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

import yaml

from wirebench.model.contract import Driver
from wirebench.model.labels import Factors, pluralise
from wirebench.model.run_info import APPLICATION_FILE, TIMING_FILE, Run
from wirebench.model.scenario import Load

_ABSENT = "none"
_HARDWARE = ("cpu", "cores", "core_separation", "services")


def _every_cell(_: Factors) -> bool:
    return True


def _has(factor: str, level: str | None) -> Callable[[Factors], bool]:
    return lambda factors: factors[factor] == level


#: What takes part in the measuring, and in which cells: another version's error can't be told from a difference.
_INSTRUMENTS: dict[str, Callable[[Factors], bool]] = {
    **{name: _has("driver", name) for name in get_args(Driver)},
    "toxiproxy": lambda factors: factors["delay_ms"] is not None,
}


#: What makes loads others, and in which cells. How long steady ones take makes no other load of them.
_TRAITS: tuple[tuple[tuple[str, ...], Callable[[Factors], bool] | None], ...] = (
    (("warmup_s", "window_s", "generators"), None),
    (("calls", "warmup_calls", "spawn_rate_per_s", "timeout_s"), _every_cell),
    (("concurrency_max",), lambda factors: bool(factors["rate_per_s"] or factors["shape"])),
    (("speedup", "window_s"), _has("shape", "replay")),
    (("objective", "resolution", "window_s"), _has("shape", "capacity")),
)


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that two runs don't have in common: its name, and what it is in each.

    `reason` says why it keeps figures apart, in the cells that it `concerns`; it is empty where it doesn't.
    """

    name: str
    base: str
    head: str
    reason: str = ""
    concerns: Callable[[Factors], bool] = _every_cell


def find_differences(base: Run, head: Run) -> tuple[Difference, ...]:
    """Return what two runs differ in, first what keeps their figures apart."""
    found = (
        *_compare_status(base, head),
        *_find_unequal({"target": base.info.target}, {"target": head.info.target}, "the targets differ"),
        *_compare_machines(base, head),
        *_find_unequal(_read_application(base), _read_application(head), "the applications differ"),
        *_compare_loads(base, head),
        *_compare_versions(base, head),
    )
    return tuple(sorted(found, key=lambda each: not each.reason))


def describe_hardware(machine: Mapping[str, str]) -> dict[str, str]:
    """Return what tells one machine from another, in words by name: not what an update or a setting may change."""
    found = {name: machine[name] for name in _HARDWARE if name in machine}
    if found.get("cores", "").isdecimal():
        found["cores"] = pluralise(int(found["cores"]), "core")
    if "cluster" in machine:
        found["nodes"] = machine["cluster"].partition(",")[0]
    return found


def _compare_status(base: Run, head: Run) -> Iterator[Difference]:
    """Yield the states of the runs if one is still running: its verdicts change with its records."""
    if "running" in (base.info.status, head.info.status):
        yield Difference("status", base.info.status, head.info.status, "a run is still running")


def _compare_machines(base: Run, head: Run) -> Iterator[Difference]:
    of_base, of_head = describe_hardware(base.info.machine), describe_hardware(head.info.machine)
    both = [name for name in of_base if name in of_head]  # targets say different things of their machine
    yield from _find_unequal(
        {name: of_base[name] for name in both}, {name: of_head[name] for name in both}, "the machines differ"
    )
    yield from _find_unequal(_describe_software(base.info.machine), _describe_software(head.info.machine))


def _describe_software(machine: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in machine.items() if name not in _HARDWARE}


def _compare_versions(base: Run, head: Run) -> Iterator[Difference]:
    for each in _find_unequal(base.info.versions, head.info.versions):
        if concerns := _INSTRUMENTS.get(each.name):
            yield replace(each, reason=f"another version of {each.name}", concerns=concerns)
        else:
            yield each
    if base.info.commit != head.info.commit:
        yield Difference("commit", base.info.commit or _ABSENT, head.info.commit or _ABSENT)


def _compare_loads(base: Run, head: Run) -> Iterator[Difference]:
    """Yield how two loads differ. Those that are no longer understood may differ."""
    of_base, of_head = read_load(base.info.scenario_text), read_load(head.info.scenario_text)
    if of_base is None or of_head is None:
        yield from _find_unequal(_describe_scenario(base), _describe_scenario(head), "the loads may differ")
        return
    for names, concerns in _TRAITS:
        reason = "the loads differ" if concerns else ""
        yield from _find_unequal(
            _describe_traits(of_base, names), _describe_traits(of_head, names), reason, concerns or _has("shape", None)
        )
    yield from _find_unequal(
        _describe_recording(base), _describe_recording(head), "the loads differ", _has("shape", "replay")
    )
    for name in of_base.workloads.keys() & of_head.workloads.keys():
        of_workload = _has("operation", name)
        yield from _find_unequal(
            _describe_workload(of_base, name), _describe_workload(of_head, name), "the loads differ", of_workload
        )


def _find_unequal(
    base: Mapping[str, str],
    head: Mapping[str, str],
    reason: str = "",
    concerns: Callable[[Factors], bool] = _every_cell,
) -> Iterator[Difference]:
    for name in dict.fromkeys((*base, *head)):
        of_base, of_head = base.get(name, _ABSENT), head.get(name, _ABSENT)
        if of_base != of_head:
            yield Difference(name, of_base, of_head, reason, concerns)


def _describe_traits(load: Load, names: Sequence[str]) -> dict[str, str]:
    traits = {name: getattr(load, name) for name in names}
    return {f"load.{name}": _ABSENT if trait is None else str(trait) for name, trait in traits.items()}


def _describe_workload(load: Load, name: str) -> dict[str, str]:
    return {f"load.workloads.{name}": load.workloads[name].model_dump_json(exclude_defaults=True)}


def read_load(scenario_text: str) -> Load | None:
    """Return the load of a scenario; None for one that this version doesn't understand."""
    try:
        scenario = yaml.safe_load(scenario_text)
        return Load.model_validate(scenario.get("load", {})) if scenario.keys() >= {"question", "factors"} else None
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, RecursionError):  # whatever the text makes of them
        return None


def _read_application(run: Run) -> dict[str, str]:
    """Return a fingerprint of a run's operations; nothing for the built-in application."""
    try:
        application = json.loads((run.folder / APPLICATION_FILE).read_bytes())
        asked = json.dumps([application.get("seeded"), application.get("operations")])
        return {"application": f"{application.get('application') or 'unnamed'} {_compute_fingerprint(asked.encode())}"}
    except (OSError, ValueError, AttributeError):
        return {}


def _describe_scenario(run: Run) -> dict[str, str]:
    return {"scenario": _compute_fingerprint(run.info.scenario_text.encode())}


def _describe_recording(run: Run) -> dict[str, str]:
    """Return what tells a run's recording from others; nothing if it has none."""
    try:
        return {"load.timing": _compute_fingerprint((run.folder / TIMING_FILE).read_bytes())}
    except OSError:
        return {}


def _compute_fingerprint(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]
