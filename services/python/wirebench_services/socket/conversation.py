"""Requests and replies of a connection, for both servers."""

from __future__ import annotations

import time
from typing import Any

from wirebench_services import metrics
from wirebench_services.application.errors import OperationError, describe_error
from wirebench_services.application.operations import HANDLERS
from wirebench_services.application.users import Fields
from wirebench_services.contract import BODY_BYTES_MAX, OPERATIONS, PREFACES, read_fields
from wirebench_services.encoding import Value, from_json, parse_message, to_fields, to_json
from wirebench_services.settings import SocketSettings
from wirebench_services.socket import frame
from wirebench_services.socket.frame import FrameError, Request


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
            return {"text": self._body.decode().upper()}
        handle = HANDLERS.get(self.method)
        if handle is None:
            raise OperationError(f"Unknown method: {self.method}.", "unimplemented")
        return handle(store, self._parse_fields())

    def succeed(self, value: Value) -> bytes:
        """Return the reply with the operation's value."""
        return self.finish("ok", OPERATIONS[self.method].message, self._encode(value))

    def fail(self, error: Exception) -> bytes:
        """Return the reply to a call that failed."""
        described = describe_error(error, self.method)
        return self.finish(described.code, described.message)

    def finish(self, code: str, message: str, body: bytes = b"") -> bytes:
        """Return the reply, and count the call."""
        if self.method in HANDLERS:  # no client can invent labels
            metrics.count_request("socket", self.method, code, time.perf_counter() - self.begun_s)
        if self._encoding == "lines":
            return body + b"\n" if code == "ok" else f"ERROR: {message}\n".encode()
        return frame.build_reply(self.id, code, message, body)

    def _parse_fields(self) -> Fields:
        if self._encoding == "json":
            return from_json(self._body)
        return read_fields(parse_message(OPERATIONS[self.method].request, self._body))

    def _encode(self, value: Value) -> bytes:
        fields = to_fields(value)
        if self._encoding == "json":
            return to_json(fields)
        if self._encoding == "lines":
            return bytes(fields["text"].encode())
        return bytes(OPERATIONS[self.method].response(data=fields).SerializeToString())


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

    def next_call(self) -> Call | None:
        """Return the next call, or None if it isn't complete; one that can't be parsed is the last."""
        if not (self._data and (self._encoding or self._read_preface())):
            return None
        try:
            if self._encoding == "lines":
                request = frame.parse_line(self._data, has_ended=self.has_ended)
            else:
                request = frame.parse_request(self._data, BODY_BYTES_MAX)
        except FrameError as error:
            self._data.clear()
            self.has_ended = True
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
        if start in PREFACES:
            self._encoding = PREFACES[start]
            del self._data[: frame.PREFACE_BYTES]
            self.restart_clock()
        elif self.has_ended or not any(preface.startswith(start) for preface in PREFACES):
            self._encoding = "lines"
        return bool(self._encoding)
