"""Reading a scenario file: every mistake is named with its line and what to do about it."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from wirebench.errors import UsageError
from wirebench.model.source import read_yaml
from wirebench.scenario.mistakes import describe
from wirebench.scenario.model import WINDOW_S_MAX, WINDOW_S_MIN, Scenario
from wirebench.timing import read_recording


def read_scenario(path: Path, timing: Path | None = None) -> Scenario:
    """Read and check a scenario file; `timing` is where a replay's timing file is, wherever the scenario says it is.

    Raises UsageError, with the line and the fix.
    """
    data, source = read_yaml(path, "a scenario", "`wirebench list` shows the scenarios that come with wirebench")
    try:
        return _with_recording(Scenario.model_validate(data, context=source), path, timing)
    except ValidationError as error:
        first, *others = (describe(source, mistake) for mistake in error.errors())
        hint = "docs/scenarios.md describes every key; nothing was started"
        raise UsageError(first, hint, "\n".join(others)) from None


def _with_recording(scenario: Scenario, path: Path, timing: Path | None) -> Scenario:
    """Return a scenario with its recording, if it has one, and the window that this fills. Raises UsageError."""
    load = scenario.load
    if load.model != "replay" or load.timing is None:
        return scenario
    timing_path = timing or path.parent / load.timing
    try:
        recording = read_recording(timing_path)
    except UsageError as error:
        raise UsageError(f"{scenario.where(('load', 'timing'))}: {error.message}", error.hint) from None
    length_s = recording.length_s / load.speedup
    asked = "window_s" in load.model_fields_set
    window_s = load.window_s if asked else length_s
    if asked and window_s > length_s:
        field, problem, hint = (
            "window_s",
            f"the recording is over after {length_s:.3f} s",
            "remove the key, or lower it",
        )
    elif window_s > WINDOW_S_MAX:
        problem = f"it would take {window_s:,.0f} s, and a window has {WINDOW_S_MAX} at most"
        field, hint = "timing", "raise load.speedup, or replay a part of it: load.window_s"
    elif window_s < WINDOW_S_MIN:
        problem = f"it is over after {window_s:.3f} s, and a window has {WINDOW_S_MIN} at least"
        field, hint = "timing", "lower load.speedup, or record for longer"
    else:
        part = recording.first(window_s * load.speedup)
        replayed = load.model_copy(update={"window_s": window_s}).replaying(part, timing_path)
        return scenario.model_copy(update={"load": replayed})
    raise UsageError(f"{scenario.where(('load', field))}: {problem}", hint)
