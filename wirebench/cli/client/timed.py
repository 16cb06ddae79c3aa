"""Calls, and how long their replies took."""

from __future__ import annotations

import time
from typing import NamedTuple

from wirebench.clients import Client, Reply
from wirebench.clients.client import Fields


class TimedReply(NamedTuple):
    """A reply, and the time from sending its request until all of it was there."""

    reply: Reply
    response_time_ms: float


def time_call(client: Client, operation: str, fields: Fields) -> TimedReply:
    """Carry out an operation. Raises ClientError."""
    began_s = time.perf_counter()
    reply = client.call(operation, fields)
    return TimedReply(reply, (time.perf_counter() - began_s) * 1000)


def format_ms(milliseconds: float) -> str:
    """Write a duration with three significant digits."""
    text = f"{milliseconds:#.3g}".rstrip(".")
    return f"{milliseconds:,.0f} ms" if "e+" in text else f"{text} ms"
