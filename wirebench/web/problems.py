"""Error responses: one form for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

import orjson
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response

from wirebench.errors import UsageError, WirebenchError
from wirebench.store.database import IndexUnusableError
from wirebench.store.query import ParameterError
from wirebench.store.store import FolderMissingError, RunMissingError
from wirebench.web.render import render_template

_RETRY_AFTER_S = "5"


class HttpError(WirebenchError):
    """A request that can't be answered as it was asked: why, with which parameter, and what to do next."""

    def __init__(
        self,
        status: HTTPStatus,
        message: str,
        hint: str = "",
        *,
        parameter: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message, hint)
        self.status = status
        self.parameter = parameter
        retry = {"retry-after": _RETRY_AFTER_S} if status == HTTPStatus.SERVICE_UNAVAILABLE else {}
        self.headers = {**retry, **(headers or {})}


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong, what to do next, and the parameter that it lies in, if it is one's."""

    message: str
    hint: str
    parameter: str | None


@dataclass(frozen=True, slots=True)
class ErrorResponse:
    """The JSON of every error response."""

    error: Problem


def make_problem(error: Exception) -> HttpError:
    """Describe errors of starlette and wirebench in our form; anything else is a server error."""
    if isinstance(error, HttpError):
        return error
    if isinstance(error, HTTPException):
        if error.status_code != HTTPStatus.NOT_FOUND:
            return HttpError(HTTPStatus(error.status_code), error.detail, headers=error.headers)
        hint = "/ has all results; /api/v1/openapi.json lists what programs can ask for"
        return HttpError(HTTPStatus.NOT_FOUND, "nothing is at this address", hint)
    if not isinstance(error, WirebenchError):
        return HttpError(HTTPStatus.INTERNAL_SERVER_ERROR, "the server failed", "its terminal says how")
    status = HTTPStatus.INTERNAL_SERVER_ERROR
    if isinstance(error, UsageError):
        status = HTTPStatus.BAD_REQUEST
    elif isinstance(error, RunMissingError):
        status = HTTPStatus.NOT_FOUND
    elif isinstance(error, IndexUnusableError | FolderMissingError):
        status = HTTPStatus.SERVICE_UNAVAILABLE
    parameter = error.parameter if isinstance(error, ParameterError) else None
    return HttpError(status, error.message, error.hint, parameter=parameter)


def answer_problem(path: str, problem: HttpError) -> Response:
    """Return the answer to a request for that path: JSON in the API, else a page."""
    if path.startswith("/api/"):
        response = ErrorResponse(Problem(problem.message, problem.hint, problem.parameter))
        return Response(orjson.dumps(response), problem.status, problem.headers, media_type="application/json")
    return HTMLResponse(render_template("error.html.j2", problem=problem), problem.status, problem.headers)
