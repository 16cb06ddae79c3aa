"""Timed calls, and how replies look: a table on a terminal, tab-separated lines elsewhere, JSON when asked for."""

from __future__ import annotations

import base64
import sys
import time
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import orjson
from rich.console import Console
from rich.table import Table
from rich.text import Text
from wirebench_services.client import Client, Fields, Reply

from wirebench.errors import WirebenchError
from wirebench.present.escape import escape_controls
from wirebench.present.numbers import format_number

#: A user, a balance or a transaction.
Record = Mapping[str, Any]

_USER_COLUMNS = ("id", "name", "email", "phone", "address", "bio", "tags", "avatar")
_ALWAYS_SHOWN = _USER_COLUMNS[:3]
_CELL_CHARACTERS = 60


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
    return f"{format_number(milliseconds)} ms"


def require(reply: Reply, response_time_ms: float | None = None) -> Any:  # noqa: ANN401 - the data of any operation
    """Return the data of a reply. Raises WirebenchError, in the service's words, if the operation failed."""
    if not reply.ok:
        timing = f" ({format_ms(response_time_ms)})" if response_time_ms is not None else ""
        raise WirebenchError(f"{reply.message or reply.code}{timing}")
    return reply.data


def show_reply(console: Console, timed: TimedReply) -> None:
    """Print the service's message, its response time, and its data: one record, or users."""
    reply = timed.reply
    message = f"{escape_controls(reply.message)} ({format_ms(timed.response_time_ms)})"
    console.print(Text(message), style=None if reply.ok else "red", soft_wrap=True)
    if reply.data is not None:
        data: Any = reply.data
        show_records(console, data if isinstance(data, list) else [data])


def show_records(console: Console, records: list[Record]) -> None:
    columns = _choose_columns(records)
    rows = [[_format_cell(record.get(name)) for name in columns] for record in records]
    if not console.is_terminal:
        for row in (columns, *rows):
            console.file.write("\t".join(row) + "\n")
        return
    table = Table(*columns)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)


def show_items(items: Iterable[object], *, json: bool) -> None:
    """Print the records of a stream as they come, one a line: their values with tabs between them, or JSON.

    The times of the first record and of the last go to stderr.
    """
    began_s = time.perf_counter()
    count, first_ms = 0, 0.0
    for count, item in enumerate(items, start=1):
        record: Any = item
        first_ms = first_ms or _measure_ms_since(began_s)
        if json:
            sys.stdout.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE).decode())
        else:
            if count == 1:
                sys.stdout.write("\t".join(record) + "\n")
            sys.stdout.write("\t".join(map(_format_cell, record.values())) + "\n")
        sys.stdout.flush()
    if count:
        last_ms = _measure_ms_since(began_s)
        sys.stderr.write(f"records: {count:,}; first after {format_ms(first_ms)}, last after {format_ms(last_ms)}\n")


def show_json(timed: TimedReply) -> None:
    """Print a reply's data as the JSON that the REST API has (bytes are base64), and its response time."""
    shown = {"response_time_ms": round(timed.response_time_ms, 3), "data": timed.reply.data}
    text = orjson.dumps(shown, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE, default=_encode_bytes)
    sys.stdout.write(text.decode())


def _measure_ms_since(began_s: float) -> float:
    return (time.perf_counter() - began_s) * 1000


def _choose_columns(records: list[Record]) -> list[str]:
    if any(record.keys() - set(_USER_COLUMNS) for record in records):
        return list(records[0])
    return [name for name in _USER_COLUMNS if name in _ALWAYS_SHOWN or any(name in each for each in records)]


def _format_cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    text = escape_controls(", ".join(value) if isinstance(value, list) else str(value))
    return text if len(text) <= _CELL_CHARACTERS else f"{text[: _CELL_CHARACTERS - 1]}…"


def _encode_bytes(value: object) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    raise TypeError
