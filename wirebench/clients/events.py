"""Server-Sent Events (WHATWG HTML, section 9.2), as far as the contract has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

CONTENT_TYPE = "text/event-stream"


class Event(NamedTuple):
    """A whole event; without a name it is a message."""

    name: str
    data: bytes


def read_events(read_line: Callable[[], bytes]) -> Iterator[Event]:
    """Yield events as their lines come, until there are no more lines; one that isn't whole is none."""
    name, data = "message", b""
    while line := read_line():
        field, _, value = line.rstrip(b"\r\n").partition(b": ")
        if field == b"event":
            name = value.decode(errors="replace")
        elif field == b"data":
            data = value
        elif not field:
            yield Event(name, data)
            name, data = "message", b""
