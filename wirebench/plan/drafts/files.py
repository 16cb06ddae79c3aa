"""The files that `wirebench init` writes: an application file with drafted operations, and a scenario for it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from wirebench.errors import UsageError, suggest
from wirebench.model.source import dump_yaml
from wirebench.model.variant import is_loopback
from wirebench.system.tls import ClientTls, split_address

#: The first limit of a service on another machine.
_LIMIT = {"rate_per_s": 10, "connections": 2}
_ABOUT = """\
# Written by `wirebench init`, with example values; docs/applications.md describes every key.
# Add what checks replies: `expect`, and `same`, what must be equal in the replies of all variants.
application: {name}

operations:"""
_ABOUT_VARIANTS = """
# `start` is a command, `address` where a service runs already. It is ready when its port is open, unless
# `ready: GET /healthz` or `ready: health` (gRPC) says otherwise. Ask the owner before you raise a limit."""

Kind = Literal["rest", "grpc"]
KINDS: tuple[Kind, ...] = ("rest", "grpc")


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

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The transports that it has a request for."""
        return tuple(kind for kind in KINDS if getattr(self, kind))

    def render(self) -> Iterator[str]:
        """Yield its lines below `operations:`."""
        comments = [self.about, *self.notes]
        if self.inputs:
            comments.append(f"Choose values that exist: {', '.join(self.inputs)}. {{range: [1, 500]}} draws one.")
        yield from (f"  # {' '.join(each.split())}" for each in comments)
        keys = {name: value for name in ("stream", "writes", "rest", "grpc") if (value := getattr(self, name))}
        if self.inputs:
            keys = {"inputs": {name: {"list": [value]} for name, value in self.inputs.items()}, **keys}
        yield textwrap.indent(_to_yaml({self.name: keys}), "  ")


@dataclass(frozen=True, slots=True)
class Drafts:
    """What both files are about; variants have the keys of application files."""

    name: str
    operations: Sequence[Draft]
    variants: Mapping[Kind, Mapping[str, Any]]

    def render_application(self) -> Iterator[str]:
        yield _ABOUT.format(name=self.name)
        for each in self.operations:
            yield from each.render()
        yield _ABOUT_VARIANTS
        yield _to_yaml({"variants": self.variants})

    def render_scenario(self, application: str) -> Iterator[str]:
        """Yield the lines of a scenario: it measures what all variants have, or what the first operation's have."""
        kinds = tuple(self.variants)
        if not any(each.kinds == kinds for each in self.operations):
            kinds = self.operations[0].kinds
        measured = [each.name for each in self.operations if each.kinds == kinds]
        factors: dict[str, Any] = {"variant": list(kinds), "operation": measured, "concurrency": [1, 16]}
        load: dict[str, Any] = {"model": "closed", "warmup_s": 1, "window_s": 3}
        if any("limit" in self.variants[kind] for kind in kinds):
            factors |= {"concurrency": _LIMIT["connections"], "rate_per_s": _LIMIT["rate_per_s"]}
            load = {"model": "open", "warmup_s": 1, "window_s": 30}
        yield "# docs/scenarios.md describes every key."
        question = f"How fast is {self.name}, and what does it cost?"
        compared = {"compare": "variant"} if len(kinds) > 1 else {}
        scenario = {"question": question, "application": application, "factors": factors, "load": load, "blocks": 4}
        yield _to_yaml({**scenario, **compared})


def make_variant(kind: Kind, start: str | None, address: str | None, tls: ClientTls | None) -> dict[str, Any]:
    """Return the keys of a variant, for the user to complete if it has no command or address."""
    keys: dict[str, Any] = {"transport": kind}
    if start or not address:
        keys["start"] = start or f"your-{kind}-service --port {{port}}"
    if address:
        keys |= make_address_keys(address, tls)
        if not is_loopback(split_address(address)[0]):
            keys["limit"] = dict(_LIMIT)
    return keys


def make_address_keys(address: str, tls: ClientTls | None) -> dict[str, Any]:
    """Return the keys of a variant at an address: with TLS if its scheme asks for it, or files are given."""
    bare, chosen = split_address(address, tls)
    if chosen is None:
        return {"address": bare}
    authority = chosen.authority
    return {"address": bare, "tls": {"authority": str(authority.resolve())} if authority else {}}


def check_named(name: str, listed: Mapping[str, str], what: str) -> None:
    """Raise UsageError for what isn't listed, or can't be measured: `listed` has why, or an empty text."""
    if name not in listed:
        raise UsageError(f"there is no {what} {name!r}", suggest(name, listed))
    if reason := listed[name]:
        raise UsageError(f"{name} can't be measured: {reason}", "name another one")


def fold_name(name: str) -> str:
    """Return the same text for itemId, item_id and ItemID."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def to_snake_case(name: str) -> str:
    """Return a name of an operation or an input: `getItemByID` becomes `get_item_by_id`."""
    words = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", words)
    snake = re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")
    return snake if snake[:1].isalpha() else f"of_{snake}".rstrip("_")


def _to_yaml(data: Mapping[str, Any]) -> str:
    """Return lines of YAML: what holds single values only stands on one of them."""
    return dump_yaml(data, default_flow_style=None, width=110).rstrip()
