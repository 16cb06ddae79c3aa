"""Requests that satisfy an OpenAPI document, with example values by schemathesis.

It knows OpenAPI 3.0 and 3.1 and Swagger 2.0, references between files, encodings of forms and parameters, patterns and
limits. It is an optional dependency: wirebench[openapi].
"""

from __future__ import annotations

import contextlib
import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from wirebench.errors import UsageError, suggest
from wirebench.plan.drafts.draft import Draft, to_snake_case

#: Headers of a request that are the driver's, or the generator's own.
_NOT_OURS = frozenset((
    "accept", "accept-encoding", "authorization", "connection", "content-length", "user-agent",
    "x-schemathesis-testcaseid",
))  # fmt: skip
_SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS", "TRACE"))
_UPLOAD = "it uploads files (multipart/form-data)"
_CREDENTIALS = "It needs credentials: headers: {Authorization: 'Bearer ${TOKEN}'}, or what the document says."


class Document:
    """An OpenAPI document, from a file or a URL."""

    def __init__(self, source: str) -> None:
        """Read it, with the files that it refers to. Raises UsageError."""
        try:
            import hypothesis
            import schemathesis
        except ImportError:
            hint = "make setup-openapi, or pip install 'wirebench[openapi]'"
            raise UsageError("reading OpenAPI needs schemathesis, which isn't installed", hint) from None
        self._hypothesis = hypothesis
        self.source = source
        with _explained(source):
            if "://" in source:
                self._schema = schemathesis.openapi.from_url(source, proxies={"no_proxy": "*"})
            else:
                self._schema = schemathesis.openapi.from_path(source)
            self._operations = dict(self._read_operations())
            self.title = self._schema.title or ""

    def list_requests(self) -> dict[str, str]:
        """Return requests, such as `GET /items/{id}`, and why one can't be measured, or an empty text."""
        return {
            label: each if isinstance(each, str) else _reject_upload(each) for label, each in self._operations.items()
        }

    def draft(self, label: str) -> Draft:
        """Draft one of the requests. Raises UsageError if it isn't there or can't be measured."""
        if label not in self._operations:
            raise UsageError(f"{self.source} has no request {label!r}", suggest(label, self._operations))
        if reason := self.list_requests()[label]:
            raise UsageError(f"{label} can't be measured: {reason}", "name another one")
        operation = self._operations[label]
        with _explained(label):
            case = self._find_case(operation)
            return self._draft_case(operation, case)

    def _read_operations(self) -> Iterator[tuple[str, Any]]:
        from schemathesis.core.result import Ok

        for result in self._schema.get_all_operations():
            if isinstance(result, Ok):
                yield result.ok().label, result.ok()
            else:
                problem = result.err()
                yield f"{(problem.method or '?').upper()} {problem.path}", " ".join(str(problem).split())[:200]

    def _find_case(self, operation: Any) -> Any:  # noqa: ANN401 - schemathesis'
        """Return the simplest request that is valid, with the examples of the document where it has some."""
        from schemathesis import GenerationMode

        hypothesis = self._hypothesis
        settings = hypothesis.settings(
            derandomize=True,
            database=None,
            max_examples=200,
            deadline=None,
            suppress_health_check=list(hypothesis.HealthCheck),
            phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink),
        )
        strategies = operation.get_strategies_from_examples()[:1]
        strategies.append(operation.as_strategy(generation_mode=GenerationMode.POSITIVE))
        with tempfile.TemporaryDirectory(prefix="wirebench-") as folder:
            hypothesis.configuration.set_hypothesis_home_dir(folder)
            for condition in (_is_plain, _has_no_placeholder):
                for strategy in strategies:
                    with contextlib.suppress(hypothesis.errors.NoSuchExample):
                        return hypothesis.find(strategy, condition, settings=settings)
        raise UsageError(f"{operation.label}: found no values that satisfy its schema", "write this request by hand")

    def _draft_case(self, operation: Any, case: Any) -> Draft:  # noqa: ANN401 - schemathesis'
        import requests

        base_path = self._schema.base_path.rstrip("/")
        sent = case.as_transport_kwargs(base_url=f"http://service{base_path}")
        known = ("method", "url", "params", "headers", "cookies", "json", "data")
        prepared = requests.Request(**{name: sent[name] for name in known if sent.get(name) is not None}).prepare()
        draft = Draft(
            to_snake_case(operation.definition.raw.get("operationId") or operation.label),
            operation.label,
            writes=operation.method.upper() not in _SAFE_METHODS,
            stream=_streams(operation),
        )
        path = _insert_inputs(draft, operation.path, prepared.path_url, case.path_parameters or {})
        draft.rest = {"request": f"{prepared.method} {path}"}
        security = operation.definition.raw.get("security", self._schema.raw_schema.get("security"))
        if security:
            draft.notes.append(_CREDENTIALS)
        left_out = _NOT_OURS | {name.lower() for name in self._list_key_headers()}
        headers = {name: str(value) for name, value in prepared.headers.items() if name.lower() not in left_out}
        draft.rest |= _read_body(prepared.body, headers)
        if headers:
            draft.rest["headers"] = headers
        statuses = [int(each) for each in map(str, operation.definition.raw.get("responses", ())) if each.isdigit()]
        status = next((each for each in statuses if HTTPStatus.OK <= each < HTTPStatus.MULTIPLE_CHOICES), HTTPStatus.OK)
        if status != HTTPStatus.OK:
            draft.rest["expect"] = {"status": int(status)}
        return draft

    def _list_key_headers(self) -> Iterator[str]:
        raw = self._schema.raw_schema
        schemes = raw.get("securityDefinitions") or raw.get("components", {}).get("securitySchemes", {})
        yield from (each["name"] for each in schemes.values() if each.get("in") == "header" and "name" in each)


@contextlib.contextmanager
def _explained(what: str) -> Iterator[None]:
    """Turn whatever goes wrong with a foreign document into one line."""
    try:
        yield
    except UsageError:
        raise
    except Exception as error:  # the library's checks, and what it didn't expect of a document
        message = " ".join(str(error).split())[:300] or type(error).__name__
        raise UsageError(f"{what}: {message}", "correct the document, or write this request by hand") from error


def _reject_upload(operation: Any) -> str:  # noqa: ANN401 - schemathesis'
    types = operation.get_request_payload_content_types()
    return _UPLOAD if types and all(each.startswith("multipart/") for each in types) else ""


def _streams(operation: Any) -> bool:  # noqa: ANN401 - schemathesis'
    replies = operation.definition.raw.get("responses", {}).values()
    return any("text/event-stream" in (each.get("content") or {}) for each in replies if isinstance(each, dict))


def _insert_inputs(draft: Draft, template: str, sent: str, parameters: Mapping[str, Any]) -> str:
    """Return path and query as they were sent, with placeholders for parameters of the path that are single values."""
    path, mark, query = sent.partition("?")
    names = re.findall(r"\{([^{}]+)\}", template)
    pattern = "(.*?)".join(re.escape(quote(part, safe="/:@!$&'()*+,;=~")) for part in re.split(r"\{[^{}]+\}", template))
    found = re.search(f"{pattern}$", path)
    for place in reversed(range(len(names) if found else 0)):
        value = parameters.get(names[place])
        start, end = found.span(place + 1) if found else (0, 0)
        if (
            not isinstance(value, bool)
            and isinstance(value, str | int)
            and quote(str(value), safe="") == path[start:end]
        ):
            name = to_snake_case(names[place])
            draft.inputs = {name: value, **draft.inputs}
            path = f"{path[:start]}{{{name}}}{path[end:]}"
    return path + mark + query


def _read_body(body: Any, headers: dict[str, str]) -> dict[str, Any]:  # noqa: ANN401 - bytes or a text, if any
    """Return a request's body: objects and lists of JSON as they are, anything else as text."""
    if not body:
        headers.pop("Content-Type", None)
        return {}
    text = body.decode() if isinstance(body, bytes) else body
    media_type = headers.get("Content-Type", "")
    if media_type == "application/json" or media_type.endswith("+json"):
        value = json.loads(text)
        if isinstance(value, dict | list):
            if media_type == "application/json":
                del headers["Content-Type"]
            return {"body": value}
    return {"body": text}


def _is_plain(case: Any) -> bool:  # noqa: ANN401 - schemathesis'
    """Return whether a person would write such values: the library's simplest number over 0 is 5e-324."""
    return _has_no_placeholder(case) and not re.search(r"\de-", _to_json(case))


def _has_no_placeholder(case: Any) -> bool:  # noqa: ANN401 - schemathesis'
    return not re.search(r"\{[A-Za-z_]", _to_json(case))


def _to_json(case: Any) -> str:  # noqa: ANN401 - schemathesis'
    parts = (case.path_parameters, case.query, case.headers, case.cookies)
    return json.dumps([case.body, *(dict(part or {}) for part in parts)], default=str)
