"""Reading a scenario file: every mistake is named with its line and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from wirebench.errors import UsageError, suggest
from wirebench.model.application import Application, load_builtin, read_application
from wirebench.model.recording import read_recording
from wirebench.model.scenario import (
    EVERY_TRANSPORT,
    WINDOW_S_MAX,
    WINDOW_S_MIN,
    Factors,
    Load,
    Objective,
    Scenario,
)
from wirebench.model.source import Source, read_yaml
from wirebench.plan.overrides import Override, apply_overrides
from wirebench.system.paths import APPLICATION, APPLICATIONS, SCENARIOS, list_scenarios

#: The parts of a scenario file, by where they stand in it.
SECTIONS: dict[str, type[BaseModel]] = {
    "": Scenario,
    "factors": Factors,
    "load": Load,
    "load.objective": Objective,
}


def read_scenario(file: str | Path, overrides: Sequence[Override] = ()) -> Scenario:
    """Read and check a scenario file, and the application file that it names.

    `file` is a path, or the name of a scenario that comes with wirebench; `overrides` change its keys. Raises
    UsageError, with the line or option and the fix.
    """
    path = file if isinstance(file, Path) else find_scenario(file)
    data, source = read_yaml(path, "a scenario", "`wirebench list` shows the scenarios that come with wirebench")
    return check_scenario(data, source, overrides=overrides)


def check_scenario(
    data: dict[str, Any],
    source: Source,
    timing: Path | None = None,
    application: Path | None = None,
    overrides: Sequence[Override] = (),
) -> Scenario:
    """Return the scenario in a file's data. `application` replaces the application file that it names.

    Raises UsageError, as `read_scenario` does.
    """
    if "operations" in data:
        name = source.path.name
        hint = f"write a scenario with `application: {name}` (docs/own-services.md), then: wirebench run SCENARIO"
        raise UsageError(f"{source.name}: this is an application file, not a scenario", hint)
    # Fields that the scenario has besides, which no file sets.
    for section, key in ((data, ("source",)), (data.get("load"), ("load", "recording"))):
        if isinstance(section, dict) and key[-1] in section:
            raise UsageError(f"{source.locate(key)}: no such key", "docs/scenarios.md describes every key")
    data, source = apply_overrides(data, source, overrides)
    found = _find_application(data.get("application"), source, application)
    try:
        scenario = Scenario.model_validate({**data, "application": found, "source": source}, context=found)
        return _add_recording(scenario, source.path, timing)
    except ValidationError as error:
        # A default that depends on other fields has none where these are mistaken: that is no mistake of its own.
        mistakes = [each for each in error.errors() if each["type"] != "default_factory_not_called"]
        for each in mistakes:
            each["loc"] = tuple(part for part in each["loc"] if part != EVERY_TRANSPORT)
        hint = "docs/scenarios.md describes every key; nothing was started"
        raise source.make_error(mistakes, hint, SECTIONS) from None


def find_scenario(name: str) -> Path:
    """Return the scenario file of a path, or of the name of one that comes with wirebench. Raises UsageError."""
    known = list_scenarios()
    for path in (Path(name), SCENARIOS / name, known.get(name)):
        if path and path.is_file():
            return path
    hint = f"{suggest(Path(name).stem, known)}; `wirebench list --all` shows those that come with wirebench"
    raise UsageError(f"no scenario {name!r}", hint)


def _find_application(name: object, source: Source, given: Path | None) -> Application:
    """Return the application that a scenario names; the built-in one, if it names none. Raises UsageError."""
    if name is None:
        return load_builtin()
    where, packaged = source.locate(("application",)), (APPLICATIONS, APPLICATIONS / "examples")
    places = [given] if given else [source.path.parent / str(name), *(folder / f"{name}.yaml" for folder in packaged)]
    path = next((each for each in places if each.is_file()), None)
    if path is None:
        known = ", ".join(sorted(each.stem for folder in packaged for each in folder.glob("*.yaml")))
        hint = f"name a file relative to the scenario's folder, or one that comes with wirebench: {known}"
        raise UsageError(f"{where}: there is no application {str(given or name)!r}", hint)
    if path.resolve() == APPLICATION.resolve():
        return load_builtin()
    application = read_application(path)
    if not application.variants:
        hint = "add a variant: `variants: {mine: {transport: rest, start: …}}`; docs/applications.md describes them"
        raise UsageError(f"{application.source.locate(('variants',))}: there is none, and so nothing to measure", hint)
    return application


def _add_recording(scenario: Scenario, path: Path, timing: Path | None) -> Scenario:
    """Return a scenario with its recording, if it has one, and the window that this fills. Raises UsageError."""
    load = scenario.load
    if load.model != "replay" or not (timing or load.timing):
        return scenario
    timing_path, where = timing or path.parent / str(load.timing), scenario.source.locate(("load", "timing"))
    try:
        recording = read_recording(timing_path)
    except UsageError as error:
        raise UsageError(f"{where}: {error.message}", error.hint) from None
    length_s = recording.length_s / load.speedup
    window_s = load.window_s if "window_s" in load.model_fields_set else length_s
    if not WINDOW_S_MIN <= window_s <= min(length_s, WINDOW_S_MAX):
        allowed = f"{WINDOW_S_MIN} to {WINDOW_S_MAX:,} s within the recording's {length_s:,.3f} s"
        problem = f"a window of {window_s:,.3f} s is not one of {allowed}"
        raise UsageError(f"{where}: {problem}", "change load.speedup, or replay a part of it: load.window_s")
    part = recording.cut(window_s * load.speedup)
    replayed = load.model_copy(update={"window_s": window_s, "recording": part})
    return scenario.model_copy(update={"load": replayed})
