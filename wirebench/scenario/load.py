"""Reading a scenario file: every mistake is named with its line and what to do about it."""

from __future__ import annotations

import difflib
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from wirebench.errors import UsageError
from wirebench.scenario.model import EVERY_TRANSPORT, Factors, Load, Scenario

FILE_BYTES_MAX = 1_000_000

Path_ = tuple[Hashable, ...]
_SECTIONS: dict[str, type[BaseModel]] = {"": Scenario, "factors": Factors, "load": Load}


def read_scenario(path: Path) -> Scenario:
    """Read and check a scenario file. Raises UsageError, with the line and the fix."""
    text = _read(path)
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        lines = _lines_of(node, path)
        data = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise UsageError(f"{path}:{line}: not valid YAML: {error.problem}", "correct the line") from None
    except (yaml.YAMLError, RecursionError) as error:
        raise UsageError(f"{path}: not valid YAML: {error}", "a scenario is a YAML text file") from None
    if not isinstance(data, dict):
        raise UsageError(f"{path}:1: a scenario is a mapping", "start with the keys `question` and `factors`")
    try:
        return Scenario.model_validate(data)
    except ValidationError as error:
        problems = [_explain(path, lines, problem) for problem in error.errors()]
        hint = "docs/scenarios.md describes every key; nothing was started"
        raise UsageError(problems[0], hint, "\n".join(problems[1:])) from None


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


def _lines_of(node: yaml.Node | None, path: Path, at: Path_ = ()) -> dict[Path_, int]:
    """Return the line of every key and item; refuse keys that stand twice, of which YAML would keep the last."""
    if node is None:
        return {}
    lines = {at: node.start_mark.line + 1}
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise UsageError(f"{path}:{key.start_mark.line + 1}: a key must be a word", "write `key: value`")
            inner = (*at, key.value)
            if inner in lines:
                raise UsageError(f"{path}:{key.start_mark.line + 1}: {key.value!r} stands twice", "remove one")
            lines |= _lines_of(value, path, inner)
            lines[inner] = key.start_mark.line + 1
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            lines |= _lines_of(item, path, (*at, index))
    return lines


def _explain(path: Path, lines: dict[Path_, int], problem: Any) -> str:  # noqa: ANN401 - pydantic's ErrorDetails
    location = tuple(part for part in problem["loc"] if part not in (EVERY_TRANSPORT, "[key]"))
    known = location
    while known and known not in lines:
        known = known[:-1]
    field = ".".join(str(part) for part in location if not isinstance(part, int))
    where = f"{path}:{lines.get(known, 1)}: {field}".removesuffix(": ")
    if problem["type"] == "extra_forbidden":
        return f"{where}: no such key{_suggest(location)}"
    if problem["type"] == "missing":
        return f"{where}: is missing"
    message = problem["msg"].removeprefix("Value error, ")
    given = problem["input"]
    shown = f" (it is {given!r})" if isinstance(given, str | int | float | bool | None) else ""
    return f"{where}: {message[0].lower()}{message[1:]}{shown}"


def _suggest(location: Path_) -> str:
    model = _SECTIONS.get(".".join(map(str, location[:-1])))
    if model is None:
        return ""
    close = difflib.get_close_matches(str(location[-1]), model.model_fields, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; the keys are {', '.join(model.model_fields)}"
