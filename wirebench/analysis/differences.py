"""What two runs were made differently with, and which of it keeps their figures apart.

What is measured may differ: versions of the services and of what they stand on are what runs are compared for. What it
is measured on and with must not: a target, a machine, a load or a driver of another kind has figures of its own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, get_args

import yaml

from wirebench.model.contract import Driver
from wirebench.model.labels import Factors, pluralise
from wirebench.model.run_info import APPLICATION_FILE, TIMING_FILE, Run
from wirebench.model.scenario import Load

_ABSENT = "none"
_HARDWARE = ("cpu", "cores", "core_separation", "services")
#: How long steady loads take makes no other load of them.
_EXTENT = ("warmup_s", "window_s")
_LOAD = ("calls", "warmup_calls", "spawn_rate_per_s", "timeout_s", "concurrency_max", "speedup", "objective",
         "resolution")  # fmt: skip


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


class _Trait(NamedTuple):
    """What a run was made with, and why another one keeps figures apart, if it does."""

    text: str
    reason: str = ""
    concerns: Callable[[Factors], bool] = _every_cell


def find_differences(base: Run, head: Run) -> tuple[Difference, ...]:
    """Return what two runs differ in, first what keeps their figures apart."""
    loads = [_read_load(run.info.scenario_text) for run in (base, head)]
    of_base, of_head = (
        _list_traits(run, load if all(loads) else None) for run, load in zip((base, head), loads, strict=True)
    )
    found = []
    if "running" in (base.info.status, head.info.status):  # its verdicts change with its records
        found.append(Difference("status", base.info.status, head.info.status, "a run is still running"))
    for name, trait in {**of_base, **of_head}.items():
        base_text, head_text = (of[name].text if name in of else _ABSENT for of in (of_base, of_head))
        if base_text != head_text:
            found.append(Difference(name, base_text, head_text, trait.reason, trait.concerns))
    return tuple(sorted(found, key=lambda each: not each.reason))


def describe_hardware(machine: Mapping[str, str]) -> dict[str, str]:
    """Return what tells one machine from another, in words by name: not what an update or a setting may change."""
    found = {name: machine[name] for name in _HARDWARE if name in machine}
    if found.get("cores", "").isdecimal():
        found["cores"] = pluralise(int(found["cores"]), "core")
    if "cluster" in machine:
        found["nodes"] = machine["cluster"].partition(",")[0]
    return found


def _list_traits(run: Run, load: Load | None) -> dict[str, _Trait]:
    """Return what a run was made with, by name; without a load, one that isn't understood in one of the runs."""
    info = run.info
    traits = {"target": _Trait(info.target, "the targets differ")}
    traits |= {name: _Trait(text, "the machines differ") for name, text in describe_hardware(info.machine).items()}
    traits |= {name: _Trait(text) for name, text in info.machine.items() if name not in _HARDWARE}
    if application := _read_application(run):
        traits["application"] = _Trait(application, "the applications differ")
    if load:
        traits |= _list_load_traits(run, load)
    else:
        traits["scenario"] = _Trait(_compute_fingerprint(info.scenario_text.encode()), "the loads may differ")
    traits |= {name: _make_version(name, version) for name, version in info.versions.items()}
    return {**traits, "commit": _Trait(info.commit or _ABSENT)}


def _list_load_traits(run: Run, load: Load) -> dict[str, _Trait]:
    differ, traits = "the loads differ", {}
    for name in (*_EXTENT, *_LOAD):
        # A window of a replay or of a search is a part of the load itself.
        reason = differ if name in _LOAD or (name == "window_s" and load.shape) else ""
        # In a sweep it is the last of several cells.
        concerns = _has_rate if name == "concurrency_max" else _every_cell
        value = getattr(load, name)
        traits[f"load.{name}"] = _Trait(_ABSENT if value is None else str(value), reason, concerns)
    timing = run.folder / TIMING_FILE
    if timing.is_file():
        traits["load.timing"] = _Trait(_compute_fingerprint(timing.read_bytes()), differ, _has("shape", "replay"))
    for name, workload in load.workloads.items():
        text = workload.model_dump_json(exclude_defaults=True)
        traits[f"load.workloads.{name}"] = _Trait(text, differ, _has("operation", name))
    return traits


def _make_version(name: str, version: str) -> _Trait:
    """Return a version: the error of another one of what measures can't be told from a difference."""
    if name in get_args(Driver):
        return _Trait(version, f"another version of {name}", _has("driver", name))
    if name == "toxiproxy":
        return _Trait(version, f"another version of {name}", lambda factors: factors["delay_ms"] is not None)
    return _Trait(version)


def _has(factor: str, level: str) -> Callable[[Factors], bool]:
    return lambda factors: factors[factor] == level


def _has_rate(factors: Factors) -> bool:
    return bool(factors["rate_per_s"] or factors["shape"])


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
