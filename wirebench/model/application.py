"""An application: its operations, as far as a plan needs them, and its variants. docs/applications.md.

wireload reads the rest, makes the requests and checks the replies: nothing here knows how.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import ConfigDict, Field, ValidationError

from wirebench.errors import UsageError
from wirebench.model.frozen import ONE_OR_MORE, FrozenModel
from wirebench.model.source import Source, read_yaml
from wirebench.model.variant import Limit, Variant
from wirebench.system import processes
from wirebench.system.paths import APPLICATION, TOOLS
from wirebench.system.processes import ProcessError
from wirebench.system.tls import ClientTls

_EMPTY: Any = Field(default={})
_RESOLVE_TIMEOUT_S = 60.0
#: The parts of the file that are checked here.
_SECTIONS: dict[str, type[FrozenModel]] = {"variants.*": Variant, "variants.*.limit": Limit}

#: A request as an application file has it: `request`, `headers` and so on.
Request = Mapping[str, Any]


class _Part(FrozenModel):
    """A part of an application file that wireload has checked; keys that only it needs are left out."""

    model_config = ConfigDict(extra="ignore")


class Input(_Part):
    """How a value of a request is made."""

    fresh: str | None = None
    created: str | None = None
    payload: dict[str, Any] = _EMPTY
    #: Numbers up to it are payloads, too.
    max: int | None = None
    stream: str | None = None
    of: Input | None = None
    value: Any = None
    #: How many ids in a row are taken: a number, or the placeholder of an input that is one.
    count: int | str = 1

    def takes(self, payload: str | int) -> bool:
        if self.of and self.of.takes(payload):
            return True
        if isinstance(payload, int):
            return self.max is not None and 0 < payload <= self.max
        return payload != "default" and payload in self.payload  # That is sent where a load names none.

    def choose(self, payload: str | int | None) -> Any:  # noqa: ANN401 - any JSON
        """Return what stands for a payload: the first choice for one that it doesn't take; None without choices."""
        if isinstance(payload, int) and self.takes(payload):
            return payload
        return self.payload.get(str(payload), next(iter(self.payload.values()), None))


class Operation(_Part):
    """One kind of request, with its form on each transport that has it."""

    inputs: dict[str, Input] = _EMPTY
    rest: dict[str, Any] | None = None
    grpc: dict[str, Any] | None = None
    socket: dict[str, Any] | None = None
    #: Requests of single variants, in place of those of their transport.
    variants: dict[str, dict[str, Any]] = _EMPTY
    #: Values that all variants answer alike: paths by transport.
    same: Annotated[tuple[dict[str, str], ...], ONE_OR_MORE] = ()
    #: Whether it is answered with many items, one after the other.
    stream: bool = False
    #: Whether it changes what the service keeps.
    writes: bool = False

    @property
    def creates(self) -> bool:
        return any(each.fresh for each in self.inputs.values())

    @property
    def deletes(self) -> bool:
        return any(each.created for each in self.inputs.values())

    def asks_for(self, given: str) -> bool:
        """Return whether its requests have a number of items, or a rate."""
        return any(each.stream == given for each in self.inputs.values())

    def takes(self, payload: str | int) -> bool:
        return any(each.takes(payload) for each in self.inputs.values())

    def find_size(self, payload: str | int) -> int | None:
        """Return the number that a payload stands for; None if it stands for none."""
        chosen = [each.choose(payload) for each in self.inputs.values() if each.takes(payload) and not each.of]
        return next((each for each in chosen if isinstance(each, int)), None)

    def count_ids(self, payload: str | int | None) -> int:
        """Return how many ids a request takes; 0 if it creates nothing."""
        creating = next((each for each in self.inputs.values() if each.fresh), None)
        if creating is None:
            return 0
        if isinstance(creating.count, int):
            return creating.count
        counted = self.inputs[creating.count.strip("{}")]
        return int(counted.choose(payload) if counted.payload else counted.value)

    def find_request(self, transport: str, variant: str | None = None) -> Request | None:
        """Return the request that a variant gets; None if it has none on this transport."""
        request: Request | None = self.variants.get(variant or "") or getattr(self, transport)
        return request


def find_headers(request: Request | None) -> tuple[str, dict[str, str]]:
    """Return the key of what is sent with a request, and what that is."""
    key = "metadata" if request and "call" in request else "headers"
    return key, (request or {}).get(key, {})


class Application(_Part):
    """The operations of an application, and the variants that serve them; the built-in one has none here."""

    #: Ids of records that are there before the load: `count` of them, from `first` on.
    seeded: dict[str, dict[str, int]] = _EMPTY
    operations: Annotated[dict[str, Operation], Field(min_length=1)]
    variants: dict[str, Variant] = _EMPTY
    #: What it is read from, so that errors name its lines. The text is all of it as JSON, with the names of variables,
    #: not their values; of the built-in application it is the file.
    source: Source = Source(Path("application.yaml"))

    @property
    def path(self) -> Path:
        """The file that it was read from; paths in it are relative to its folder."""
        return self.source.path.absolute()

    def find_tls(self, name: str) -> ClientTls | None:
        """Return what clients of a variant need for TLS; None is plain text."""
        given = self.variants[name].tls
        if given is None:
            return None
        return ClientTls(self.path.parent / given.authority if given.authority else None)


def read_application(path: Path) -> Application:
    """Read an application file, which wireload checks. Raises UsageError."""
    _, source = read_yaml(path, "an application file", "applications/ has those that come with wirebench")
    text = resolve(path)
    try:
        return Application.model_validate({**json.loads(text), "source": dataclasses.replace(source, text=text)})
    except ValidationError as error:
        raise source.make_error(error.errors(), "docs/applications.md describes every key", _SECTIONS) from None


def resolve(path: Path, descriptors: Mapping[str, Path] = MappingProxyType({})) -> str:
    """Return an application file as JSON.

    It is checked against the messages of variants that have no proto files: `descriptors` by name. Raises UsageError,
    with a line for each mistake.
    """
    sets = (part for name, file in descriptors.items() for part in ("--descriptors", f"{name}={file}"))
    command: list[str | Path] = [TOOLS / "wireload", "resolve", path, *sets]
    try:
        return processes.run("wireload", command, _RESOLVE_TIMEOUT_S)
    except ProcessError as error:
        first, *others = error.details.splitlines() or [error.message]
        hint = "docs/applications.md describes every key"
        if not error.details or first.startswith("wireload: "):  # it isn't installed, or is of another version
            hint = "run `make setup`, which builds wireload"
        raise UsageError(first, hint, "\n".join(others)) from None


@functools.cache
def load_builtin() -> Application:
    """Return the built-in application. Raises UsageError."""
    data, source = read_yaml(APPLICATION, "an application file", "install wirebench again")
    return Application.model_validate({**data, "source": source})
