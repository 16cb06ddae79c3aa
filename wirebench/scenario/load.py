"""Reading a scenario file: every mistake is named with its line and what to do about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from wirebench.errors import UsageError
from wirebench.scenario.mistakes import describe
from wirebench.scenario.model import WINDOW_S_MAX, WINDOW_S_MIN, Scenario
from wirebench.scenario.source import FieldPath, Source
from wirebench.timing import read_recording

FILE_BYTES_MAX = 1_000_000

_TAG = "tag:yaml.org,2002:"


class _Loader(yaml.SafeLoader):
    """The safe loader; a value that its type can't hold is a YAML error with a line, like all others."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:  # noqa: ANN401, FBT001, FBT002 - PyYAML's
        try:
            return super().construct_object(node, deep)
        except (ValueError, LookupError, AttributeError):
            problem = f"this is no {node.tag.removeprefix(_TAG)}"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark) from None


def read_scenario(path: Path, timing: Path | None = None) -> Scenario:
    """Read and check a scenario file; `timing` is where a replay's timing file is, wherever the scenario says it is.

    Raises UsageError, with the line and the fix.
    """
    text = _read(path)
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        lines = _lines_of(node, path) if node else {}
        data = loader.construct_document(node) if node else None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise UsageError(f"{path}:{line}: not valid YAML: {error.problem}", "correct the line") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise UsageError(f"{path}:{line}: not valid YAML: {error.reason}", "correct the line") from None
    except RecursionError:
        raise UsageError(f"{path}:1: nested too deeply", "a scenario has three levels") from None
    if not isinstance(data, dict):
        raise UsageError(f"{path}:1: a scenario is a mapping", "start with the keys `question` and `factors`")
    source = Source(path, lines)
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


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(FILE_BYTES_MAX + 1)
        if len(content) > FILE_BYTES_MAX:
            raise UsageError(f"{path}: over {FILE_BYTES_MAX} bytes", "that is no scenario file")
        return content.decode()
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not UTF-8 text", "a scenario is a YAML text file") from None
    except OSError as error:
        hint = "`wirebench list` shows the scenarios that come with wirebench"
        raise UsageError(f"{path}: {error.strerror}", hint) from None


def _lines_of(root: yaml.Node, path: Path) -> dict[FieldPath, int]:
    """Return the line of every key and item; refuse keys that stand twice, of which YAML would keep the last."""
    lines: dict[FieldPath, int] = {}
    seen = set()

    def visit(node: yaml.Node, at: FieldPath) -> None:
        lines.setdefault(at, node.start_mark.line + 1)
        if node in seen:  # an alias: it may stand for as much as it likes, and for itself
            return
        seen.add(node)
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                inner = (*at, _word(key, path))
                if inner in lines:
                    raise UsageError(f"{path}:{key.start_mark.line + 1}: {key.value!r} stands twice", "remove one")
                lines[inner] = key.start_mark.line + 1
                visit(value, inner)
        elif isinstance(node, yaml.SequenceNode):
            for index, item in enumerate(node.value):
                visit(item, (*at, index))

    visit(root, ())
    return lines


def _word(key: yaml.Node, path: Path) -> str:
    """Return a key. Raises UsageError for one that isn't text, as YAML reads it: `1`, `on`, `[a]`."""
    if not isinstance(key, yaml.ScalarNode) or key.tag not in (f"{_TAG}str", f"{_TAG}merge"):
        raise UsageError(f"{path}:{key.start_mark.line + 1}: a key must be a word", "write `key: value`")
    return str(key.value)
