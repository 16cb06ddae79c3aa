"""Requests that satisfy an OpenAPI document, with example values by schemathesis.

It knows OpenAPI 3.0 and 3.1 and Swagger 2.0, references between files, encodings of forms and parameters, patterns and
limits. It is an optional dependency: wirebench[openapi].
"""

from __future__ import annotations

import contextlib
import json
import re
import tempfile
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, unquote

from wirebench.errors import UsageError
from wirebench.plan.drafts.files import Draft, check_named, to_snake_case

#: Headers of a request that are the driver's, or the generator's own.
_NOT_OURS = ("accept", "accept-encoding", "connection", "content-length", "user-agent", "x-schemathesis-testcaseid")
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS", "TRACE")
_CREDENTIALS = "It needs credentials: headers: {Authorization: 'Bearer ${TOKEN}'}, or what the document says."


class Document:
    """An OpenAPI document, from a file or a URL."""

    def __init__(self, source: str) -> None:
        """Read it, with the files that it refers to. Raises UsageError."""
        try:
            import schemathesis
        except ImportError:
            hint = "make setup-openapi, or pip install 'wirebench[openapi]'"
            raise UsageError("reading OpenAPI needs schemathesis, which isn't installed", hint) from None
        #: Requests, such as `GET /items/{id}`, and why one can't be measured, or an empty text.
        self.requests: dict[str, str] = {}
        self._operations: dict[str, Any] = {}
        with _explained(source):
            if "://" in source:
                self._schema = schemathesis.openapi.from_url(source, proxies={"no_proxy": "*"})
            else:
                self._schema = schemathesis.openapi.from_path(source)
            self._schema.config.generation.update(with_security_parameters=False)
            self._read_operations()
            self.title = self._schema.title or ""

    def _read_operations(self) -> None:
        from schemathesis.core.result import Ok

        for result in self._schema.get_all_operations():
            if isinstance(result, Ok):
                operation = result.ok()
                types = operation.get_request_payload_content_types()
                uploads = types and all(each.startswith("multipart/") for each in types)
                self.requests[operation.label] = "it uploads files (multipart/form-data)" if uploads else ""
                self._operations[operation.label] = operation
            else:
                problem = result.err()
                label = f"{(problem.method or '?').upper()} {problem.path}"
                self.requests[label] = " ".join(str(problem).split())[:200]

    def draft(self, label: str) -> Draft:
        """Draft one of the requests. Raises UsageError if it isn't there or can't be measured."""
        check_named(label, self.requests, "request")
        with _explained(label):
            return self._draft_case(self._operations[label], _find_case(self._operations[label]))

    def _draft_case(self, operation: Any, case: Any) -> Draft:  # noqa: ANN401 - schemathesis'
        import requests

        described, responses = operation.definition.raw, operation.definition.raw.get("responses", {})
        draft = Draft(
            to_snake_case(described.get("operationId") or operation.label),
            operation.label,
            writes=operation.method.upper() not in _SAFE_METHODS,
            stream=any("text/event-stream" in (each.get("content") or {}) for each in responses.values()),
            inputs=_insert_inputs(case),
        )
        if described.get("security", self._schema.raw_schema.get("security")):
            draft.notes.append(_CREDENTIALS)
        sent = case.as_transport_kwargs(base_url=f"http://service{self._schema.base_path.rstrip('/')}")
        known = ("method", "url", "params", "headers", "cookies", "json", "data")
        prepared = requests.Request(**{name: sent[name] for name in known if sent.get(name) is not None}).prepare()
        path = re.sub(r"%7B(\w+)%7D", r"{\1}", prepared.path_url)
        headers = {name: str(value) for name, value in prepared.headers.items() if name.lower() not in _NOT_OURS}
        draft.rest = {"request": f"{prepared.method} {path}", **_read_body(prepared.body, headers)}
        if headers:
            draft.rest["headers"] = headers
        statuses = (int(each) for each in map(str, responses) if each.isdigit() and each.startswith("2"))
        if (status := next(statuses, 200)) != 200:  # noqa: PLR2004 - what is expected anyway
            draft.rest["expect"] = {"status": status}
        return draft


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


def _find_case(operation: Any) -> Any:  # noqa: ANN401 - schemathesis'
    """Return the simplest request that is valid, with the examples of the document where it has some."""
    import hypothesis
    from schemathesis import GenerationMode

    phases = (hypothesis.Phase.generate, hypothesis.Phase.shrink)
    settings = hypothesis.settings(derandomize=True, database=None, max_examples=200, deadline=None, phases=phases)
    strategies = operation.get_strategies_from_examples()[:1]
    strategies.append(operation.as_strategy(generation_mode=GenerationMode.POSITIVE))
    with tempfile.TemporaryDirectory(prefix="wirebench-") as folder:
        hypothesis.configuration.set_hypothesis_home_dir(folder)
        for strategy in strategies:
            with contextlib.suppress(hypothesis.errors.NoSuchExample):
                return hypothesis.find(strategy, _is_plain, settings=settings)
    raise UsageError(f"{operation.label}: found no values that satisfy its schema", "write this request by hand")


def _is_plain(case: Any) -> bool:  # noqa: ANN401 - schemathesis'
    """Return whether a person would write such values, without braces: the simplest number over 0 is 5e-324."""
    parts = (case.path_parameters, case.query, case.headers, case.cookies)
    text = json.dumps([case.body, *(dict(part or {}) for part in parts)], default=str)
    return not re.search(r"\{[A-Za-z_]|\de-", text)


def _insert_inputs(case: Any) -> dict[str, Any]:  # noqa: ANN401 - schemathesis'
    """Put placeholders into the path for parameters that are single values; return these by their names."""
    inputs = {}
    for name, value in (case.path_parameters or {}).items():
        plain = unquote(str(value))
        if quote(plain, safe="") == str(value) and not isinstance(value, bool):
            inputs[to_snake_case(name)] = value if isinstance(value, int) else plain
            case.path_parameters[name] = f"{{{to_snake_case(name)}}}"
    return inputs


def _read_body(body: Any, headers: dict[str, str]) -> dict[str, Any]:  # noqa: ANN401 - bytes or a text, if any
    """Return a request's body: objects and lists of JSON as they are, anything else as text."""
    if not body:
        headers.pop("Content-Type", None)
        return {}
    text = body.decode() if isinstance(body, bytes) else body
    if "json" in headers.get("Content-Type", "") and isinstance(value := json.loads(text), dict | list):
        if headers["Content-Type"] == "application/json":
            del headers["Content-Type"]
        return {"body": value}
    return {"body": text}
