"""First versions of operations, drafted from a schema; the user corrects them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import yaml

from wirebench.plan.drafts.openapi_document import name_input
from wirebench.system.tls import ClientTls, split_address

_LINE_CHARACTERS_MAX = 110


@dataclass(slots=True)
class Draft:
    """An operation; requests have the form of application files."""

    about: str
    writes: bool
    stream: bool = False
    inputs: dict[str, dict[str, Any]] = field(default_factory=dict)
    rest: dict[str, Any] | None = None
    grpc: dict[str, Any] | None = None

    def add_input(self, path: Sequence[str], given: dict[str, Any]) -> str:
        """Return the placeholder of an input; fields and parameters of the same name share it."""
        name = name_input("_".join(path))
        known = next((each for each in self.inputs if fold_name(each) == fold_name(name)), None)
        if known is None:
            self.inputs[name] = given
        return f"{{{known or name}}}"

    def expect_status(self, status: int) -> None:
        if self.rest and status != HTTPStatus.OK:
            self.rest["expect"] = {"status": status}

    def to_lines(self, indent: str) -> Iterator[str]:
        if self.about:
            yield f"{indent}# {self.about}"
        flags = {name: True for name in ("stream", "writes") if getattr(self, name)}
        requests = {name: given for name in ("rest", "grpc") if (given := getattr(self, name))}
        yield from to_yaml({**flags, **({"inputs": self.inputs} if self.inputs else {}), **requests}, indent)


def fold_name(name: str) -> str:
    """Return the same text for itemId, item_id and ItemID."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def to_snake_case(name: str) -> str:
    """Return the name of an operation: `getItemByID` becomes `get_item_by_id`."""
    words = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", words)
    snake = re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")
    return snake if snake[:1].isalpha() else f"operation_{snake}"


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
