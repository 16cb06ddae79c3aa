"""The files that `wirebench init` writes: a first application file, and a scenario that measures it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from wirebench.model.variant import is_loopback
from wirebench.plan.drafts.draft import Draft, make_address_keys, render_key, to_yaml
from wirebench.system.tls import ClientTls, split_address

#: The first limit of a service on another machine.
_CAREFUL = {"rate_per_s": 10, "connections": 2}
_ABOUT = """\
# Written by `wirebench init` from {described_by}.
# Requests have example values; docs/applications.md describes every key. What checks replies is for you to add:
#   rest: {{request: …, expect: {{json: {{item.id: "{{id}}"}}}}}}
#   grpc: {{call: …, expect: {{item.id: "{{id}}"}}}}
#   same: [{{rest: item.name, grpc: item.name}}], what must be equal in the replies of all variants"""

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

    def render(self, kind: Kind) -> Iterator[str]:
        """Yield the lines of its variant."""
        if self.address is not None:
            yield from to_yaml(make_address_keys(self.address, self.tls), "    ")
        if self.is_foreign:
            yield "    # The most load that a run may send. Ask the service's owner before you raise it."
            yield from to_yaml({"limit": _CAREFUL}, "    ")
        if self.start is None and self.address is None:
            yield "    # The command that starts it; or, where it runs already, `address: HOST:PORT`."
        if self.start is not None or self.address is None:
            yield from to_yaml({"start": self.start or f"your-{kind}-service --port {{port}}"}, "    ")
            yield "    # When it is ready; without this, when its port accepts connections."
            yield f"    # ready: {'health' if kind == 'grpc' else 'GET /healthz'}"


@dataclass(frozen=True, slots=True)
class Drafts:
    """What both files are about; `grpc` has the keys of the gRPC variant that name its schema."""

    name: str
    described_by: str
    operations: Sequence[Draft]
    places: Mapping[Kind, Place] = field(default_factory=dict)
    grpc: Mapping[str, Any] = field(default_factory=dict)

    def render_application(self) -> Iterator[str]:
        yield _ABOUT.format(described_by=self.described_by)
        yield from to_yaml({"application": self.name}, "")
        yield ""
        yield "operations:"
        for each in self.operations:
            yield f"  # {each.about}"
            yield from each.render()
        yield ""
        yield "# What is compared. More variants of one transport may follow: another version, another language."
        yield "variants:"
        for kind in list_kinds(self.operations):
            yield f"  {render_key(kind)}"
            yield f"    transport: {kind}"
            yield from self.places.get(kind, Place()).render(kind)
            if kind == "grpc":
                yield from to_yaml(dict(self.grpc), "    ")

    def render_scenario(self, application: str) -> Iterator[str]:
        """Yield the lines of a scenario for an application file: it compares what most variants have."""
        most = max(len(list_kinds([each])) for each in self.operations)
        measured = [each for each in self.operations if list_kinds([each]) == list_kinds(self.operations)]
        measured = measured or [each for each in self.operations if len(list_kinds([each])) == most]
        kinds = list_kinds(measured[:1])
        measured = [each for each in measured if list_kinds([each]) == kinds]
        yield "# docs/scenarios.md describes every key."
        yield from to_yaml({"question": f"Which variant of {self.name} answers fastest, and what does it cost?"}, "")
        yield from to_yaml({"application": application}, "")
        yield "factors:"
        if kinds != list_kinds(self.operations):
            yield "  # The others don't have these operations."
            yield from to_yaml({"variant": kinds}, "  ")
        yield from to_yaml({"operation": [each.name for each in measured]}, "  ")
        if left_out := [each.name for each in self.operations if each not in measured]:
            yield f"  # Left out, as not all of these variants have them: {', '.join(left_out)}"
        if any(self.places.get(kind, Place()).is_foreign for kind in kinds):
            yield "  # Within the limit of the application file."
            yield from to_yaml({"concurrency": _CAREFUL["connections"], "rate_per_s": _CAREFUL["rate_per_s"]}, "  ")
            yield "load: {model: open, warmup_s: 1, window_s: 30}"
        else:
            yield "  concurrency: [1, 16]"
            yield "load: {model: closed, warmup_s: 1, window_s: 3}"
        yield "blocks: 4"
        if len(kinds) > 1:
            yield "compare: variant"


def list_kinds(drafts: Iterable[Draft]) -> list[Kind]:
    """Return the transports that any of the operations has a request for."""
    return [kind for kind in KINDS if any(getattr(draft, kind) for draft in drafts)]
