"""One address of the API: what it takes, what it answers, and how both come onto the wire."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter
from starlette.requests import Request
from starlette.responses import Response

from wirebench.store.query import Query
from wirebench.store.store import Store

_Query = TypeVar("_Query", bound=Query)
_adapt = functools.cache(TypeAdapter)  # making one takes longer than writing an answer


@dataclass(frozen=True, slots=True)
class ApiRequest(Generic[_Query]):
    """A request whose parameters are valid."""

    store: Store
    run_id: str
    query: _Query


@dataclass(frozen=True, slots=True)
class ApiEndpoint:
    """One address. `answer` returns a value of the type `answers`; its docstring is the summary in the description."""

    path: str
    answer: Callable[[ApiRequest[Any]], object]
    answers: Any
    query: type[Query] = Query

    def respond(self, request: Request) -> Response:
        """Answer a request. Raises ParameterError, HttpError and others that say why there is no answer."""
        answer = self.answer(
            ApiRequest(
                request.app.state.store,
                request.path_params.get("run_id", ""),
                self.query.read(request.query_params.multi_items()),
            )
        )
        return Response(_adapt(self.answers).dump_json(answer), media_type="application/json")
