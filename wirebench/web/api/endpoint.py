"""One address of the API: what it takes, what it answers, and how both come onto the wire."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from pydantic import TypeAdapter
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from wirebench.selection.parameters import Parameter, read
from wirebench.tables import MEDIA_TYPES
from wirebench.web.catalogue import Catalogue


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that was understood: the levels of its parameters, and of the header that says what it prefers."""

    catalogue: Catalogue
    run_id: str
    levels: Mapping[str, tuple[Any, ...]]
    accept: str

    def one(self, name: str) -> Any | None:  # noqa: ANN401 - as its parameter parses it
        """Return the level of a parameter that has one at most."""
        return next(iter(self.levels[name]), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One address. `answer` returns a value of the type `answers`, or a response that is ready: a table."""

    name: str
    path: str
    summary: str
    answer: Callable[[Asked], object]
    answers: Any
    parameters: tuple[Parameter, ...] = ()
    has_tables: bool = False

    def route(self) -> Route:
        """Return what starlette needs; GET and HEAD."""
        return Route(self.path, self.respond)

    def respond(self, request: Request) -> Response:
        """Answer a request. Raises ParameterError, HttpError and others that say why there is no answer."""
        asked = Asked(
            request.app.state.catalogue,
            request.path_params.get("run_id", ""),
            read(request.query_params.multi_items(), self.parameters),
            request.headers.get("accept", ""),
        )
        answer = self.answer(asked)
        if isinstance(answer, Response):
            return answer
        body = _adapter(self.answers).dump_json(answer)
        headers = {"etag": _etag(body)} | ({"vary": "Accept"} if self.has_tables else {})
        if headers["etag"] in _etags(request):
            return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
        return Response(body, headers=headers, media_type=MEDIA_TYPES["json"])


@functools.cache
def _adapter(answers: Any) -> TypeAdapter[Any]:  # noqa: ANN401 - any type
    """Return what writes a type: making it takes longer than writing an answer."""
    return TypeAdapter(answers)


def _etag(body: bytes) -> str:
    """Return the answer's tag: a weak one, as the answer may be compressed on its way."""
    return f'W/"{hashlib.blake2b(body, digest_size=16).hexdigest()}"'


def _etags(request: Request) -> set[str]:
    return {tag.strip() for tag in request.headers.get("if-none-match", "").split(",")}
