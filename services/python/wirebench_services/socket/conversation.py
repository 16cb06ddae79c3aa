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
from wirebench_services.socket.frame import (
    MORE,
    PREFACE_BYTES,
    PREFACES,
    FrameError,
    Request,
    build_reply,
    parse_request,
)

_CANCEL, _STREAM = "cancel", "ledger.stream_transactions"
#: Per connection, as many as HTTP/2 recommends to allow (RFC 9113, 6.5.2).
_STREAMS_MAX = 100
_LINE_BYTES_MAX = 64 * 1024

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

    def succeed(self, value: Value) -> bytes:
        """Return the reply that carries the value."""
        return self.finish("ok", OPERATIONS[self.method].success, self._encode(value))

    def build_items(self, transactions: Sequence[Transaction]) -> bytes:
        """Return the frames of a stream's next items."""
        return b"".join([build_reply(self.id, "ok", "", self._encode(each), MORE) for each in transactions])

    def finish(self, code: str, message: str, body: bytes = b"") -> bytes:
        """Return the reply, or the end mark of a stream, and count the call."""
        operation = self.method if self.method in OPERATIONS else metrics.UNKNOWN
        metrics.count_request("socket", operation, code, time.perf_counter() - self._begun_s)
        return build_reply(self.id, code, message, body)

    def _encode(self, value: Value) -> bytes:
        fields = to_fields(value)
        if self._encoding == "json":
            return to_json(fields)
        response: Any = OPERATIONS[self.method].response
        encoded: bytes = response(data=fields).SerializeToString()
        return encoded


class Conversation:
    """The requests of a client and its open streams; a server adds how bytes are sent and who waits."""

    def __init__(self, settings: SocketSettings, store: Any) -> None:  # noqa: ANN401
        self._settings = settings
        self._store = store
        self._data = bytearray()
        #: json or protobuf for frames, or lines; not known before the first bytes.
        self._mode = ""
        self._streams: dict[int, Call] = {}
        #: Whether the client sends no more, or can't be followed any more.
        self.has_ended = False
        #: When to close, unless a call or a stream is open.
        self.deadline_s = time.monotonic() + settings.read_timeout_s

    @property
    def is_between_requests(self) -> bool:
        """Whether nothing of a next request is here."""
        return not self._data

    def send(self, data: bytes) -> None:
        """Send bytes to the client."""
        raise NotImplementedError

    def start_stream(self, call: Call, query: StreamQuery) -> None:
        """Send the items of a stream from now on."""
        raise NotImplementedError

    def answer_later(self, call: Call, value: Coroutine[Any, Any, Any]) -> None:
        """Wait for the store, and send the reply."""
        raise NotImplementedError

    def restart_clock(self) -> None:
        """Give the client its full time to send the rest of a request, or the next one."""
        timeout_s = self._settings.read_timeout_s if self._data else self._settings.idle_timeout_s
        self.deadline_s = time.monotonic() + timeout_s

    def feed(self, data: bytes) -> None:
        """Add what the client sent; nothing is its end."""
        if data and not self.has_ended:
            if not self._data:
                self.deadline_s = time.monotonic() + self._settings.read_timeout_s
            self._data += data
        self.has_ended = self.has_ended or not data

    def answer_next(self) -> bytes | None:
        """Answer the next request, if it is complete: return the reply, or nothing if it comes later."""
        if not self._mode and not self._parse_preface():
            return None
        reply = self._answer_line() if self._mode == "lines" else self._answer_frame()
        if reply is not None:
            self.restart_clock()
        return reply

    def end_stream(self, call: Call, code: str = "ok", message: str = "") -> None:
        """Send the end mark of a stream, unless it has ended already."""
        if self.is_open(call):
            del self._streams[call.id]
            self.restart_clock()
            self.send(call.finish(code, message))

    def end_streams(self, code: str, message: str) -> None:
        """Send the end marks of all streams."""
        for call in list(self._streams.values()):
            self.end_stream(call, code, message)

    def is_open(self, call: Call) -> bool:
        """Return whether the stream has not ended."""
        return self._streams.get(call.id) is call

    def _stop(self) -> None:
        """Follow the client no further: after the reply that says why, its streams have no end mark."""
        for call in list(self._streams.values()):
            call.finish(*CANCELLED)
        self._streams.clear()
        self._data.clear()
        self.has_ended = True

    def _parse_preface(self) -> bool:
        start = bytes(self._data[:PREFACE_BYTES])
        if start in PREFACES:
            self._mode = PREFACES[start]
            del self._data[:PREFACE_BYTES]
            self.restart_clock()
        elif self.has_ended or not any(preface.startswith(start) for preface in PREFACES):
            self._mode = "lines"
        return bool(self._mode)

    def _answer_frame(self) -> bytes | None:
        try:
            request = parse_request(self._data, self._settings.body_bytes_max)
        except FrameError as error:
            self._stop()
            return Call(Request(0, error.request_id, "", b""), self._mode).finish(error.code, error.message)
        if request is None:
            return None
        del self._data[: request.size]
        call = Call(request, self._mode)
        try:
            return self._answer(call)
        except Exception as error:  # noqa: BLE001 - the client is told, and others are logged
            return call.finish(*describe_error(error))

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

    def _answer_line(self) -> bytes | None:
        end = self._data.find(b"\n") + 1
        if not end and len(self._data) <= _LINE_BYTES_MAX + 1 and not (self.has_ended and self._data):
            return None
        line = bytes(self._data[: end or len(self._data)]).removesuffix(b"\n").removesuffix(b"\r")
        del self._data[: end or len(self._data)]
        call = Call(Request(0, 0, "echo.upper", line), self._mode)
        text, problem = "", ""
        try:
            text = line.decode().upper()
        except UnicodeDecodeError:
            problem = "The line is not valid UTF-8."
        if len(line) > _LINE_BYTES_MAX:
            problem = f"The line is longer than {_LINE_BYTES_MAX} bytes."
        if problem:
            self._stop()
            call.finish("invalid_argument", problem)
            return f"ERROR: {problem}\n".encode()
        if line != b"health":  # the exporter's probe is no request
            call.finish("ok", "", text.encode())
        return text.encode() + b"\n"
