"""Outcomes of requests in the words of docs/histogram-file.md; k6's output has the same tables."""

from __future__ import annotations

from wirebench.drivers.histogram_file import OK

UNKNOWN = "unknown"
UNAVAILABLE = "unavailable"
DEADLINE_EXCEEDED = "deadline_exceeded"

_HTTP = {
    400: "invalid_argument",
    404: "not_found",
    405: "unimplemented",
    409: "already_exists",
    413: "resource_exhausted",
    415: "invalid_argument",
    500: "internal",
    503: UNAVAILABLE,
}

#: By the names that grpc-go gives its codes.
_GRPC = {
    "OK": OK,
    "Canceled": "cancelled",
    "InvalidArgument": "invalid_argument",
    "DeadlineExceeded": DEADLINE_EXCEEDED,
    "NotFound": "not_found",
    "AlreadyExists": "already_exists",
    "ResourceExhausted": "resource_exhausted",
    "Unimplemented": "unimplemented",
    "Internal": "internal",
    "Unavailable": UNAVAILABLE,
}


def of_http(status: int) -> str:
    """Return the outcome of a request that was answered with this status."""
    return OK if status // 100 == 2 else _HTTP.get(status, UNKNOWN)  # noqa: PLR2004 - 2xx


def of_grpc(name: str) -> str:
    """Return the outcome of a call that ended with the code of this name."""
    return _GRPC.get(name, UNKNOWN)
