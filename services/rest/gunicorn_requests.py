"""Requests on gunicorn's blocking sockets: read within a time limit, and answered even if they are none."""

from __future__ import annotations

import logging
import socket
import ssl
import struct
import time
from typing import Any

from gunicorn import util
from gunicorn.config import Config
from gunicorn.http.errors import LimitRequestHeaders, LimitRequestLine, ParseException
from gunicorn.http.message import Request
from gunicorn.http.parser import RequestParser
from gunicorn.http.unreader import SocketUnreader, Unreader

from services.platform.settings import Settings
from services.rest.wire import HEAD_BYTES_MAX, failure, head_too_long, malformed, too_slow

log = logging.getLogger(__name__)

#: Where a client is; gunicorn's own annotations of it disagree.
Address = Any

#: How much of an over-long body is read and thrown away, in multiples of the limit, so that its client
#: comes to read the reply.
_DRAIN_LIMITS = 4
_DRAIN_STEP_BYTES = 256 * 1024
#: Zero would stand for no limit.
_TIME_LEAST_S = 0.001
#: How long a client may go on sending what nobody reads any more.
_LINGER_S = 0.5


class TooSlowError(Exception):
    """A request that doesn't arrive in time."""


class TimedReader(SocketUnreader):
    """Reads a request from a socket, and gives it a time limit as a whole.

    The kernel keeps the time: with time-outs of its own, Python asks poll(2) before each recv and send,
    and lets go of its lock once more each time.
    """

    def __init__(self, client: socket.socket, timeout_s: float) -> None:
        super().__init__(client)
        self._timeout_s = timeout_s
        self._deadline_s = 0.0
        client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _timeval(timeout_s))

    def start_clock(self) -> None:
        """Give the next request its time."""
        self.sock.settimeout(None)
        self._deadline_s = time.monotonic() + self._timeout_s

    def chunk(self, *size_hint: int | None) -> bytes:
        """Return the next bytes, or none at the end. Raises TooSlowError."""
        self._limit_reading(max(_TIME_LEAST_S, self._deadline_s - time.monotonic()))
        try:
            return super().chunk(*size_hint)
        except (BlockingIOError, TimeoutError):
            raise TooSlowError from None

    def _limit_reading(self, left_s: float) -> None:
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _timeval(left_s))


class TlsReader(TimedReader):
    """The same over TLS, where Python has to keep the time: it takes the kernel's time-outs for a call to try again."""

    sock: ssl.SSLSocket

    def start_clock(self) -> None:
        """Give the next request its time."""
        super().start_clock()
        self.sock.settimeout(self._timeout_s)

    def chunk(self, *size_hint: int | None) -> bytes:
        """Return the next bytes, or none at the end; what is decrypted as a whole, as no poller sees a rest of it."""
        try:
            data = super().chunk(*size_hint)
            rest_bytes = self.sock.pending()
            return data + self.sock.recv(rest_bytes) if rest_bytes else data
        finally:
            self.sock.settimeout(self._timeout_s)  # for replies

    def _limit_reading(self, left_s: float) -> None:
        self.sock.settimeout(left_s)


class _Request(Request):
    """A request whose head is limited as a whole, as in the other runtime; gunicorn limits each line."""

    def __init__(self, *arguments: Any) -> None:  # noqa: ANN401 - gunicorn's own
        self._read_bytes = 0
        super().__init__(*arguments)

    def parse(self, unreader: Unreader) -> bytes:
        rest: bytes = super().parse(unreader)
        self._limit(self._read_bytes - len(rest))
        return rest

    def read_into(self, unreader: Unreader, buf: bytearray, stop: bool | None = False) -> None:  # noqa: FBT001, FBT002
        self._limit(self._read_bytes)  # and there is no end yet
        before = len(buf)
        super().read_into(unreader, buf, stop)
        self._read_bytes += len(buf) - before

    @staticmethod
    def _limit(head_bytes: int) -> None:
        if head_bytes > HEAD_BYTES_MAX:
            raise LimitRequestHeaders("head")


class TimedParser(RequestParser):
    """Parses the requests of one connection, and gives each of them a time limit."""

    mesg_class = _Request

    def __init__(self, cfg: Config, client: socket.socket, address: Address, settings: Settings) -> None:
        super().__init__(cfg, client, address)
        reader = TlsReader if isinstance(client, ssl.SSLSocket) else TimedReader
        self._reader = self.unreader = reader(client, settings.read_timeout_s)

    def start_clock(self) -> None:
        """Give the next request its time."""
        self._reader.start_clock()


def drain(request: Request, settings: Settings) -> bool:
    """Read what is left of a request's body; return whether that was all of it."""
    left_bytes = _DRAIN_LIMITS * settings.body_bytes_max
    try:
        while left_bytes > 0:
            piece = request.body.read(_DRAIN_STEP_BYTES) if request.body else b""
            if not piece:
                return True
            left_bytes -= len(piece)
    except (TooSlowError, ParseException, OSError):
        return False
    return False


def refuse(client: socket.socket, error: Exception, settings: Settings) -> None:
    """Answer a request that failed before or outside of an operation, if its client is still there."""
    if isinstance(error, TooSlowError):
        util.write(client, too_slow(settings))
        return
    if isinstance(error, StopIteration | OSError):
        return  # the client is gone, or doesn't read its reply
    if isinstance(error, LimitRequestLine | LimitRequestHeaders):
        reply = head_too_long()
    elif isinstance(error, ParseException):
        reply = malformed()
    else:
        log.error("a request failed", exc_info=error)
        reply = failure()
    util.write(client, reply)
    util.close_graceful(client, timeout=_LINGER_S, max_drain=_DRAIN_LIMITS * settings.body_bytes_max)


def _timeval(duration_s: float) -> bytes:
    """Return a struct timeval."""
    return struct.pack("@ll", *divmod(int(duration_s * 1_000_000), 1_000_000))
