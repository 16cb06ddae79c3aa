"""YAML files that people write: read so that every mistake is named with its line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel
from pydantic_core import ErrorDetails

from wirebench.errors import UsageError
from wirebench.model.validation_messages import describe_mistake
from wirebench.system.files import read_limited

FILE_BYTES_MAX = 1_000_000


class _Loader(yaml.SafeLoader):
    """Reads YAML 1.2, as wireload does; what begins with a zero, and has another value in YAML 1.1, is a text."""

    yaml_implicit_resolvers = {}  # noqa: RUF012 - PyYAML's


class _Dumper(yaml.SafeDumper):
    """Quotes what YAML 1.1 or 1.2 would take for something else than a text; writes equal values in full each time."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ANN401, ARG002 - PyYAML's
        return True


_Loader.add_implicit_resolver("tag:yaml.org,2002:str", re.compile(r"^[-+]?0[0-9]"), [*"-+0"])
#: The core schema: https://yaml.org/spec/1.2.2/#103-core-schema
for _name, _pattern in (
    ("null", r"~|null|Null|NULL|"),
    ("bool", r"true|True|TRUE|false|False|FALSE"),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"),
    ("merge", r"<<"),
):
    for _each in (_Loader, _Dumper):
        _each.add_implicit_resolver(
            f"tag:yaml.org,2002:{_name}", re.compile(f"^({_pattern})$"), [*"~nNtTfF-+.0123456789<", ""]
        )


def dump_yaml(data: Any, *, default_flow_style: bool | None = False, width: float = 80) -> str:  # noqa: ANN401 - any JSON
    """Return data as YAML, in the order of its keys."""
    return yaml.dump(
        data, Dumper=_Dumper, default_flow_style=default_flow_style, width=width, allow_unicode=True, sort_keys=False
    )


#: The way to a field: keys, and places in lists.
FieldPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """A file, and the line of every key and item in it, counted from 1."""

    path: Path
    #: What messages call it.
    name: str = ""
    lines: Mapping[FieldPath, int] = field(default_factory=dict)
    #: The text of the file, with overrides applied.
    text: str = ""
    #: The options that have set fields, such as `--concurrency 64`.
    options: Mapping[FieldPath, str] = field(default_factory=dict)
    #: What these have changed, such as `factors.concurrency 1, 16 -> 64`.
    overrides: tuple[str, ...] = ()

    def locate(self, field: FieldPath) -> str:
        """Name a field with the option that set it, or with file and line.

        The line is that of what the field stands in, if it is left out itself.
        """
        line = next((self.lines[each] for each in _list_prefixes(field) if each in self.lines), 1)
        return f"{self.find_option(field) or f'{self.name}:{line}'}: {join_field(field)}"

    def make_error(
        self, errors: Iterable[ErrorDetails], hint: str, sections: Mapping[str, type[BaseModel]]
    ) -> UsageError:
        """Return the error of a file with these mistakes, each with its place; `sections` are the file's."""
        first, *others = (f"{self.locate(each['loc'])}: {describe_mistake(each, sections)}" for each in errors)
        return UsageError(first, hint, "\n".join(others))

    def find_option(self, field: FieldPath) -> str | None:
        return next((self.options[each] for each in _list_prefixes(field) if each in self.options), None)


def _list_prefixes(field: FieldPath) -> list[FieldPath]:
    return [field[:length] for length in range(len(field), -1, -1)]


def join_field(field: FieldPath) -> str:
    """Name a field by its keys: `factors.driver.rest`."""
    return ".".join(part for part in field if isinstance(part, str))


def read_yaml(path: Path, what: str, hint: str) -> tuple[dict[str, Any], Source]:
    """Return the mapping in a YAML file, and where its fields stand. Raises UsageError, with the line.

    `what` is what the file should be, with its article; `hint` is the next step if the file can't be opened.
    """
    try:
        text = read_limited(path, FILE_BYTES_MAX, hint, f"{what} is shorter").decode()
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not UTF-8 text", f"{what} is a YAML text file") from None
    return parse_yaml(text, path, str(path), what)


def parse_yaml(text: str, path: Path, name: str, what: str) -> tuple[dict[str, Any], Source]:
    """Return the mapping in a YAML text, as `read_yaml` does; messages call its file `name`. Raises UsageError."""
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        lines = _map_lines(node, name) if node else {}
        data = loader.construct_document(node) if node else None
    except (yaml.YAMLError, ValueError, LookupError, AttributeError) as error:  # also a value that its type can't hold
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", getattr(error, "reason", error))
        line = 1 + (mark.line if mark else text.count("\n", 0, getattr(error, "position", 0)))
        hint = 'quote texts with braces: "serve {port}"' if "'{'" in str(problem) else "correct the line"
        raise UsageError(f"{name}:{line}: not valid YAML: {problem}", hint) from None
    except RecursionError:
        raise UsageError(f"{name}:1: nested too deeply", f"{what} has a few levels") from None
    if not isinstance(data, dict):
        raise UsageError(f"{name}:1: {what} is a mapping", "write `key: value`, a key a line")
    return data, Source(path, name, lines, text)


def parse_value(text: str) -> Any:  # noqa: ANN401 - any YAML
    """Return the value that an option gives in YAML; several with commas between them are a list. Raises ValueError."""
    try:
        data, _ = parse_yaml(f"value: [{text}]", Path(), "", "a value")
    except UsageError as error:
        raise ValueError(error.message.partition(": ")[2]) from None
    if len(data) > 1 or not data["value"]:
        raise ValueError("there is no value, or more than one")
    return data["value"] if len(data["value"]) > 1 else data["value"][0]


def _map_lines(root: yaml.Node, name: str) -> dict[FieldPath, int]:
    """Return the line of every key and item; reject keys that stand twice, of which YAML would keep the last."""
    lines: dict[FieldPath, int] = {}
    seen = set()

    def visit(node: yaml.Node, at: FieldPath) -> None:
        lines.setdefault(at, node.start_mark.line + 1)
        if node in seen:  # an alias: it may stand for as much as it likes, and for itself
            return
        seen.add(node)
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                inner = (*at, str(key.value))
                if inner in lines:
                    raise UsageError(f"{name}:{key.start_mark.line + 1}: {key.value!r} appears twice", "remove one")
                lines[inner] = key.start_mark.line + 1
                visit(value, inner)
        elif isinstance(node, yaml.SequenceNode):
            for index, item in enumerate(node.value):
                visit(item, (*at, index))

    visit(root, ())
    return lines
