"""An application: what its operations send and what a right reply is, on each transport. docs/applications.md."""

from __future__ import annotations

import functools
import json
import random
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self, TypeVar
from urllib.parse import quote

from pydantic import (
    Discriminator,
    Field,
    PrivateAttr,
    StringConstraints,
    Tag,
    ValidationError,
    field_validator,
    model_validator,
)

from wirebench.errors import UsageError
from wirebench.model.frozen import StrictModel
from wirebench.model.headers import Headers, Metadata
from wirebench.model.inputs import DEFAULT, Input, InputContext, Seeded, draw
from wirebench.model.source import FieldPath, Source, join_field, read_yaml
from wirebench.model.template import FILTERS, Template, Values, find_placeholders, render, render_text, to_text
from wirebench.model.variables import find_variables
from wirebench.model.variant import ONE_OR_MORE, Variant
from wirebench.system.paths import APPLICATION
from wirebench.system.tls import ClientTls

T = TypeVar("T")
_EMPTY: Any = Field(default={})
_Name = Annotated[str, StringConstraints(pattern=r"^[a-z_][a-zA-Z0-9_]*$")]
_OperationName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)*$", max_length=100)]
_VariantName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$", max_length=40)]


class RestExpectation(StrictModel):
    """The reply to a REST request: its status, values in its JSON body by path, and a text that is in its body."""

    status: Annotated[int, Field(ge=100, le=599)] = 200
    json_: Annotated[dict[str, Template], Field(alias="json")] = _EMPTY
    contains: str | None = None


class Rest(StrictModel):
    """A REST request: method, path and query, headers, and a body.

    A body that is a text is sent as it is, any other one as JSON.
    """

    request: Annotated[str, StringConstraints(pattern=r"^(GET|POST|PUT|PATCH|DELETE) /[^ ]*$")]
    headers: Headers = _EMPTY
    body: Template = None
    #: The name of the Server-Sent Event that ends a stream; without it, the end of the body does.
    end: Annotated[str, StringConstraints(pattern=r"^\S+$", max_length=100)] | None = None
    expect: RestExpectation = RestExpectation()

    @property
    def method(self) -> str:
        return self.request.partition(" ")[0]

    @property
    def path(self) -> str:
        return self.request.partition(" ")[2].partition("?")[0]

    @property
    def query(self) -> str:
        return self.request.partition("?")[2]


class Grpc(StrictModel):
    """A gRPC call: `package.Service/Method`, its message in JSON form, and its metadata."""

    call: Annotated[str, StringConstraints(pattern=r"^[\w.]+/\w+$")]
    metadata: Metadata = _EMPTY
    message: dict[str, Template] = _EMPTY
    expect: dict[str, Template] = _EMPTY


class Socket(StrictModel):
    """A request on a socket: a method and its body in frames (proto/socket.md), or a line that a line answers."""

    method: Annotated[str, Field(min_length=1, max_length=255)] | None = None
    body: dict[str, Template] = _EMPTY
    expect: dict[str, Template] = _EMPTY
    line: Annotated[str, StringConstraints(pattern=r"^[^\r\n]*$", max_length=65_536)] | None = None
    #: A text that is in the line that answers.
    contains: str | None = None

    @model_validator(mode="after")
    def _check_kind(self) -> Self:
        if (self.method is None) == (self.line is None):
            raise ValueError("needs either method or line")
        if self.line is not None and (self.body or self.expect):
            raise ValueError("body and expect are for a method; a line has contains")
        if self.contains is not None and self.line is None:
            raise ValueError("contains is for a line; a method has expect")
        return self


def _find_kind(request: Any) -> str:  # noqa: ANN401 - untrusted, checked next
    keys = request if isinstance(request, dict) else getattr(request, "model_fields_set", ())
    return "rest" if "request" in keys else "grpc" if "call" in keys else "socket"


#: A request on any transport, known by its first key.
_Request = Annotated[
    Annotated[Rest, Tag("rest")] | Annotated[Grpc, Tag("grpc")] | Annotated[Socket, Tag("socket")],
    Discriminator(_find_kind),
]


class RestRequest(NamedTuple):
    """A REST request as it is sent; the body is a text of the application's, or JSON."""

    method: str
    path: str
    body: str | None


class Operation(StrictModel):
    """One kind of request."""

    inputs: dict[_Name, Input] = _EMPTY
    rest: Rest | None = None
    grpc: Grpc | None = None
    socket: Socket | None = None
    #: Requests of single variants, in place of those of their transport.
    variants: dict[str, _Request] = _EMPTY
    #: Values that all variants answer alike: by transport, where each has it in its reply.
    same: Annotated[tuple[dict[Literal["rest", "grpc", "socket"], str], ...], ONE_OR_MORE] = ()
    #: For the conformance check, which draws values of any field by its type: lists or ranges to draw from instead.
    conformance: dict[_Name, Input] = _EMPTY
    #: Whether it is answered with many items, one after the other.
    stream: bool = False
    #: Whether it changes what the service keeps.
    writes: bool = False

    @model_validator(mode="after")
    def _check_inputs(self) -> Self:
        known: set[str] = set()
        for name, given in self.inputs.items():
            _check_placeholders(f"inputs.{name}", list(given.templates), known, "before it")
            known.add(name)
        for each in self.same:
            for transport in each:
                if getattr(self, transport) is None and transport not in map(_find_kind, self.variants.values()):
                    raise ValueError(f"same: there is no {transport} request")
        requests = {name: getattr(self, name) for name in ("rest", "grpc", "socket")}
        for name, each in (requests | {f"variants.{name}": each for name, each in self.variants.items()}).items():
            if isinstance(each, Rest) and each.end:
                self._check_end(f"{name}.end", each.end)
            if each:
                _check_placeholders(name, each.model_dump(by_alias=True), known, "")
                others = each.model_dump_json(exclude={"headers", "metadata"})
                if variable := next(find_variables(others), None):
                    raise ValueError(f"{name}: ${{{variable}}}: only headers and metadata take variables")
        return self

    def _check_end(self, where: str, end: str) -> None:
        if not self.stream:
            raise ValueError(f"{where}: only a stream has an event that ends it")
        if end in ("message", "error"):
            raise ValueError(f"{where}: events named message are items, and one named error fails the stream")

    def find_input(self, generator: str) -> tuple[str, Input] | None:
        """Return name and definition of the first input with this generator."""
        return next(((name, each) for name, each in self.inputs.items() if each.generator == generator), None)

    def asks_for(self, given: Literal["items", "rate_limit_per_s"]) -> bool:
        """Return whether its requests have a number of items, or a rate."""
        return any(each.stream == given for each in self.inputs.values())

    @property
    def sends_text(self) -> bool:
        """Whether the body of its REST request is a text, and not JSON."""
        seeded: defaultdict[str, Seeded] = defaultdict(lambda: Seeded(first=1, count=1))
        drawing = InputContext(random.Random(0), seeded)  # noqa: S311 - load, not a secret
        return self.rest is not None and isinstance(render(self.rest.body, draw(self.inputs, drawing)), str)

    @property
    def creates(self) -> bool:
        return self.find_input("fresh") is not None

    @property
    def deletes(self) -> bool:
        return self.find_input("created") is not None

    @property
    def varies(self) -> bool:
        return any(each.varies for each in self.inputs.values())

    def find_size(self, payload: str | int) -> int | None:
        """Return the number that a payload stands for; None if it stands for none."""
        chosen = [each.choose(payload) for each in self.inputs.values() if each.takes(payload) and not each.of]
        return next((each for each in chosen if isinstance(each, int)), None)

    def takes(self, payload: str | int) -> bool:
        return any(each.takes(payload) for each in self.inputs.values())

    def request_rest(self, values: Values) -> RestRequest:
        rest = _require(self.rest, "rest")
        path = render_text(rest.path, values, lambda text: quote(text, safe=""))
        pairs = [pair.partition("=") for pair in rest.query.split("&") if pair]
        given = [(name, render(value, values)) for name, _, value in pairs]
        query = "&".join(f"{name}={quote(to_text(value), safe='')}" for name, value in given if value is not None)
        body = render(rest.body, values)
        text = body if body is None or isinstance(body, str) else json.dumps(body)
        return RestRequest(rest.method, f"{path}?{query}" if query else path, text)

    def select_variant(self, name: str, transport: str, headers: dict[str, str]) -> Operation:
        """Return this operation as a variant gets it: with its own request, if it has one.

        These headers, or metadata, come before those of the request, which override them by name.
        """
        request = self.variants.get(name) or getattr(self, transport)
        if request is None:
            return self
        key, own = _find_headers(request)
        if headers:
            request = request.model_copy(update={key: _merge(headers, own)})
        return self.model_copy(update={transport: request})

    def request_grpc(self, values: Values) -> dict[str, Any]:
        message: dict[str, Any] = render(_require(self.grpc, "grpc").message, values)
        return message


def _check_placeholders(where: str, template: Template, known: Collection[str], more: str) -> None:
    """Raise ValueError for a placeholder that stands for nothing."""
    for name, form in find_placeholders(template):
        if name not in known:
            raise ValueError(f"{where}: there is no input {name!r} {more}".rstrip())
        if form and form not in FILTERS:
            raise ValueError(f"{where}: there is no form {form!r}; there are {', '.join(FILTERS)}")


def _merge(headers: dict[str, str], own: dict[str, str]) -> dict[str, str]:
    overridden = {name.lower() for name in own}
    return {name: value for name, value in headers.items() if name.lower() not in overridden} | own


def _find_headers(request: Rest | Grpc | Socket | None) -> tuple[str, dict[str, str]]:
    """Return the key of what is sent with a request, and what that is."""
    if isinstance(request, Rest):
        return "headers", request.headers
    return "metadata", request.metadata if isinstance(request, Grpc) else {}


def _require(given: T | None, transport: str) -> T:
    if given is None:
        message = f"this operation has no request on {transport}"  # a plan rejects it
        raise ValueError(message)
    return given


class Application(StrictModel):
    """The operations of an application, and the variants that serve them; the built-in one has none here."""

    application: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]*$", max_length=60)] | None = None
    seeded: dict[str, Seeded] = _EMPTY
    operations: Annotated[dict[_OperationName, Operation], Field(min_length=1)]
    variants: dict[_VariantName, Variant] = _EMPTY
    _source: Source | None = PrivateAttr(default=None)

    def model_post_init(self, context: Source | None, /) -> None:
        """Keep the source that it is read from, given as the validation's context, so that errors name its lines."""
        self._source = context

    @property
    def folder(self) -> Path:
        """What paths in the file are relative to."""
        return self._source.path.parent.absolute() if self._source else Path.cwd()

    @property
    def path(self) -> Path | None:
        """The file that it was read from, if it was."""
        return self._source.path.absolute() if self._source else None

    def locate(self, field: FieldPath) -> str:
        """Return a field's name, and before it the file and line, if it was read from a file."""
        return self._source.locate(field) if self._source else join_field(field)

    @field_validator("operations")
    @classmethod
    def _check_seeded(cls, operations: dict[str, Operation], info: Any) -> dict[str, Operation]:  # noqa: ANN401
        for name, operation in operations.items():
            for each in (each for given in operation.inputs.values() for each in given.nested):
                if each.seeded and each.seeded not in info.data.get("seeded", {}):
                    raise ValueError(f"{name}: nothing is seeded as {each.seeded!r}")
        return operations

    @model_validator(mode="after")
    def _check_variants(self) -> Self:
        for name, operation in self.operations.items():
            for variant, request in operation.variants.items():
                if variant not in self.variants:
                    raise ValueError(f"operations.{name}.variants: there is no variant {variant!r}")
                if (transport := self.variants[variant].transport) != _find_kind(request):
                    raise ValueError(f"operations.{name}.variants.{variant}: needs a {transport} request")
        return self

    @property
    def streams(self) -> tuple[str, ...]:
        return tuple(name for name, each in self.operations.items() if each.stream)

    @property
    def payloads(self) -> tuple[str, ...]:
        inputs = (each for operation in self.operations.values() for each in operation.inputs.values())
        choices = [each.payload for given in inputs for each in given.nested if each.payload]
        return tuple(dict.fromkeys(name for each in choices for name in each if name != DEFAULT))

    def select_variant(self, name: str | None) -> Application:
        """Return this application as drivers send it to a variant: with its own requests and headers."""
        if not name:
            return self
        transport, headers = self.variants[name].transport, self.variants[name].headers
        operations = {key: each.select_variant(name, transport, headers) for key, each in self.operations.items()}
        return self.model_copy(update={"operations": operations})

    def find_tls(self, name: str) -> ClientTls | None:
        """Return what clients of a variant need for TLS; None is plain text."""
        given = self.variants[name].tls
        if given is None:
            return None
        return ClientTls(self.folder / given.authority if given.authority else None)

    def dump(self) -> str:
        """Return all of it as JSON, as it was read: with the names of variables, and not their values."""
        return self.model_dump_json(exclude_unset=True, by_alias=True, indent=1)

    def find_variables(self, variants: Collection[str], operations: Collection[str]) -> Iterator[tuple[str, FieldPath]]:
        """Yield the environment variables that these variants and operations name, each with where it stands."""
        texts: dict[FieldPath, str] = {}
        for name in variants:
            given = self.variants[name]
            for key, section in (("headers", given.headers), ("environment", given.environment)):
                texts |= {("variants", name, key, each): text for each, text in section.items()}
        for name in operations:
            operation = self.operations[name]
            requests: dict[FieldPath, Rest | Grpc | Socket | None]
            requests = {("rest",): operation.rest, ("grpc",): operation.grpc}
            requests |= {("variants", each): own for each, own in operation.variants.items() if each in variants}
            for field, request in requests.items():
                key, sent = _find_headers(request)
                texts |= {("operations", name, *field, key, each): text for each, text in sent.items()}
        for field, text in texts.items():
            yield from ((variable, field) for variable in find_variables(text))

    def draw(self, operation: str, drawing: InputContext) -> dict[str, Any]:
        return draw(self.operations[operation].inputs, replace(drawing, seeded=self.seeded))

    def count_ids(self, operation: str, payload: str | int | None) -> int:
        """Return how many ids a request of an operation takes; 0 if it creates nothing."""
        found = self.operations[operation].find_input("fresh")
        if found is None:
            return 0
        values = self.draw(operation, InputContext(random.Random(0), payload=payload))  # noqa: S311 - load, not a secret
        return int(render(found[1].count, values))


@dataclass(frozen=True, slots=True)
class Context:
    """What a scenario is validated with: its file, and the application that it names.

    Without one, nothing is checked that depends on them: what is read then has been checked before.
    """

    source: Source
    application: Application


def read_application(path: Path) -> Application:
    """Read and check an application file; files that it names are beside it. Raises UsageError, with line and fix."""
    data, source = read_yaml(path, "an application file", "applications/ has those that come with wirebench")
    try:
        application = Application.model_validate(data, context=source)
    except ValidationError as error:
        raise source.make_error(error.errors(), "docs/applications.md describes every key") from None
    _check_headers(application)
    return application


def _check_headers(application: Application) -> None:
    """Raise UsageError, with the line, if a header of a variant needs an input that an operation doesn't have."""
    for name, variant in application.variants.items():
        for key, operation in application.select_variant(name).operations.items():
            _, sent = _find_headers(getattr(operation, variant.transport))
            for header in variant.headers.keys() & sent.keys():
                where = application.locate(("variants", name, "headers", header))
                try:
                    _check_placeholders(where, sent[header], operation.inputs, f"of {key}")
                except ValueError as error:
                    raise UsageError(str(error), "add the input; names of variables are upper-case: ${NAME}") from None


@functools.cache
def load_builtin() -> Application:
    """Return the built-in application. Raises UsageError."""
    return read_application(APPLICATION)
