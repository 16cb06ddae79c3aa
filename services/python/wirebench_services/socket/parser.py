"""The requests of a connection: frames after a preface, or else lines."""

from __future__ import annotations

import time

from wirebench_services.application.errors import InvalidArgument
from wirebench_services.settings import SocketSettings
from wirebench_services.socket.calls import Call, Line
from wirebench_services.socket.frame import PREFACE_BYTES, PREFACES, FrameError, Request, parse_request

_LINE_BYTES_MAX = 64 * 1024


class Parser:
    """Cuts what a client sends into calls, and knows until when the client has to send more."""

    def __init__(self, settings: SocketSettings) -> None:
        self._settings = settings
        self._data = bytearray()
        self._mode = ""
        #: Whether nothing more comes than what is here.
        self.has_ended = False
        self.deadline_s = time.monotonic() + settings.read_timeout_s

    @property
    def is_between_requests(self) -> bool:
        """Whether nothing of a next request is here."""
        return not self._data

    def restart_clock(self) -> None:
        """Give the client its full time: to send the rest of a request, or the next one."""
        timeout_s = self._settings.read_timeout_s if self._data else self._settings.idle_timeout_s
        self.deadline_s = time.monotonic() + timeout_s

    def feed(self, data: bytes) -> None:
        """Add what the client sent."""
        if not self._data:
            self.deadline_s = time.monotonic() + self._settings.read_timeout_s
        if not self.has_ended:
            self._data += data

    def end(self) -> None:
        """Note that the client sends no more; a last line needs no end."""
        self.has_ended = True

    def stop(self) -> None:
        """Drop what has come, and what will."""
        self._data.clear()
        self.has_ended = True

    def next_call(self) -> Call | None:
        """Return the next call, or None if it isn't complete."""
        if not self._mode and not self._parse_preface():
            return None
        call = self._next_line() if self._mode == "lines" else self._next_frame()
        if call is not None:
            self.restart_clock()
        return call

    def _parse_preface(self) -> bool:
        start = bytes(self._data[:PREFACE_BYTES])
        if start in PREFACES:
            self._mode = PREFACES[start]
            del self._data[:PREFACE_BYTES]
            self.restart_clock()
        elif self.has_ended or not any(preface.startswith(start) for preface in PREFACES):
            self._mode = "lines"
        return bool(self._mode)

    def _next_frame(self) -> Call | None:
        try:
            request = parse_request(self._data, self._settings.body_bytes_max)
        except FrameError as error:
            self.stop()
            return Call(Request(0, error.request_id, b"", b""), error=error.error)
        if request is None:
            return None
        del self._data[: request.size]
        return Call(request, is_protobuf=self._mode == "protobuf")

    def _next_line(self) -> Call | None:
        end = self._data.find(b"\n") + 1
        if not end and not (self.has_ended and self._data) and len(self._data) <= _LINE_BYTES_MAX + len(b"\r"):
            return None
        end = end or len(self._data)
        line = bytes(self._data[:end]).removesuffix(b"\n").removesuffix(b"\r")
        del self._data[:end]
        problem = f"The line is longer than {_LINE_BYTES_MAX} bytes." if len(line) > _LINE_BYTES_MAX else ""
        try:
            text = line.decode()
        except UnicodeDecodeError:
            problem = problem or "The line is not valid UTF-8."
        if problem:
            self.stop()
            return Line("", InvalidArgument(problem))
        return Line(text)
