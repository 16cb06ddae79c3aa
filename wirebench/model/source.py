"""YAML files that people write: read so that every mistake is named with its line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from wirebench.errors import UsageError

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


#: The way to a field: keys, and places in lists.
FieldPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """A file, and the line of every key and item in it, counted from 1."""

    path: Path
    lines: Mapping[FieldPath, int]

    def where(self, field: FieldPath) -> str:
        """Name a field with file and line; the line of what it stands in, if it is left out itself."""
        known = field
        while known and known not in self.lines:
            known = known[:-1]
        return f"{self.path}:{self.lines.get(known, 1)}: {dotted(field)}"


def dotted(field: FieldPath) -> str:
    """Name a field by its keys: `factors.driver.rest`."""
    return ".".join(part for part in field if isinstance(part, str))


def read_yaml(path: Path, what: str, hint: str) -> tuple[dict[str, Any], Source]:
    """Return the mapping in a YAML file, and where its fields stand. Raises UsageError, with the line.

    `what` is what the file should be, with its article; `hint` is the next step if the file can't be opened.
    """
    text = _read(path, what, hint)
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
        raise UsageError(f"{path}:1: nested too deeply", f"{what} has a few levels") from None
    if not isinstance(data, dict):
        raise UsageError(f"{path}:1: {what} is a mapping", "write `key: value`, a key a line")
    return data, Source(path, lines)


def _read(path: Path, what: str, hint: str) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(FILE_BYTES_MAX + 1)
        if len(content) > FILE_BYTES_MAX:
            raise UsageError(f"{path}: over {FILE_BYTES_MAX} bytes", f"{what} is shorter")
        return content.decode()
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not UTF-8 text", f"{what} is a YAML text file") from None
    except OSError as error:
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
