"""An operation that `wirebench init` drafts: its requests, with what its author has to look at."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from wirebench.system.tls import ClientTls, split_address

_LINE_CHARACTERS_MAX = 110


@dataclass(slots=True)
class Draft:
    """An operation; requests have the form of application files.

    `about` is what the user named, and `notes` are comments. `inputs` are example values by the names that
    placeholders have.
    """

    name: str
    about: str
    writes: bool
    stream: bool = False
    inputs: dict[str, Any] = field(default_factory=dict)
    rest: dict[str, Any] | None = None
    grpc: dict[str, Any] | None = None
    notes: list[str] = field(default_factory=list)

    def render(self) -> Iterator[str]:
        """Yield the operation's lines below `operations:`."""
        yield f"  {render_key(self.name)}"
        if self.inputs:
            yield f"    # Choose values that exist: {', '.join(self.inputs)}. {{range: [1, 500]}} draws one of many."
        yield from (f"    # {note}" for note in self.notes)
        flags = {name: True for name in ("stream", "writes") if getattr(self, name)}
        inputs = {"inputs": {name: {"list": [value]} for name, value in self.inputs.items()}} if self.inputs else {}
        requests = {name: given for name in ("rest", "grpc") if (given := getattr(self, name))}
        yield from to_yaml({**flags, **inputs, **requests}, "    ")


def fold_name(name: str) -> str:
    """Return the same text for itemId, item_id and ItemID."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def to_snake_case(name: str) -> str:
    """Return a name of an operation or an input: `getItemByID` becomes `get_item_by_id`."""
    words = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", words)
    snake = re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")
    return snake if snake[:1].isalpha() else f"of_{snake}".rstrip("_")


def make_address_keys(address: str, tls: ClientTls | None) -> dict[str, Any]:
    """Return the keys of a variant at an address: with TLS if its scheme asks for it, or files are given."""
    bare, chosen = split_address(address, tls)
    if chosen is None:
        return {"address": bare}
    authority = chosen.authority
    return {"address": bare, "tls": {"authority": str(authority.resolve())} if authority else {}}


def to_yaml(mapping: dict[str, Any], indent: str) -> Iterator[str]:
    """Yield a mapping's lines: a key a line, with its value, unless that is a mapping too long for it."""
    for key, value in mapping.items():
        line = indent + _to_flow(key, value)
        if isinstance(value, dict) and value and len(line) > _LINE_CHARACTERS_MAX:
            yield indent + render_key(key)
            yield from to_yaml(value, f"{indent}  ")
        else:
            yield line


def render_key(key: str) -> str:
    return _to_flow(key, {}).removesuffix(" {}")


def _to_flow(key: str, value: Any) -> str:  # noqa: ANN401 - any JSON
    flow = yaml.dump(
        {key: value}, Dumper=_Dumper, default_flow_style=True, allow_unicode=True, sort_keys=False, width=math.inf
    )
    return flow[1:-2]  # without its braces


class _Dumper(yaml.SafeDumper):
    """Writes equal values in full each time, without anchors."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ANN401, ARG002 - PyYAML's
        return True
