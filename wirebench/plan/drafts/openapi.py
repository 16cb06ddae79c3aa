"""Requests that satisfy an OpenAPI document, with example values by schemathesis.

It knows OpenAPI 3.0 and 3.1 and Swagger 2.0, references between files, encodings of forms and parameters, patterns and
limits. It is an optional dependency: wirebench[openapi].
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib.util
import itertools
import json
import os
import re
import resource
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from wirebench.errors import UsageError
from wirebench.plan.drafts.files import Draft, check_named, to_snake_case
from wirebench.system import processes

#: What a document may take, whatever it refers to: time, that of each draft, and memory.
_TIMEOUT_S, _DRAFT_TIMEOUT_S, _BYTES_MAX = 60.0, 15.0, 2 * 2**30
_ENVIRONMENT = {"no_proxy": "*", "HYPOTHESIS_STORAGE_DIRECTORY": os.devnull}
#: Headers of a request that are the driver's, or the generator's own.
_NOT_OURS = ("accept", "accept-encoding", "connection", "content-length", "user-agent", "x-schemathesis-testcaseid")
#: Bodies that can be written into a file.
_WRITABLE = re.compile(r"text/|application/(x-www-form-urlencoded|(.+\+)?(json|xml|yaml))")
#: Values that a person would not write, such as braces and 5e-324: with empty texts, and if there is nothing else.
_UNLIKELY = (r"\{[A-Za-z_]|\de-|\.NotSet|\"\"", r"\{[A-Za-z_]|\de-|\.NotSet")
_CREDENTIALS = "It needs credentials: headers: {Authorization: 'Bearer ${TOKEN}'}, or what the document says."


class Document(NamedTuple):
    """What an OpenAPI document has."""

    title: str
    #: Requests, such as `GET /items/{id}`, and why one can't be measured, or an empty text.
    requests: dict[str, str]
    #: What was drafted of them.
    drafts: dict[str, Draft]

    def find_draft(self, request: str) -> Draft:
        """Return the draft of a request. Raises UsageError if it isn't there, or can't be measured."""
        check_named(request, self.requests, "request")
        return self.drafts[request]


def read_document(source: str, wanted: Sequence[str]) -> Document:
    """Read a document from a file or a URL, and draft the requests that are wanted. Raises UsageError.

    A process of its own has limits: what a document refers to may be endless, and so may its patterns.
    """
    if not importlib.util.find_spec("schemathesis"):
        hint = "make setup-openapi, or pip install 'wirebench[openapi]'"
        raise UsageError("reading OpenAPI needs schemathesis, which isn't installed", hint)
    # Neither its modules nor its proxies are those of the place where the user happens to be.
    arguments = [sys.executable, "-P", "-m", __name__, source, *wanted]
    timeout_s = _TIMEOUT_S + _DRAFT_TIMEOUT_S * len(wanted)
    try:
        title, requests, drafts = json.loads(processes.run("schemathesis", arguments, timeout_s, "", _ENVIRONMENT))
    except processes.ProcessError as error:
        reason = error.details.rpartition("\n")[2] or f"{source}: {error.message}"
        raise UsageError(reason, "correct the document, or write this request by hand") from None
    return Document(title, requests, {label: Draft(**each) for label, each in drafts.items()})


def _read(source: str, wanted: Sequence[str]) -> tuple[str, dict[str, str], dict[str, Any]]:
    """Return what `Document` has, as JSON, or exit with the mistake that stopped schemathesis."""
    with contextlib.suppress(ValueError):  # a lower limit stays
        resource.setrlimit(resource.RLIMIT_AS, (_BYTES_MAX, _BYTES_MAX))
    operations, requests, drafts, place = {}, {}, {}, source
    try:
        from schemathesis import openapi
        from schemathesis.config import SchemathesisConfig
        from schemathesis.core.result import Ok

        schema = (openapi.from_url if "://" in source else openapi.from_path)(source, config=SchemathesisConfig())
        schema.config.generation.update(with_security_parameters=False)
        for result in schema.get_all_operations():
            if isinstance(result, Ok):
                operation = result.ok()
                operations[operation.label] = operation
                media = [each.media_type for each in operation.body if not _choose_media(operation)]
                requests[operation.label] = f"it sends {media[0]}: no JSON, form or text" if media else ""
            else:
                problem = result.err()
                requests[f"{(problem.method or '?').upper()} {problem.path}"] = " ".join(str(problem).split())[:200]
        for place in wanted:
            if requests.get(place) == "":
                drafts[place] = dataclasses.asdict(_draft(operations[place], schema))
        return str(schema.title or ""), requests, drafts
    except Exception as error:  # noqa: BLE001 - the library's checks, and what it didn't expect of a document
        sys.exit(f"{place}: {' '.join(str(error).split())[:300] or type(error).__name__}")


def _choose_media(operation: Any) -> str | None:  # noqa: ANN401 - schemathesis'
    """Return a type of its body that can be written into a file, JSON first; None if there is none."""
    types = (each.media_type for each in operation.body if _WRITABLE.match(each.media_type))
    return min(types, key=lambda each: "json" not in each, default=None)


def _draft(operation: Any, schema: Any) -> Draft:  # noqa: ANN401 - schemathesis'
    import requests

    case, described = _find_case(operation), operation.definition.raw
    responses = described.get("responses", {})
    draft = Draft(
        to_snake_case(str(described.get("operationId") or operation.label)),
        operation.label,
        writes=operation.method.upper() != "GET",
        stream=any("text/event-stream" in (each.get("content") or {}) for each in responses.values()),
        inputs=_insert_inputs(case),
    )
    if described.get("security", schema.raw_schema.get("security")):
        draft.notes.append(_CREDENTIALS)
    sent = case.as_transport_kwargs(base_url=f"http://service{schema.base_path.rstrip('/')}")
    known = ("method", "url", "params", "headers", "cookies", "json", "data")
    prepared = requests.Request(**{name: sent[name] for name in known if sent.get(name) is not None}).prepare()
    path = re.sub(r"%7B(\w+)%7D", r"{\1}", prepared.path_url)
    headers = {name: str(value) for name, value in prepared.headers.items() if name.lower() not in _NOT_OURS}
    draft.rest = {"request": f"{prepared.method} {path}"}
    if is_json := isinstance(sent.get("json"), dict | list):
        draft.rest["body"] = sent["json"]
    elif prepared.body:
        draft.rest["body"] = prepared.body.decode() if isinstance(prepared.body, bytes) else prepared.body
    if not prepared.body or (is_json and headers["Content-Type"] == "application/json"):
        headers.pop("Content-Type", None)
    if headers:
        draft.rest["headers"] = headers
    statuses = (int(each) for each in map(str, responses) if each.isdigit() and each.startswith("2"))
    if (status := next(statuses, 200)) != 200:  # noqa: PLR2004 - what is expected anyway
        draft.rest["expect"] = {"status": status}
    return draft


def _find_case(operation: Any) -> Any:  # noqa: ANN401 - schemathesis'
    """Return the simplest request that is valid, with the examples of the document where it has some."""
    import hypothesis
    from schemathesis import GenerationMode

    phases = (hypothesis.Phase.generate, hypothesis.Phase.shrink)
    settings = hypothesis.settings(derandomize=True, database=None, max_examples=200, deadline=None, phases=phases)
    strategies = operation.get_strategies_from_examples()[:1]
    strategies.append(operation.as_strategy(generation_mode=GenerationMode.POSITIVE))
    for unlikely, strategy in itertools.product(_UNLIKELY, strategies):
        is_likely = functools.partial(_is_likely, media=_choose_media(operation), unlikely=unlikely)
        with contextlib.suppress(hypothesis.errors.NoSuchExample, hypothesis.errors.Unsatisfiable):
            return hypothesis.find(strategy, is_likely, settings=settings)
    raise ValueError("found no values that satisfy its schema")


def _is_likely(case: Any, media: str | None, unlikely: str) -> bool:  # noqa: ANN401 - schemathesis'
    parts = (case.path_parameters, case.query, case.headers, case.cookies)
    text = json.dumps([media and case.body, *(dict(part or {}) for part in parts)], default=str)
    return case.media_type == media and not re.search(unlikely, text)


def _insert_inputs(case: Any) -> dict[str, Any]:  # noqa: ANN401 - schemathesis'
    """Put placeholders into the path for parameters that are single values; return these by their names."""
    inputs = {}
    for name, value in (case.path_parameters or {}).items():
        plain = unquote(str(value))
        if quote(plain, safe="") == str(value) and not isinstance(value, bool):
            inputs[to_snake_case(name)] = value if isinstance(value, int) else plain
            case.path_parameters[name] = f"{{{to_snake_case(name)}}}"
    return inputs


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_read(sys.argv[1], sys.argv[2:])))
