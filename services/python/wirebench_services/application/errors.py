"""How an operation can fail: the same codes and messages on every transport."""

from __future__ import annotations

import logging
from collections.abc import Iterable

#: gRPC carries a message percent-encoded in a header, of which clients accept 8 KiB.
MESSAGE_CHARACTERS_MAX = 500
#: What a client learns of an unexpected error; the log has the rest.
INTERNAL_MESSAGE = "Internal error."
_IDS_SHOWN = 10


class OperationError(Exception):
    """A failure that is reported to the client; `code` is the metrics' label."""

    def __init__(self, message: str, code: str) -> None:
        # A message may quote the client, whose text can be megabytes long.
        if len(message) > MESSAGE_CHARACTERS_MAX:
            message = message[: MESSAGE_CHARACTERS_MAX - 1] + "…"
        super().__init__(message)
        self.message = message
        self.code = code


def describe_error(error: Exception, operation: str) -> OperationError:
    """Return the error that the client gets; an unexpected one is logged."""
    if isinstance(error, OperationError):
        return error
    logging.getLogger(__name__).error("%s failed", operation, exc_info=error)
    return OperationError(INTERNAL_MESSAGE, "internal")


class InvalidArgument(OperationError):
    """The request is invalid, whatever the store holds."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "invalid_argument")


def make_users_exist(ids: Iterable[int]) -> OperationError:
    """Name the ids that are taken: only the first ten, because a batch may hold thousands."""
    taken = sorted(ids)
    if len(taken) == 1:
        return OperationError(f"User with id {taken[0]} already exists.", "already_exists")
    shown = ", ".join(map(str, taken[:_IDS_SHOWN])) + (", …" if len(taken) > _IDS_SHOWN else "")
    return OperationError(f"Users with ids {shown} already exist.", "already_exists")
