"""What two runs were made differently with, and which of it keeps their figures apart.

What is measured may differ: versions of the services and of what they stand on are what runs are compared for. What it
is measured on and with must not: a target, a machine, a load or a driver of another kind has figures of its own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import get_args

import yaml

from wirebench.errors import pluralise
from wirebench.model.contract import Driver
from wirebench.model.factor import Factors
from wirebench.model.run_info import APPLICATION_FILE, TIMING_FILE, Run
from wirebench.model.scenario import Load

_ABSENT = "none"
_HARDWARE = ("cpu", "cores", "core_separation", "services")
#: How long steady loads take makes no other load of them.
_EXTENT = ("warmup_s", "window_s")
_LOAD = ("calls", "warmup_calls", "spawn_rate_per_s", "timeout_s", "concurrency_max", "speedup", "objective",
         "resolution")  # fmt: skip
_WORKLOAD = "load.workloads."
_REASONS = {
    **dict.fromkeys((*_HARDWARE, "nodes"), "the machines differ"),
    "target": "the targets differ",
    "application": "the applications differ",
    "scenario": "the loads may differ",
}


def _every_cell(_: Factors) -> bool:
    return True


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
    loads = [_read_load(run.info.scenario_text) for run in (base, head)]
    are_known = None not in loads
    of_base, of_head = (
        _list_traits(run, load if are_known else None) for run, load in zip((base, head), loads, strict=True)
    )
    found = []
    if "running" in (base.info.status, head.info.status):  # its verdicts change with its records
        found.append(Difference("status", base.info.status, head.info.status, "a run is still running"))
    for name in {**of_base, **of_head}:
        base_text, head_text = of_base.get(name, _ABSENT), of_head.get(name, _ABSENT)
        if base_text != head_text:
            found.append(Difference(name, base_text, head_text, *_find_reason(name, loads[1])))
    return tuple(sorted(found, key=lambda each: not each.reason))


def describe_hardware(machine: Mapping[str, str]) -> dict[str, str]:
    """Return what tells one machine from another, in words by name: not what an update or a setting may change."""
    found = {name: machine[name] for name in _HARDWARE if name in machine}
    if found.get("cores", "").isdecimal():
        found["cores"] = pluralise(int(found["cores"]), "core")
    if "cluster" in machine:
        found["nodes"] = machine["cluster"].partition(",")[0]
    return found


def _list_traits(run: Run, load: Load | None) -> dict[str, str]:
    """Return what a run was made with, by name; without a load, one that isn't understood in one of the runs."""
    info = run.info
    traits = {"target": info.target, **describe_hardware(info.machine)}
    traits |= {name: text for name, text in info.machine.items() if name not in _HARDWARE}
    if application := _read_application(run):
        traits["application"] = application
    if load:
        values = {name: getattr(load, name) for name in (*_EXTENT, *_LOAD)}
        traits |= {f"load.{name}": _ABSENT if value is None else str(value) for name, value in values.items()}
        for name, workload in load.workloads.items():
            traits[_WORKLOAD + name] = workload.model_dump_json(exclude_defaults=True)
        if (timing := run.folder / TIMING_FILE).is_file():
            traits["load.timing"] = _compute_fingerprint(timing.read_bytes())
    else:
        traits["scenario"] = _compute_fingerprint(info.scenario_text.encode())
    return {**traits, **info.versions, "commit": info.commit or _ABSENT}


def _find_reason(name: str, load: Load | None) -> tuple[str, Callable[[Factors], bool]]:
    """Return why another value of a trait keeps figures apart, if it does, and in which cells."""
    if name in _REASONS:
        return _REASONS[name], _every_cell
    # The error of another version of what measures can't be told from a difference.
    if name in get_args(Driver):
        return f"another version of {name}", _has("driver", name)
    if name == "toxiproxy":
        return f"another version of {name}", lambda factors: factors["delay_ms"] is not None
    # A window of a replay or of a search is a part of the load itself.
    is_extent = name == "load.warmup_s" or (name == "load.window_s" and not (load and load.shape))
    if is_extent or not name.startswith("load."):
        return "", _every_cell
    concerns = {
        "load.concurrency_max": lambda factors: bool(factors["rate_per_s"] or factors["shape"]),
        "load.timing": _has("shape", "replay"),
    }
    if name.startswith(_WORKLOAD):
        concerns[name] = _has("operation", name.removeprefix(_WORKLOAD))
    return "the loads differ", concerns.get(name, _every_cell)


def _has(factor: str, level: str) -> Callable[[Factors], bool]:
    return lambda factors: factors[factor] == level


def _read_load(scenario_text: str) -> Load | None:
    """Return the load of a scenario; None for one that this version doesn't understand."""
    try:
        scenario = yaml.safe_load(scenario_text)
        return Load.model_validate(scenario.get("load", {})) if scenario.keys() >= {"question", "factors"} else None
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, RecursionError):  # whatever the text makes of them
        return None


def _read_application(run: Run) -> str:
    """Return the name and a fingerprint of a run's operations; nothing for the built-in application."""
    try:
        application = json.loads((run.folder / APPLICATION_FILE).read_bytes())
        asked = json.dumps([application.get("seeded"), application.get("operations")])
    except (OSError, ValueError, AttributeError):
        return ""
    return f"{application.get('application') or 'unnamed'} {_compute_fingerprint(asked.encode())}"


def _compute_fingerprint(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]
