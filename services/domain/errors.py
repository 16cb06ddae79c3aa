"""The ways in which an operation ends: one set of codes for every transport."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

_IDS_SHOWN = 10


class Code(StrEnum):
    """How an operation ended; the value is the `code` label of the metrics."""

    OK = "ok"
    CANCELLED = "cancelled"
    INVALID_ARGUMENT = "invalid_argument"
    NOT_FOUND = "not_found"
    ALREADY_EXISTS = "already_exists"
    RESOURCE_EXHAUSTED = "resource_exhausted"
    UNIMPLEMENTED = "unimplemented"
    DEADLINE_EXCEEDED = "deadline_exceeded"
    UNAVAILABLE = "unavailable"
    INTERNAL = "internal"


#: gRPC carries a message percent-encoded in a header, of which clients take 8 KiB.
MESSAGE_CHARACTERS_MAX = 500


class OperationError(Exception):
    """An operation that was refused; `message` is for the client and part of the contract."""

    code: Code = Code.INTERNAL

    def __init__(self, message: str) -> None:
        # Messages may quote the client, whose words can be megabytes; wires carry them in headers.
        if len(message) > MESSAGE_CHARACTERS_MAX:
            message = message[: MESSAGE_CHARACTERS_MAX - 1] + "…"
        super().__init__(message)
        self.message = message


class InvalidArgument(OperationError):
    """The request can't be carried out whatever the state of the store."""

    code = Code.INVALID_ARGUMENT


class NotFound(OperationError):
    """What the request names isn't there."""

    code = Code.NOT_FOUND

    @classmethod
    def account(cls) -> NotFound:
        """Say that there is no such account."""
        return cls("Account not found.")

    @classmethod
    def user(cls) -> NotFound:
        """Say that there is no such user."""
        return cls("User not found.")


class AlreadyExists(OperationError):
    """What the request would create is there already."""

    code = Code.ALREADY_EXISTS

    @classmethod
    def users(cls, ids: Iterable[int]) -> AlreadyExists:
        """Name the ids that are taken; only the first of them, since a batch may hold thousands."""
        taken = sorted(ids)
        if len(taken) == 1:
            return cls(f"User with id {taken[0]} already exists.")
        shown = ", ".join(map(str, taken[:_IDS_SHOWN])) + (", …" if len(taken) > _IDS_SHOWN else "")
        return cls(f"Users with ids {shown} already exist.")


class Unavailable(OperationError):
    """What keeps the data can't be reached; the same request may succeed later."""

    code = Code.UNAVAILABLE


class Unimplemented(OperationError):
    """There is no such operation."""

    code = Code.UNIMPLEMENTED
