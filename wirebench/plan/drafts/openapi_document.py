"""OpenAPI 3 documents: the requests that they describe."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import yaml

try:
    from yaml import CSafeLoader as _SafeLoader  # ten times as fast
except ImportError:
    from yaml import SafeLoader as _SafeLoader  # type: ignore[assignment] # without libyaml

from wirebench.errors import UsageError
from wirebench.system.files import read_limited

DOCUMENT_BYTES_MAX = 50_000_000
#: The methods of an application file's REST requests.
METHODS = ("get", "post", "put", "patch", "delete")
_PLACEHOLDER = re.compile(r"\{([^{}]+)\}")
_REFERENCES_MAX = 100
#: Media types of bodies that are sent as JSON anyway.
_JSON = ("application/json", "*/*")

Json = Any


class _OpenApiLoader(_SafeLoader):
    """Reads scalars as YAML 1.2 does, and OpenAPI asks for: `NO` and `12:30` are texts, and so are dates."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - PyYAML's


for _tag, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", r"[-+]?(0|[1-9][0-9]*)", "-+0123456789"),
    ("float", r"[-+]?(0|[1-9][0-9]*)(\.[0-9]*)?([eE][-+]?[0-9]+)?", "-+0123456789"),
    ("merge", r"<<", "<"),
):
    _OpenApiLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"(?:{_pattern})$"), list(_first))


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a path or a query."""

    name: str
    place: str
    required: bool
    schema: Json
    example: Json = None

    @property
    def input(self) -> str:
        """The name of the input that it is filled from: its own, in the characters that names of inputs have."""
        return name_input(self.name)


@dataclass(frozen=True, slots=True)
class Route:
    """One request of a document; the path has the server's base path, and inputs as placeholders."""

    operation_id: str
    method: str
    path: str
    parameters: tuple[Parameter, ...]
    #: The body's media type and its schema and examples; None if it has no body.
    body: tuple[str, Json] | None
    #: The first status of success that the document has.
    status: int
    #: The line of the document that describes it.
    summary: str

    @property
    def headers(self) -> dict[str, str]:
        """The header of a body that isn't plain JSON."""
        return {"Content-Type": self.body[0]} if self.body and self.body[0] not in _JSON else {}

    @property
    def uploads_files(self) -> bool:
        """Whether its body is a form with files, which no application file can describe."""
        return self.body is not None and self.body[0].startswith("multipart/")

    def request(self, inputs: Container[str]) -> str:
        """Return method, path and query, with the query's parameters that are among the inputs."""
        given = [each for each in self.parameters if each.place == "query" and each.input in inputs]
        query = "&".join(f"{quote(each.name)}={{{each.input}}}" for each in given)
        return f"{self.method.upper()} {self.path}" + (f"?{query}" if query else "")


def name_input(parameter: str) -> str:
    """Return the name of the input for a parameter: `X-Page` becomes `x_Page`, `ID` `id`."""
    name = re.sub(r"[^a-zA-Z0-9_]+", "_", parameter).strip("_") or "_"
    if name.isupper():
        return name.lower()
    return f"{name[:1].lower()}{name[1:]}" if not name[0].isdigit() else f"_{name}"


class Document:
    """An OpenAPI 3 document."""

    def __init__(self, path: Path) -> None:
        """Read it. Raises UsageError."""
        self.path = path
        self.root = _read(path)
        version = str(self.root.get("openapi", ""))
        if not version.startswith("3."):
            if "swagger" in self.root:
                raise UsageError(f"{path}: Swagger 2.0", "convert it to OpenAPI 3, by swagger2openapi for example")
            raise UsageError(f"{path}: not an OpenAPI 3 document", "name one")

    @functools.cached_property
    def routes(self) -> tuple[Route, ...]:
        """All requests with a method that application files have. Raises UsageError for what isn't OpenAPI."""
        return tuple(self._list_routes())

    def resolve(self, node: Json) -> dict[str, Any]:
        """Return a mapping of the document, behind its `$ref`s. Raises UsageError."""
        for _ in range(_REFERENCES_MAX):
            if not isinstance(node, dict):
                return {}
            if not isinstance(reference := node.get("$ref"), str):
                return node
            node = self._follow_reference(reference)
        raise UsageError(f"{self.path}: a $ref leads to itself", "correct the document")

    def _follow_reference(self, reference: str) -> Json:
        file, mark, pointer = reference.partition("#")
        if file or not mark:
            hint = "bundle the document into one file first, by `redocly bundle` for example"
            raise UsageError(f"{self.path}: $ref {reference!r} leads to another file", hint)
        node: Json = self.root
        for part in pointer.split("/")[1:]:
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(node, list) and key.isdecimal() and int(key) < len(node):
                node = node[int(key)]
            elif isinstance(node, dict) and key in node:
                node = node[key]
            else:
                raise UsageError(f"{self.path}: $ref {reference!r} leads to nothing", "correct the document")
        return node

    def _list_routes(self) -> Iterator[Route]:
        for path, given in self.resolve(self.root.get("paths")).items():
            item = self.resolve(given)
            for method in METHODS:
                if isinstance(item.get(method), dict):
                    yield self._read_route(str(path), method, item)

    def _read_route(self, path: str, method: str, item: dict[str, Any]) -> Route:
        operation = item[method]
        described = [self.resolve(each) for source in (item, operation) for each in to_list(source.get("parameters"))]
        named = {(each.name, each.place): each for each in map(self._read_parameter, described)}
        # Some documents leave out to describe what is in a path.
        in_path = [
            named.get((name, "path")) or Parameter(name, "path", required=True, schema={})
            for name in _PLACEHOLDER.findall(path)
        ]
        in_query = [each for each in named.values() if each.place == "query"]
        body = self.resolve(operation.get("requestBody"))
        statuses = map(str, self.resolve(operation.get("responses")))
        servers: list[Any] = next(
            filter(None, (to_list(each.get("servers")) for each in (operation, item, self.root))), [{}]
        )
        return Route(
            operation_id=str(operation.get("operationId", "")),
            method=method,
            path=self._find_base_path(self.resolve(servers[0]))
            + _PLACEHOLDER.sub(lambda match: f"{{{name_input(match[1])}}}", path),
            parameters=(*in_path, *in_query),
            body=self._read_body(body) if body else None,
            status=next((int(each) for each in statuses if re.fullmatch("2[0-9][0-9]", each)), 200),
            summary=" ".join(str(operation.get("summary") or "").split()),
        )

    def _find_base_path(self, server: dict[str, Any]) -> str:
        variables = self.resolve(server.get("variables"))
        url = _PLACEHOLDER.sub(
            lambda match: str(self.resolve(variables.get(match[1])).get("default", "")), str(server.get("url", ""))
        )
        try:
            path = urlsplit(url).path.strip("/")
        except ValueError as error:
            raise UsageError(f"{self.path}: servers: {url!r}: {error}", "correct the document") from None
        return f"/{path}" if path else ""

    def _read_parameter(self, given: dict[str, Any]) -> Parameter:
        # A parameter has either a schema, or one by media type.
        content: Json = next(iter(self.resolve(given.get("content")).values()), {})
        schema = given.get("schema") or self.resolve(content).get("schema")
        name, place = str(given.get("name", "")), str(given.get("in", ""))
        required = place == "path" or bool(given.get("required"))
        return Parameter(name, place, required, schema or {}, self.find_example(given))

    def _read_body(self, given: dict[str, Any]) -> tuple[str, Json]:
        """Return JSON, if it may be JSON, or else the first media type."""
        content = self.resolve(given.get("content"))
        kind = next((each for each in content if "json" in each), next(iter(content), "application/json"))
        return kind, self.resolve(content.get(kind))

    def find_example(self, given: dict[str, Any]) -> Json:
        """Return the example of a parameter or a media type, the first if it has several; None if it has none."""
        several = given.get("examples")
        first = next(iter(several.values()), None) if isinstance(several, dict) else None
        return given.get("example", self.resolve(first).get("value"))


def _read(path: Path) -> dict[str, Any]:
    try:
        content = read_limited(path, DOCUMENT_BYTES_MAX, "name an OpenAPI document", "take the part that you measure")
        # JSON is read as JSON: that is faster, and libyaml rejects some of it.
        root = json.loads(content) if content.lstrip()[:1] == b"{" else yaml.load(content, _OpenApiLoader)  # noqa: S506 - safe
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise UsageError(f"{path}:{line}: not valid YAML: {error.problem}", "correct the line") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UsageError(f"{path}: neither JSON nor YAML: {error}", "name an OpenAPI document") from None
    if not isinstance(root, dict):
        raise UsageError(f"{path}: not an OpenAPI document", "name one")
    return root


def to_list(value: Json) -> list[Any]:
    """Return a list of a document; an empty one for what isn't one."""
    return value if isinstance(value, list) else []
