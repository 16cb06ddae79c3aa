"""Calls: requests of the socket protocol, from the bytes that arrived to the bytes of the reply, counted."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Any

from wirebench_services import metrics
from wirebench_services.application import echo
from wirebench_services.application.errors import InvalidArgument, OperationError
from wirebench_services.application.ledger import StreamQuery, Transaction, parse_account_id, parse_stream
from wirebench_services.application.users import (
    Fields,
    check_names,
    parse_batch,
    parse_id,
    parse_page,
    parse_update,
    parse_user,
)
from wirebench_services.encoding import OPERATIONS, from_json, from_message, parse_message, to_fields, to_json
from wirebench_services.socket.frame import Request, build_item, build_reply

CANCEL = "cancel"
STREAM = "ledger.stream_transactions"
#: Per connection, as many as HTTP/2 recommends to allow (RFC 9113, 6.5.2).
STREAMS_MAX = 100


class Cancelled(OperationError):
    """The client has cancelled the stream."""

    code = "cancelled"

    def __init__(self) -> None:
        super().__init__("The stream was cancelled.")


class Unimplemented(OperationError):
    """The request names no operation."""

    code = "unimplemented"


def _create_user(store: Any, fields: Fields) -> Any:  # noqa: ANN401
    check_names(fields, "user")
    return store.add_user(parse_user(fields.get("user") or {}))


#: Each calls a method of the store, and returns what that returns: a value, or of an AsyncStore something to await.
HANDLERS: dict[str, Callable[[Any, Fields], Any]] = {
    "users.create": _create_user,
    "users.get": lambda store, fields: store.get_user(parse_id(fields)),
    "users.update": lambda store, fields: store.change_user(*parse_update(fields)),
    "users.delete": lambda store, fields: store.remove_user(parse_id(fields)),
    "users.list": lambda store, fields: store.list_users(*parse_page(fields)),
    "users.create_batch": lambda store, fields: store.add_users(parse_batch(fields)),
    "ledger.get_balance": lambda store, fields: store.get_balance(parse_account_id(fields)),
    "echo.echo": lambda _, fields: echo.echo(fields),
    "echo.upper": lambda _, fields: echo.upper(fields),
}


class Call:
    """A request that has been read; with `error`, one that can't be carried out."""

    def __init__(self, request: Request, *, is_protobuf: bool = False, error: OperationError | None = None) -> None:
        self._begun_s = time.perf_counter()
        _, self.id, method, self._body = request
        self._error = error
        self.method = method.decode("ascii", "backslashreplace")
        self._is_protobuf = is_protobuf
        self._sent_bytes = 0

    def start(self, store: Any) -> Any:  # noqa: ANN401
        """Return what the handler returns. Raises OperationError."""
        if self._error is not None:
            raise self._error
        handle = HANDLERS.get(self.method)
        if handle is None:
            raise Unimplemented(f"Unknown method: {self.method}.")
        return handle(store, self._parse_fields())

    def parse_query(self) -> StreamQuery:
        """Return what a stream is asked for. Raises InvalidArgument."""
        return parse_stream(self._parse_fields())

    def succeed(self, value: Any) -> bytes:  # noqa: ANN401
        """Return the reply that carries the value."""
        body = self._encode(value)
        reply = build_reply(self.id, "ok", OPERATIONS[self.method].success, body)
        self._count("ok", len(body))
        return reply

    def fail(self, error: Exception) -> bytes:
        """Return the reply, or the end mark of the stream, that names the error."""
        if isinstance(error, OperationError):
            code, message = error.code, error.message
        else:
            logging.getLogger(__name__).error("%s failed", self.method, exc_info=error)
            code, message = "internal", "Internal error."
        self._count(code, self._sent_bytes)
        return self._build_failure(code, message)

    def build_items(self, transactions: Sequence[Transaction]) -> bytes:
        """Return the frames of a stream's next items."""
        bodies = [self._encode(transaction) for transaction in transactions]
        self._sent_bytes += sum(map(len, bodies))
        return b"".join(build_item(self.id, body) for body in bodies)

    def end_stream(self) -> bytes:
        """Return the end mark of a stream that has no more items."""
        self._count("ok", self._sent_bytes)
        return build_reply(self.id, "ok", "", b"")

    def _build_failure(self, code: str, message: str) -> bytes:
        return build_reply(self.id, code, message, b"")

    def _parse_fields(self) -> Fields:
        if self._is_protobuf:
            return from_message(parse_message(OPERATIONS[self.method].request, self._body))
        return from_json(self._body)

    def _encode(self, value: Any) -> bytes:  # noqa: ANN401
        fields = to_fields(value)
        if self._is_protobuf:
            response: Any = OPERATIONS[self.method].response
            encoded: bytes = response(data=fields).SerializeToString()
            return encoded
        return to_json(fields)

    def _count(self, code: str, response_bytes: int) -> None:
        operation = self.method if self.method in OPERATIONS else metrics.UNKNOWN
        duration_s = time.perf_counter() - self._begun_s
        metrics.count_request("socket", operation, code, duration_s, len(self._body), response_bytes)


class Line(Call):
    """A line in line mode: echo.upper for people at a terminal."""

    def __init__(self, text: str, error: OperationError | None = None) -> None:
        super().__init__(Request(0, 0, b"echo.upper", text.encode()), error=error)

    def start(self, store: Any) -> Any:  # noqa: ANN401, ARG002
        """Return the line in upper case; unlike the operation's text it may be empty."""
        if self._error is not None:
            raise self._error
        return self._body.decode().upper()

    def succeed(self, value: Any) -> bytes:  # noqa: ANN401
        """Return the value as a line."""
        reply = f"{value}\n".encode()
        # The exporter's probes are no requests.
        if self._body != b"health":
            self._count("ok", len(reply))
        return reply

    def _build_failure(self, code: str, message: str) -> bytes:  # noqa: ARG002
        return f"ERROR: {message}\n".encode()
