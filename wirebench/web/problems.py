"""What a request is refused with: one form for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

import orjson
from starlette.exceptions import HTTPException
from starlette.responses import Response

from wirebench.errors import UsageError, WirebenchError
from wirebench.index import IndexUnusableError
from wirebench.selection.parameters import ParameterError
from wirebench.web.render import render


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
        self.headers = headers or {}

    def within(self, folder: Path) -> HttpError:
        """Return the same, with files named from that folder on: where on the server it is concerns nobody else."""
        message, hint = (text.replace(f"{folder}/", "") for text in (self.message, self.hint))
        return HttpError(self.status, message, hint, parameter=self.parameter, headers=self.headers)


class UnavailableError(HttpError):
    """A request that may be answered later."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(HTTPStatus.SERVICE_UNAVAILABLE, message, hint, headers={"retry-after": _RETRY_AFTER_S})


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong, what to do next, and the parameter that it lies in, if it is one's."""

    message: str
    hint: str
    parameter: str | None


@dataclass(frozen=True, slots=True)
class Refusal:
    """The JSON of every refusal."""

    error: Problem


_RETRY_AFTER_S = "5"
#: The status of an answer by the kind of error, the first that fits.
_STATUSES: tuple[tuple[type[Exception], HTTPStatus], ...] = (
    (UsageError, HTTPStatus.BAD_REQUEST),
    (IndexUnusableError, HTTPStatus.SERVICE_UNAVAILABLE),
)


def as_problem(error: Exception) -> HttpError:
    """Say in our words what starlette and the rest of wirebench refuse, and that anything else has failed."""
    if isinstance(error, HttpError):
        return error
    if isinstance(error, HTTPException):
        return _by_starlette(error)
    status = next((status for kind, status in _STATUSES if isinstance(error, kind)), HTTPStatus.INTERNAL_SERVER_ERROR)
    if not isinstance(error, WirebenchError):
        return HttpError(status, "the server failed", "its terminal says how")
    parameter = error.parameter if isinstance(error, ParameterError) else None
    headers = {"retry-after": _RETRY_AFTER_S} if status == HTTPStatus.SERVICE_UNAVAILABLE else None
    return HttpError(status, error.message, error.hint, parameter=parameter, headers=headers)


def _by_starlette(error: HTTPException) -> HttpError:
    if error.status_code == HTTPStatus.NOT_FOUND:
        return HttpError(
            HTTPStatus.NOT_FOUND,
            "nothing is at this address",
            "/ has all results; /api/v1/openapi.json lists what programs can ask for",
        )
    return HttpError(HTTPStatus(error.status_code), error.detail, headers=error.headers)


def answer(path: str, problem: HttpError) -> Response:
    """Return the answer to a request for that path: JSON in the API, else a page."""
    if path.startswith("/api/"):
        refusal = Refusal(Problem(problem.message, problem.hint, problem.parameter))
        return Response(orjson.dumps(refusal), problem.status, problem.headers, media_type="application/json")
    return render("error.html.j2", problem.status, headers=problem.headers, problem=problem)
