"""Requests and replies of a connection, for both servers."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Any

from wirebench_services import metrics
from wirebench_services.application import echo, ledger, users
from wirebench_services.application.errors import OperationError, Unimplemented
from wirebench_services.application.ledger import StreamQuery, Transaction
from wirebench_services.application.users import Fields
from wirebench_services.encoding import OPERATIONS, Value, from_json, from_message, parse_message, to_fields, to_json
from wirebench_services.settings import SocketSettings
from wirebench_services.socket import frame
from wirebench_services.socket.frame import FrameError, Request

CANCEL, STREAM = "cancel", "ledger.stream_transactions"


def _create_user(store: Any, fields: Fields) -> Any:  # noqa: ANN401
    users.check_names(fields, "user")
    return store.add_user(users.parse_user(fields.get("user") or {}))


#: Each returns what the store's method returns: a value or, of an AsyncStore, a coroutine.
HANDLERS: dict[str, Callable[[Any, Fields], Any]] = {
    "users.create": _create_user,
    "users.get": lambda store, fields: store.get_user(users.parse_id(fields)),
    "users.update": lambda store, fields: store.change_user(*users.parse_update(fields)),
    "users.delete": lambda store, fields: store.remove_user(users.parse_id(fields)),
    "users.list": lambda store, fields: store.list_users(*users.parse_page(fields)),
    "users.create_batch": lambda store, fields: store.add_users(users.parse_batch(fields)),
    "ledger.get_balance": lambda store, fields: store.get_balance(ledger.parse_account_id(fields)),
    "echo.echo": lambda _, fields: echo.echo(fields),
    "echo.upper": lambda _, fields: echo.upper(fields),
}


class Call:
    """A request, from its frame to its reply."""

    def __init__(self, request: Request, encoding: str, broken: FrameError | None = None) -> None:
        self.begun_s = time.perf_counter()
        _, self.id, self.method, self._body = request
        self._encoding = encoding
        self._broken = broken

    def handle(self, store: Any) -> Any:  # noqa: ANN401
        """Return the operation's value or, of an AsyncStore, a coroutine. Raises OperationError."""
        if self._broken:
            raise self._broken
        if self._encoding == "lines":
            return echo.Text(self._body.decode().upper())
        handle = HANDLERS.get(self.method)
        if handle is None:
            raise Unimplemented(f"Unknown method: {self.method}.")
        return handle(store, self._parse_fields())

    def parse_stream(self) -> StreamQuery:
        """Return the query of a stream. Raises InvalidArgument."""
        return ledger.parse_stream(self._parse_fields())

    def succeed(self, value: Value) -> bytes:
        """Return the reply with the operation's value."""
        return self.finish("ok", OPERATIONS[self.method].success, self._encode(value))

    def fail(self, error: Exception) -> bytes:
        """Return the reply to a call that failed, or the end mark of a stream that did; log unexpected errors."""
        if isinstance(error, OperationError):
            return self.finish(error.code, error.message)
        logging.getLogger(__name__).error("An operation failed", exc_info=error)
        return self.finish("internal", "Internal error.")

    def build_items(self, transactions: Sequence[Transaction]) -> bytes:
        """Return the frames of a stream's next items."""
        return b"".join([frame.build_reply(self.id, "ok", "", self._encode(each), frame.MORE) for each in transactions])

    def finish(self, code: str, message: str, body: bytes = b"") -> bytes:
        """Return the reply, or the end mark of a stream, and count the call."""
        is_line = self._encoding == "lines"
        if not (is_line and self._body == b"health"):  # the admin port's probe is no request
            operation = self.method if self.method in OPERATIONS else metrics.UNKNOWN
            metrics.count_request("socket", operation, code, time.perf_counter() - self.begun_s)
        if is_line:
            return body + b"\n" if code == "ok" else f"ERROR: {message}\n".encode()
        return frame.build_reply(self.id, code, message, body)

    def _parse_fields(self) -> Fields:
        if self._encoding == "json":
            return from_json(self._body)
        return from_message(parse_message(OPERATIONS[self.method].request, self._body))

    def _encode(self, value: Value) -> bytes:
        fields = to_fields(value)
        if self._encoding == "json":
            return to_json(fields)
        if self._encoding == "lines":
            return bytes(fields["text"].encode())
        return bytes(OPERATIONS[self.method].response(data=fields).SerializeToString())


def choose_sweep_s(settings: SocketSettings) -> float:
    """Return how often a server looks for connections over a timeout, which costs less than a timer per request."""
    return min(1.0, settings.read_timeout_s / 4, settings.idle_timeout_s / 4)


class Conversation:
    """What a client has sent and isn't parsed yet, and the deadline for the rest."""

    def __init__(self, settings: SocketSettings) -> None:
        self._settings = settings
        self._data = bytearray()
        #: json or protobuf for frames, or lines; not known before the first bytes.
        self._encoding = ""
        #: Whether the client has closed its side, or sent something after which nothing can be parsed.
        self.has_ended = False
        self.restart_clock()

    @property
    def is_between_requests(self) -> bool:
        return not self._data

    @property
    def deadline_s(self) -> float:
        """When the client must have sent the rest of a request, or the next one."""
        is_half_way = self._data or not self._encoding
        return self._since_s + (self._settings.read_timeout_s if is_half_way else self._settings.idle_timeout_s)

    def restart_clock(self) -> None:
        """Start the client's timeout again."""
        self._since_s = time.perf_counter()

    def feed(self, data: bytes) -> None:
        """Add what the client sent; empty data means that it has closed its side."""
        if not data:
            self.has_ended = True
        elif not self.has_ended:
            if not self._data:
                self.restart_clock()
            self._data += data

    def stop(self) -> None:
        """Discard what the client has sent and will send."""
        self._data.clear()
        self.has_ended = True

    def next_call(self) -> Call | None:
        """Return the next call, or None if it isn't complete; one that can't be parsed is the last."""
        if not (self._data and (self._encoding or self._read_preface())):
            return None
        try:
            if self._encoding == "lines":
                request = frame.parse_line(self._data, has_ended=self.has_ended)
            else:
                request = frame.parse_request(self._data, self._settings.body_bytes_max)
        except FrameError as error:
            self.stop()
            return Call(Request(0, error.request_id, "", b""), self._encoding, error)
        if request is None:
            return None
        del self._data[: request.size]
        call = Call(request, self._encoding)
        self._since_s = call.begun_s
        return call

    def _read_preface(self) -> bool:
        """Determine the encoding. Return False if more bytes are needed."""
        start = bytes(self._data[: frame.PREFACE_BYTES])
        if start in frame.PREFACES:
            self._encoding = frame.PREFACES[start]
            del self._data[: frame.PREFACE_BYTES]
            self.restart_clock()
        elif self.has_ended or not any(preface.startswith(start) for preface in frame.PREFACES):
            self._encoding = "lines"
        return bool(self._encoding)
