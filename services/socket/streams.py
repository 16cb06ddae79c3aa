"""The streams of one connection: they take turns, and send no more at once than the connection asks for."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from functools import partial

from services.domain.errors import Code
from services.operations import STREAMS, Codec, Outcome, Stream, open_stream
from services.platform.lifecycle import Worker
from services.socket import frames
from services.socket.frames import Request

#: Per connection, as many as HTTP/2 recommends to allow (RFC 9113, 6.5.2).
STREAMS_MAX = 100

#: The operations whose replies are streams, by the bytes that frames name them with.
METHODS = {name.encode("ascii"): operation for name, operation in STREAMS.items()}

#: Loads a stream's next page; returns whether it is here already, or else takes `is_loading` back when it is.
Load = Callable[[Stream], bool]


def load_at_once(stream: Stream) -> bool:
    """Load where it is asked for, even if the store blocks."""
    stream.load()
    return True


@dataclasses.dataclass(slots=True)
class _Open:
    stream: Stream
    begun_s: float
    request_bytes: int


class Streams:
    """Those that are open, by the id of their request. Times are in seconds of one monotonic clock."""

    def __init__(self, worker: Worker, load: Load = load_at_once) -> None:
        self._application = worker.application
        self._recorder = worker.recorder
        self._load = load
        self._open: dict[int, _Open] = {}

    def __len__(self) -> int:
        """Return how many are open."""
        return len(self._open)

    def __contains__(self, request_id: int) -> bool:
        """Return whether one is open that a request with this id began."""
        return request_id in self._open

    def begin(self, codec: Codec, request: Request, now_s: float) -> bytes:
        """Open the stream that a request asks for; return the frame that refuses it, or nothing yet."""
        begun_s = self._recorder.started()
        _, request_id, method, body = request
        operation = METHODS[method]
        opened = (
            open_stream(self._application, operation, codec, body)
            if len(self._open) < STREAMS_MAX
            else Outcome(Code.RESOURCE_EXHAUSTED, f"{STREAMS_MAX} streams are open on this connection.")
        )
        if isinstance(opened, Outcome):
            duration_s = time.perf_counter() - begun_s
            self._recorder.finished(operation.name, opened.code, duration_s, len(body), 0)
            return frames.encode_reply(request_id, opened.code, opened.message, b"")
        stream = Stream(operation, opened, partial(codec.encode, operation), now_s)
        self._open[request_id] = _Open(stream, begun_s, len(body))
        return b""

    def cancel(self, request_id: int) -> bytes:
        """Return the end mark of a stream that its client wants no more of, if there is such a stream."""
        opened = self._open.get(request_id)
        if opened is None:
            return b""
        opened.stream.cancel()
        return self._end(request_id)

    def stop(self) -> bytes:
        """Return the end marks of all streams, because the service stops."""
        for opened in self._open.values():
            opened.stream.stop()
        return b"".join(map(self._end, list(self._open)))

    def leave(self) -> None:
        """End all streams, because the client has gone."""
        for opened in self._open.values():
            opened.stream.cancel()
        for request_id in list(self._open):
            self._end(request_id)

    def produce(self, now_s: float, bytes_max: int) -> bytes:
        """Return the frames that are due; of each stream a page at most, and of all hardly more than so many bytes."""
        produced: list[bytes] = []
        size = 0
        for request_id, opened in list(self._open.items()):
            stream = opened.stream
            if stream.is_loading:
                continue
            if stream.is_hungry and stream.outcome is None:
                stream.is_loading = not self._load(stream)
                if stream.is_loading:
                    continue
            items = stream.take(now_s)
            if items:
                # To the end of the queue: the others have their turn first.
                self._open[request_id] = self._open.pop(request_id)
                part = frames.encode_items(request_id, items)
                produced.append(part)
                size += len(part)
            if stream.outcome is not None:
                produced.append(self._end(request_id))
            if size >= bytes_max:
                break
        return b"".join(produced)

    def wait_s(self, now_s: float) -> float | None:
        """Return how long nothing will be due; None if that can't be told before a page is loaded."""
        waits_s = [
            0.0 if opened.stream.outcome else opened.stream.wait_s(now_s)
            for opened in self._open.values()
            if not opened.stream.is_loading
        ]
        return min(waits_s, default=None)

    def _end(self, request_id: int) -> bytes:
        opened = self._open.pop(request_id)
        code, message, _ = opened.stream.count(self._recorder, opened.begun_s, opened.request_bytes)
        return frames.encode_reply(request_id, code, message, b"")
