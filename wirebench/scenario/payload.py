"""How large what an operation sends, or asks for, is."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator

from wirebench.scenario.contract import Operation

PayloadName = Literal["small", "profile", "list", "batch", "512k"]

#: What a payload of base64 in JSON may come to under the services' limit of 4 MiB.
BYTES_MAX = 3_000_000
USERS_MAX = 10_000

_NAMES: tuple[PayloadName, ...] = get_args(PayloadName)
_SIZES: dict[str, int] = {"list": 500, "batch": 500, "512k": 524_288}
_TAKING: dict[str, frozenset[Operation]] = {
    "small": frozenset({"users.create", "users.update", "users.create_batch"}),
    "profile": frozenset({"users.create", "users.update", "users.create_batch"}),
    "list": frozenset({"users.list"}),
    "batch": frozenset({"users.create_batch"}),
    "512k": frozenset({"echo.echo", "echo.upper"}),
}
_BYTES = _TAKING["512k"]
_USERS = frozenset({*_TAKING["list"], *_TAKING["batch"]})


def _known(value: Any) -> Any:  # noqa: ANN401 - untrusted
    if value in _NAMES or (isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= BYTES_MAX):
        return value
    raise ValueError(f"must be one of {', '.join(_NAMES)}, or a number of bytes or users up to {BYTES_MAX:,}")


Payload = Annotated[str | int, BeforeValidator(_known)]


def takes(operation: str, payload: str | int) -> bool:
    """Say whether an operation can have such a payload; a number is bytes of an echo, or users of a list or batch."""
    if isinstance(payload, int):
        return operation in _BYTES or (operation in _USERS and payload <= USERS_MAX)
    return operation in _TAKING[payload]


def size(operation: str, payload: str | int | None) -> int | None:
    """Return how many bytes an echo carries, or how many users a list or batch has; None where it is the default."""
    if payload is None or operation not in _BYTES | _USERS or not takes(operation, payload):
        return None
    return payload if isinstance(payload, int) else _SIZES.get(payload)
