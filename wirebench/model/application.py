"""An application: what its operations send and what a right reply is, on each transport. docs/applications.md."""

from __future__ import annotations

import functools
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self, TypeVar
from urllib.parse import quote

from pydantic import (
    Field,
    StringConstraints,
    ValidationError,
    field_validator,
    model_validator,
)

from wirebench.errors import UsageError
from wirebench.findings import in_words
from wirebench.model.inputs import DEFAULT, Drawing, Input, Seeded, Strict, draw
from wirebench.model.source import read_yaml
from wirebench.model.template import FILTERS, Template, Values, find_placeholders, render, render_text, text_of
from wirebench.places import APPLICATION

T = TypeVar("T")
_EMPTY: Any = Field(default={})
_Name = Annotated[str, StringConstraints(pattern=r"^[a-z_][a-z0-9_]*$")]
_OperationName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)*$", max_length=100)]


class RestExpectation(Strict):
    """The reply to a REST request: its status, and values in its JSON body by path."""

    status: Annotated[int, Field(ge=100, le=599)] = 200
    json_: Annotated[dict[str, Template], Field(alias="json")] = _EMPTY


class Rest(Strict):
    """A REST request: method, path and query; and a JSON body."""

    request: Annotated[str, StringConstraints(pattern=r"^(GET|POST|PUT|PATCH|DELETE) /[^ ]*$")]
    body: Template = None
    expect: RestExpectation = RestExpectation()

    @property
    def method(self) -> str:
        """The HTTP method."""
        return self.request.partition(" ")[0]

    @property
    def path(self) -> str:
        """The template of the path."""
        return self.request.partition(" ")[2].partition("?")[0]

    @property
    def query(self) -> str:
        """The template of the query."""
        return self.request.partition("?")[2]


class Grpc(Strict):
    """A gRPC call: `package.Service/Method`, and its message in JSON form."""

    call: Annotated[str, StringConstraints(pattern=r"^[\w.]+/\w+$")]
    message: dict[str, Template] = _EMPTY
    expect: dict[str, Template] = _EMPTY


class Socket(Strict):
    """A request of the socket protocol (proto/socket.md): its method, and its body in JSON form."""

    method: Annotated[str, Field(min_length=1, max_length=255)]
    body: dict[str, Template] = _EMPTY
    expect: dict[str, Template] = _EMPTY


class RestRequest(NamedTuple):
    """A REST request as it is sent; the body is JSON."""

    method: str
    path: str
    body: str | None


class Operation(Strict):
    """One kind of request."""

    inputs: dict[_Name, Input] = _EMPTY
    rest: Rest | None = None
    grpc: Grpc | None = None
    socket: Socket | None = None
    #: For the conformance check, which draws values of any field by its type: lists or ranges to draw from instead.
    conformance: dict[_Name, Input] = _EMPTY
    #: Whether it is answered with many items, one after the other.
    stream: bool = False
    #: Whether it changes what the service keeps.
    writes: bool = False

    @model_validator(mode="after")
    def _names_its_inputs(self) -> Self:
        known: set[str] = set()
        for name, given in self.inputs.items():
            self._check_placeholders(f"inputs.{name}", list(given.templates), known, "before it")
            known.add(name)
        for transport in ("rest", "grpc", "socket"):
            if given := getattr(self, transport):
                self._check_placeholders(transport, given.model_dump(by_alias=True), known, "")
        return self

    @staticmethod
    def _check_placeholders(where: str, template: Template, known: set[str], more: str) -> None:
        for name, form in find_placeholders(template):
            if name not in known:
                raise ValueError(f"{where}: there is no input {name!r} {more}".rstrip())
            if form and form not in FILTERS:
                raise ValueError(f"{where}: there is no form {form!r}; there are {', '.join(FILTERS)}")

    def find_input(self, generator: str) -> tuple[str, Input] | None:
        """Return name and definition of the first input with this generator."""
        return next(((name, each) for name, each in self.inputs.items() if each.generator == generator), None)

    @property
    def creates(self) -> bool:
        """Whether it creates records."""
        return self.find_input("fresh") is not None

    @property
    def deletes(self) -> bool:
        """Whether it deletes what the load has created."""
        return self.find_input("created") is not None

    @property
    def varies(self) -> bool:
        """Whether its requests differ from each other."""
        return any(each.varies for each in self.inputs.values())

    def size(self, payload: str | int) -> int | None:
        """Return the number that a payload stands for; None if it stands for none."""
        chosen = [each.choose(payload) for each in self.inputs.values() if each.takes(payload) and not each.of]
        return next((each for each in chosen if isinstance(each, int)), None)

    def takes(self, payload: str | int) -> bool:
        """Return whether some input has a value for this payload."""
        return any(each.takes(payload) for each in self.inputs.values())

    def request_rest(self, values: Values) -> RestRequest:
        """Return the REST request for these inputs."""
        rest = _required(self.rest, "rest")
        path = render_text(rest.path, values, lambda text: quote(text, safe=""))
        pairs = [pair.partition("=") for pair in rest.query.split("&") if pair]
        given = [(name, render(value, values)) for name, _, value in pairs]
        query = "&".join(f"{name}={quote(text_of(value), safe='')}" for name, value in given if value is not None)
        body = None if rest.body is None else json.dumps(render(rest.body, values))
        return RestRequest(rest.method, f"{path}?{query}" if query else path, body)

    def request_grpc(self, values: Values) -> dict[str, Any]:
        """Return the gRPC message for these inputs, in JSON form."""
        message: dict[str, Any] = render(_required(self.grpc, "grpc").message, values)
        return message


def _required(given: T | None, transport: str) -> T:
    if given is None:
        message = f"this operation has no request on {transport}"  # a plan refuses it
        raise ValueError(message)
    return given


class Application(Strict):
    """The operations of an application, by name."""

    seeded: dict[str, Seeded] = _EMPTY
    operations: Annotated[dict[_OperationName, Operation], Field(min_length=1)]

    @field_validator("operations")
    @classmethod
    def _has_what_it_seeds(cls, operations: dict[str, Operation], info: Any) -> dict[str, Operation]:  # noqa: ANN401
        for name, operation in operations.items():
            for each in operation.inputs.values():
                if each.seeded and each.seeded not in info.data.get("seeded", {}):
                    raise ValueError(f"{name}: nothing is seeded as {each.seeded!r}")
        return operations

    @property
    def streams(self) -> tuple[str, ...]:
        """The operations that are answered with many items."""
        return tuple(name for name, each in self.operations.items() if each.stream)

    @property
    def payloads(self) -> tuple[str, ...]:
        """The names of all payloads."""
        inputs = [each for operation in self.operations.values() for each in operation.inputs.values()]
        choices = [each.payload for each in (*inputs, *(each.of for each in inputs if each.of)) if each.payload]
        return tuple(dict.fromkeys(name for each in choices for name in each if name != DEFAULT))

    def draw(self, operation: str, drawing: Drawing) -> dict[str, Any]:
        """Return values for the inputs of one request."""
        return draw(self.operations[operation].inputs, replace(drawing, seeded=self.seeded))

    def ids_each(self, operation: str, payload: str | int | None) -> int:
        """Return how many ids a request of an operation takes; 0 if it creates nothing."""
        found = self.operations[operation].find_input("fresh")
        if found is None:
            return 0
        values = self.draw(operation, Drawing(random.Random(0), payload=payload))  # noqa: S311 - load, not a secret
        return int(render(found[1].count, values))


def read_application(path: Path) -> Application:
    """Read and check an application file; files that it names are beside it. Raises UsageError, with line and fix."""
    data, source = read_yaml(path, "an application file", "applications/ has those that come with wirebench")
    try:
        application = Application.model_validate(data, context=path.parent)
    except ValidationError as error:
        first, *others = (f"{source.where(each['loc'])}: {in_words(each)}" for each in error.errors())
        raise UsageError(first, "docs/applications.md describes every key", "\n".join(others)) from None
    return application


@functools.cache
def builtin() -> Application:
    """Return the built-in application. Raises UsageError."""
    return read_application(APPLICATION)
