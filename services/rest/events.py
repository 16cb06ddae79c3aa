"""Server-Sent Events (WHATWG HTML, section 9.2): a stream as the body of a reply."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable
from typing import Any

import orjson

from services.domain.errors import Code
from services.operations import JsonCodec, Operation, Outcome

CONTENT_TYPE = "text/event-stream"
#: Events are news, and of no use to anybody later.
CACHE_CONTROL = "no-cache"
_END = b"event: end\ndata: {}\n\n"
_CODEC = JsonCodec()
#: What poll(2) says of a client that has closed its end; where there is no such word, of one that has closed both.
_LEFT = getattr(select, "POLLRDHUP", select.POLLHUP)


def encoder(operation: Operation) -> Callable[[Any], bytes]:
    """Return what makes an event of an item, which has an id; events are JSON, whatever the client accepts."""

    def encode(item: Any) -> bytes:  # noqa: ANN401 - of the operation's feed
        return b"id: %d\ndata: %b\n\n" % (item.id, _CODEC.encode(operation, item))

    return encode


def encode_end(outcome: Outcome) -> bytes:
    """Return the last event, by which a client knows an end from a cut."""
    if outcome.code is Code.OK:
        return _END
    return b"event: error\ndata: %b\n\n" % orjson.dumps({"message": outcome.message})


def watch_client(connection: socket.socket) -> Callable[[float], bool]:
    """Return a function that waits so many seconds, or until the client closes, and says whether it has."""
    poll = select.poll()  # select(2) knows no file over 1024
    poll.register(connection, _LEFT)

    def leaves(duration_s: float) -> bool:
        return bool(poll.poll(duration_s * 1000))

    return leaves
