"""One connection's conversation, with no connection in sight: bytes in, bytes out.

Both runtimes carry bytes between this and their sockets.
"""

from __future__ import annotations

from collections.abc import Callable

from services.domain.errors import Code
from services.operations import Codec, JsonCodec, ProtobufCodec
from services.platform.settings import Settings
from services.socket import frames, lines
from services.socket.calls import Calls
from services.socket.frames import FrameError, Request
from services.socket.lines import LineError
from services.socket.streams import METHODS, Streams

#: So much is answered at one go: what a client asks for and doesn't read must not pile up.
REPLY_BYTES_MAX = 256 * 1024
#: The same for streams, whose turns are shorter, because they have many.
STREAM_BYTES_MAX = 64 * 1024
#: How much is read and thrown away after the last reply, so that the client gets to read it: closing a
#: socket with unread bytes resets the connection, and the reset may overtake the reply.
LINGER_BYTES_MAX = 16 * 1024 * 1024
#: A client that has been answered must not hold up a service that is told to stop.
_DRAIN_LINGER_S = 1.0

#: Answers a request; returns the reply, or nothing if it comes later.
Dispatch = Callable[[Codec, Request], bytes]

_CODECS: dict[bytes, Codec] = {frames.JSON_PREFACE: JsonCodec(), frames.PROTOBUF_PREFACE: ProtobufCodec()}


class Session:
    """What was said so far. Times are in seconds of one monotonic clock, which the caller reads."""

    def __init__(self, settings: Settings, calls: Calls, dispatch: Dispatch, streams: Streams, now_s: float) -> None:
        self._calls = calls
        self._dispatch = dispatch
        self._streams = streams
        self._now_s = now_s
        self._payload_bytes_max = settings.body_bytes_max
        self._read_timeout_s = settings.read_timeout_s
        self._idle_timeout_s = settings.idle_timeout_s
        #: How long the client may be quiet between requests; short until it has sent one.
        self._quiet_s = settings.read_timeout_s
        self._step = self._step_preface
        self._codec: Codec = _CODECS[frames.JSON_PREFACE]
        #: The start of a request that isn't complete, and how much it takes to go on with it.
        self._rest = bytearray()
        self._needed_bytes = 0
        #: When to give the client up, unless something comes.
        self.deadline_s = now_s + self._quiet_s
        #: Set by the caller: begin no more requests for now.
        self.paused = False
        #: Whether requests may be here that have not begun; `receive` without data goes on with them.
        self.backlog = False
        #: Whether no more requests are read: send what is due, and close.
        self.closing = False
        self._draining = False

    def receive(self, data: bytes, now_s: float) -> bytes:
        """Take what the client sent, possibly nothing; return the replies that are due."""
        self._now_s = now_s
        replies: list[bytes] = []
        if self._draining:
            replies.append(self._streams.stop())
        held = len(self._rest)
        if held:
            self._rest += data
            if len(self._rest) < self._needed_bytes:
                return b"".join(replies)
            data = bytes(self._rest)
            self._rest.clear()
            self._needed_bytes = 0
        offset = self._answer(data, replies)
        if offset == len(data):
            self.deadline_s = now_s + self._quiet_s
            self.closing = self.closing or self._draining
        else:
            self._rest += memoryview(data)[offset:]
            if offset or not held:
                # The clock of a request starts with its first byte: sending slowly doesn't stop it.
                self.deadline_s = now_s + self._read_timeout_s
        return b"".join(replies)

    def end(self) -> bytes:
        """Note that the client sends no more; return the reply to a last line without an end."""
        line = bytes(self._rest)
        self.leave()
        if self._step == self._step_frame or not line:
            return b""
        try:
            return self._calls.answer_line(lines.decode(line))
        except LineError as error:
            return self._calls.refuse_line(error)

    def leave(self) -> None:
        """Note that the client has gone, or can't be followed any further: it gets no more of any stream."""
        self.closing = True
        self._streams.leave()

    def produce(self, now_s: float) -> bytes:
        """Return what streams have to send by now; to be called only if the client can take it."""
        return self._streams.produce(now_s, STREAM_BYTES_MAX)

    @property
    def streaming(self) -> bool:
        """Whether streams are open."""
        return len(self._streams) > 0

    def wait_s(self, now_s: float) -> float | None:
        """Return how long streams will have nothing to send; None if there are none, or none can tell."""
        return self._streams.wait_s(now_s)

    def drain(self) -> None:
        """Have the next `receive` end streams, and set `closing` if it leaves no request half-way; for any thread."""
        self._draining = True

    @property
    def at_rest(self) -> bool:
        """Whether nothing of a next request is here, and no stream is open."""
        return not self._rest and not self._streams

    @property
    def drained(self) -> bool:
        """Whether it is draining with nothing left to do, so that the next `receive` sets `closing`."""
        return self._draining and self.at_rest

    @property
    def linger_s(self) -> float:
        """How long the client may take to close after its last reply."""
        return min(_DRAIN_LINGER_S, self._read_timeout_s) if self._draining else self._read_timeout_s

    def restart_clock(self, now_s: float) -> None:
        """Give the client its full time again, after a wait that was not its own."""
        self.deadline_s = now_s + (self._read_timeout_s if self._rest else self._quiet_s)

    def _answer(self, data: bytes, replies: list[bytes]) -> int:
        """Answer what is complete; return where the rest starts."""
        offset = size = 0
        self.backlog = False
        while offset < len(data):
            if self.paused or size >= REPLY_BYTES_MAX:
                self.backlog = True
                break
            end = self._step(data, offset, replies)
            if end == offset:
                break
            offset = end
            if replies:
                size += len(replies[-1])
        return offset

    def _step_preface(self, data: bytes, offset: int, replies: list[bytes]) -> int:
        start = bytes(data[: frames.PREFACE_BYTES])
        codec = _CODECS.get(start)
        if codec is not None:
            self._codec = codec
            self._step = self._step_frame
            return frames.PREFACE_BYTES
        if any(preface.startswith(start) for preface in _CODECS):
            return offset
        self._step = self._step_line
        return self._step_line(data, offset, replies)

    def _step_frame(self, data: bytes, offset: int, replies: list[bytes]) -> int:
        try:
            request = frames.next_request(data, offset, self._payload_bytes_max)
        except FrameError as error:
            replies.append(self._refuse(error))
            return len(data)
        if request is None:
            self._needed_bytes = frames.bytes_needed(data, offset)
            return offset
        self._quiet_s = self._idle_timeout_s
        end, request_id, method, _ = request
        if method == frames.CANCEL:
            replies.append(self._streams.cancel(request_id))
        elif self._streams and request_id in self._streams:
            # Nobody could tell the two's replies apart.
            taken = FrameError(Code.INVALID_ARGUMENT, request_id, f"A stream with the id {request_id} is open.")
            replies.append(self._refuse(taken))
            return len(data)
        elif method in METHODS:
            replies.append(self._streams.begin(self._codec, request, self._now_s))
        else:
            replies.append(self._dispatch(self._codec, request))
        return end

    def _refuse(self, error: FrameError) -> bytes:
        self.leave()
        return self._calls.refuse(error)

    def _step_line(self, data: bytes, offset: int, replies: list[bytes]) -> int:
        try:
            found = lines.next_line(data, offset)
        except LineError as error:
            replies.append(self._calls.refuse_line(error))
            self.closing = True
            return len(data)
        if found is None:
            return offset
        self._quiet_s = self._idle_timeout_s
        end, text = found
        replies.append(self._calls.answer_line(text))
        return end
