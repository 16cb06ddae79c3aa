"""First application file and scenario for a service, from its schema: what `wirebench init` writes."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from wirebench.errors import UsageError, suggest
from wirebench.model.variant import is_loopback
from wirebench.plan.drafts.draft import Draft, fold_name, make_address_keys, render_key, to_yaml
from wirebench.plan.drafts.openapi import draft_request, draft_route
from wirebench.plan.drafts.openapi_document import Document
from wirebench.plan.drafts.proto import draft_methods
from wirebench.plan.drafts.schema import Schema
from wirebench.system.tls import ClientTls, split_address

#: How many operations a first scenario measures.
_MEASURED_MAX = 5
_NAME_CHARACTERS_MAX = 90
#: The first limit of a service on another machine.
_CAREFUL = {"rate_per_s": 10, "connections": 2}

_ABOUT_APPLICATION = """\
# Written by `wirebench init` from {origin.described_by}.
# It is a first version: correct it. docs/applications.md describes every key.
application: {origin.name}

# Requests and expected replies. Each request draws new values of its inputs; those here come from types and
# examples. Replace them by values that the service knows: {{range: [1, 500]}} or {{list: [a, b]}}.
# `expect` checks replies:
#   rest: {{request: …, expect: {{status: 200, json: {{item.id: "{{id}}"}}}}}}
#   grpc: {{call: …, expect: {{item.id: "{{id}}"}}}}
# `same` names values that must be equal in the replies of all variants, which is checked before the load:
#   same: [{{rest: item.name, grpc: item.name}}]"""

Kind = Literal["rest", "grpc"]
KINDS: tuple[Kind, ...] = ("rest", "grpc")


@dataclass(frozen=True, slots=True)
class Place:
    """How a variant is started, or where it runs; neither, if the user fills that in later.

    A scheme before the address decides on TLS; without one, it is used if `tls` is given.
    """

    start: str | None = None
    address: str | None = None
    tls: ClientTls | None = None

    @property
    def is_foreign(self) -> bool:
        """Whether it runs on another machine, and so needs a limit."""
        return self.address is not None and not is_loopback(split_address(self.address)[0])


@dataclass(frozen=True, slots=True)
class Origin:
    """What operations are drafted from: a gRPC schema, an OpenAPI document, or both.

    `described_by` names them for readers, and `grpc` has the keys of the gRPC variant that name the schema.
    """

    name: str
    described_by: str
    schema: Schema | None
    document: Document | None
    grpc: Mapping[str, Any]


def draft_operations(origin: Origin, patterns: Sequence[str]) -> dict[str, Draft]:
    """Return drafts of the operations that match patterns (default: all), by name. Raises UsageError if none does.

    An operation in both sources has both requests: its operationId is the method's name, with or without the service,
    or its HTTP rule gives the same request.
    """
    drafts = list(draft_methods(origin.schema)) if origin.schema else []
    if origin.document:
        drafts += _join(drafts, origin.document)
    named = dict(_make_unique(drafts))
    chosen = {
        name: draft
        for name, draft in named.items()
        if not patterns or any(fnmatch.fnmatch(name, each) for each in patterns)
    }
    if not named:
        hint = "unary calls and server streams of gRPC can be measured, and what is in `paths` of OpenAPI"
        raise UsageError(f"{origin.described_by}: no operation that can be measured", hint)
    if not chosen:
        raise UsageError(f"--operation: none is called {' or '.join(patterns)}", suggest(patterns[0], named))
    return chosen


def _join(drafts: Sequence[tuple[str, Draft]], document: Document) -> list[tuple[str, Draft]]:
    """Add a document's requests to the methods of the same name or request; return drafts of the others."""
    unary = [(name, draft) for name, draft in drafts if not draft.stream]
    by_name = {
        fold_name(key): draft for name, draft in unary for key in (name, name.partition(".")[2], _find_call(draft))
    }
    by_request = {_strip_parameters(draft.rest["request"]): draft for _, draft in unary if draft.rest}
    others = []
    for route in document.routes:
        if route.uploads_files:
            continue
        if draft := by_name.get(fold_name(route.operation_id)):
            draft_route(draft, document, route)
        elif draft := by_request.get(_strip_parameters(route.request(()))):
            draft.expect_status(route.status)  # the request of the HTTP rule shares its inputs with the message
        else:
            others.append(draft_request(document, route))
    return others


def _find_call(draft: Draft) -> str:
    """Return `Service_Method`, as generators of OpenAPI name operations."""
    return str((draft.grpc or {}).get("call", "")).rpartition(".")[2]


def _strip_parameters(request: str) -> str:
    """Return method and path of a REST request, without the names of its parameters."""
    return re.sub(r"\{[^{}]*\}", "{}", request.partition("?")[0])


def _make_unique(drafts: Iterable[tuple[str, Draft]]) -> Iterator[tuple[str, Draft]]:
    seen: dict[str, int] = {}
    for long_name, draft in drafts:
        name = long_name[:_NAME_CHARACTERS_MAX].rstrip("_.")
        seen[name] = seen.get(name, 0) + 1
        yield (name if seen[name] == 1 else f"{name}_{seen[name]}"), draft


def _choose_measured(drafts: Mapping[str, Draft], *, writes: bool) -> tuple[list[str], list[Kind]]:
    """Return the operations that a first scenario measures, and the transports that have all of them.

    Raises UsageError if all operations write, and `writes` is false.
    """
    reading = {name: draft for name, draft in drafts.items() if writes or not draft.writes}
    if not reading:
        hint = f"choose what may be measured: --operation '{next(iter(drafts))}'"
        raise UsageError("all operations may write, according to their schema", hint)
    # What all transports have and what isn't a stream comes first.
    rank = {name: (-len(list_kinds([each])), each.stream) for name, each in reading.items()}
    first = min(rank.values())
    alike = [name for name, each in rank.items() if each == first]
    kinds = list_kinds([reading[alike[0]]])
    return [name for name in alike if list_kinds([reading[name]]) == kinds][:_MEASURED_MAX], kinds


def list_kinds(drafts: Iterable[Draft]) -> list[Kind]:
    return [kind for kind in KINDS if any(getattr(draft, kind) for draft in drafts)]


def render_application(origin: Origin, drafts: Mapping[str, Draft], places: Mapping[Kind, Place]) -> Iterator[str]:
    yield _ABOUT_APPLICATION.format(origin=origin)
    yield "operations:"
    for name, draft in drafts.items():
        yield f"  {render_key(name)}"
        yield from draft.to_lines("    ")
    yield ""
    yield "# What is compared. More variants of one transport may follow: another version, another language."
    yield "variants:"
    for kind in list_kinds(drafts.values()):
        yield f"  {kind}:"
        yield f"    transport: {kind}"
        yield from _render_place(kind, places.get(kind, Place()))
        if kind == "grpc":
            yield from to_yaml(dict(origin.grpc), "    ")


def _render_place(kind: Kind, place: Place) -> Iterator[str]:
    if place.address is not None:
        yield from to_yaml(make_address_keys(place.address, place.tls), "    ")
    if place.is_foreign:
        yield "    # The most load that a run may send. Ask the service's owner before you raise it."
        yield from to_yaml({"limit": _CAREFUL}, "    ")
    if place == Place():
        yield "    # The command that starts it; or, where it runs already, `address: HOST:PORT`."
    if place.start is not None or place.address is None:
        yield from to_yaml({"start": place.start or f"your-{kind}-service --port {{port}}"}, "    ")
        yield "    # When it is ready; without this, when its port accepts connections."
        yield f"    # ready: {'health' if kind == 'grpc' else 'GET /healthz'}"


def render_scenario(
    origin: Origin, application: str, drafts: Mapping[str, Draft], places: Mapping[Kind, Place], *, writes: bool
) -> Iterator[str]:
    """Yield the lines of the scenario for an application file. Raises UsageError if there is nothing to measure."""
    operations, kinds = _choose_measured(drafts, writes=writes)
    left_out = [name for name in drafts if name not in operations]
    is_careful = any(places.get(kind, Place()).is_foreign for kind in kinds)
    yield "# docs/scenarios.md describes every key."
    yield from to_yaml({"question": f"Which variant of {origin.name} answers fastest, and what does it cost?"}, "")
    yield from to_yaml({"application": application}, "")
    yield "factors:"
    if len(kinds) < len(list_kinds(drafts.values())):
        yield "  # The others don't have these operations."
        yield from to_yaml({"variant": kinds}, "  ")
    yield from to_yaml({"operation": operations}, "  ")
    if left_out:
        more = ", …" if len(left_out) > _MEASURED_MAX else ""
        names = f"{', '.join(left_out[:_MEASURED_MAX])}{more}"
        yield f"  # Left out, as they may write, stream, lack a transport, or are too many: {names}"
    if is_careful:
        yield "  # Within the limit of the application file."
        yield from to_yaml({"concurrency": _CAREFUL["connections"], "rate_per_s": _CAREFUL["rate_per_s"]}, "  ")
        yield "load: {model: open, warmup_s: 1, window_s: 30}"
    else:
        yield "  concurrency: [1, 16]"
        yield "load: {model: closed, warmup_s: 1, window_s: 3}"
    yield "blocks: 4"
    if len(kinds) > 1:
        yield "compare: variant"
