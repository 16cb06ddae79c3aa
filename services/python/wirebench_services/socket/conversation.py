"""What is said on a connection, the same for both servers: requests that come in, and the replies to them."""

from __future__ import annotations

import inspect
import logging
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from wirebench_services import metrics
from wirebench_services.application import echo, users
from wirebench_services.application.errors import OperationError
from wirebench_services.application.ledger import StreamQuery, Transaction, parse_account_id, parse_stream
from wirebench_services.application.users import Fields, parse_batch, parse_id, parse_page, parse_update
from wirebench_services.encoding import OPERATIONS, Value, from_json, from_message, parse_message, to_fields, to_json
from wirebench_services.settings import SocketSettings
from wirebench_services.socket import frame
from wirebench_services.socket.frame import FrameError, Request

_CANCEL, _STREAM = "cancel", "ledger.stream_transactions"
#: Per connection, as many as HTTP/2 recommends to allow (RFC 9113, 6.5.2).
_STREAMS_MAX = 100

CANCELLED = "cancelled", "The stream was cancelled."
STOPPING = "unavailable", "The service is stopping."


def _create_user(store: Any, fields: Fields) -> Any:  # noqa: ANN401
    users.check_names(fields, "user")
    return store.add_user(users.parse_user(fields.get("user") or {}))


#: Each returns what the store's method returns: a value or, of an AsyncStore, a coroutine.
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


def describe_error(error: Exception) -> tuple[str, str]:
    """Return the code and the message for the client; what isn't an OperationError is logged."""
    if isinstance(error, OperationError):
        return error.code, error.message
    logging.getLogger(__name__).error("An operation failed", exc_info=error)
    return "internal", "Internal error."


class Call:
    """A request, from its frame to its reply."""

    def __init__(self, request: Request, encoding: str) -> None:
        self._begun_s = time.perf_counter()
        _, self.id, self.method, self._body = request
        self._encoding = encoding

    def parse_fields(self) -> Fields:
        """Return the fields of the body. Raises InvalidArgument."""
        if self._encoding == "json":
            return from_json(self._body)
        return from_message(parse_message(OPERATIONS[self.method].request, self._body))

    def answer_line(self) -> bytes:
        """Return the reply to a line."""
        if self._body == b"health":  # the exporter's probe is no request
            return b"HEALTH\n"
        return self.finish("ok", "", self._body.decode().upper().encode())

    def succeed(self, value: Value) -> bytes:
        return self.finish("ok", OPERATIONS[self.method].success, self._encode(value))

    def build_items(self, transactions: Sequence[Transaction]) -> bytes:
        """Return the frames of a stream's next items."""
        return b"".join([frame.build_reply(self.id, "ok", "", self._encode(each), frame.MORE) for each in transactions])

    def finish(self, code: str, message: str, body: bytes = b"") -> bytes:
        """Return the reply, or the end mark of a stream, and count the call."""
        operation = self.method if self.method in OPERATIONS else metrics.UNKNOWN
        metrics.count_request("socket", operation, code, time.perf_counter() - self._begun_s)
        if self._encoding == "lines":
            return body + b"\n" if code == "ok" else f"ERROR: {message}\n".encode()
        return frame.build_reply(self.id, code, message, body)

    def _encode(self, value: Value) -> bytes:
        fields = to_fields(value)
        if self._encoding == "json":
            return to_json(fields)
        response: Any = OPERATIONS[self.method].response
        encoded: bytes = response(data=fields).SerializeToString()
        return encoded


class Conversation:
    """The requests of a client and its open streams; a server adds how bytes are sent and who waits."""

    send: Callable[[bytes], None]
    start_stream: Callable[[Call, StreamQuery], None]
    #: Waits for the store, and sends the reply.
    answer_later: Callable[[Call, Coroutine[Any, Any, Any]], None]

    def __init__(self, settings: SocketSettings, store: Any) -> None:  # noqa: ANN401
        self._settings = settings
        self._store = store
        self._data = bytearray()
        #: json or protobuf for frames, or lines; not known before the first bytes.
        self._encoding = ""
        self._streams: dict[int, Call] = {}
        #: Whether the client sends no more, or can't be followed any more.
        self.has_ended = False
        #: When to close, unless a call or a stream is open.
        self.deadline_s = time.monotonic() + settings.read_timeout_s

    @property
    def is_between_requests(self) -> bool:
        return not self._data

    def restart_clock(self) -> None:
        """Give the client its full time to send the rest of a request, or the next one."""
        timeout_s = self._settings.read_timeout_s if self._data else self._settings.idle_timeout_s
        self.deadline_s = time.monotonic() + timeout_s

    def feed(self, data: bytes) -> None:
        """Add what the client sent; nothing is its end."""
        if not data:
            self.has_ended = True
        elif not self.has_ended:
            is_first = not self._data
            self._data += data
            if is_first:
                self.restart_clock()

    def answer_next(self) -> bytes | None:
        """Return the reply to the next request, nothing if it comes later; None if no request is complete."""
        try:
            request = self._parse_request()
        except FrameError as error:
            self._stop()
            broken = Request(0, error.request_id, "", b"")
            return Call(broken, self._encoding).finish(error.code, error.message)
        if request is None:
            return None
        del self._data[: request.size]
        self.restart_clock()
        call = Call(request, self._encoding)
        try:
            return call.answer_line() if self._encoding == "lines" else self._answer(call)
        except Exception as error:  # noqa: BLE001 - the client is told, and others are logged
            return call.finish(*describe_error(error))

    def is_open(self, call: Call) -> bool:
        return self._streams.get(call.id) is call

    def end_stream(self, call: Call, code: str = "ok", message: str = "") -> None:
        """Send the end mark of a stream, unless it has ended already."""
        if self.is_open(call):
            del self._streams[call.id]
            self.restart_clock()
            self.send(call.finish(code, message))

    def end_streams(self, code: str, message: str) -> None:
        for call in list(self._streams.values()):
            self.end_stream(call, code, message)

    def _stop(self) -> None:
        """Follow the client no further: after the reply that says why, its streams have no end mark."""
        for call in self._streams.values():
            call.finish(*CANCELLED)
        self._streams.clear()
        self._data.clear()
        self.has_ended = True

    def _parse_request(self) -> Request | None:
        if not self._encoding:
            start = bytes(self._data[: frame.PREFACE_BYTES])
            if start in frame.PREFACES:
                self._encoding = frame.PREFACES[start]
                del self._data[: frame.PREFACE_BYTES]
                self.restart_clock()
            elif not self.has_ended and any(preface.startswith(start) for preface in frame.PREFACES):
                return None
            else:
                self._encoding = "lines"
        if self._encoding == "lines":
            return frame.parse_line(self._data, has_ended=self.has_ended)
        return frame.parse_request(self._data, self._settings.body_bytes_max)

    def _answer(self, call: Call) -> bytes:
        handle = HANDLERS.get(call.method)
        if call.method == _CANCEL:
            self.end_stream(self._streams.get(call.id, call), *CANCELLED)
        elif call.id in self._streams:
            # The client could not tell the replies apart.
            self._stop()
            return call.finish("invalid_argument", f"A stream with the id {call.id} is open.")
        elif handle is not None:
            value = handle(self._store, call.parse_fields())
            if not inspect.iscoroutine(value):
                return call.succeed(value)
            self.answer_later(call, value)
        elif call.method != _STREAM:
            return call.finish("unimplemented", f"Unknown method: {call.method}.")
        elif len(self._streams) >= _STREAMS_MAX:
            return call.finish("resource_exhausted", f"{_STREAMS_MAX} streams are open on this connection.")
        else:
            query = parse_stream(call.parse_fields())
            self._streams[call.id] = call
            self.start_stream(call, query)
        return b""
