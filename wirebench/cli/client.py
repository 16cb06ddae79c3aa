"""`wirebench client`: one call, an interactive menu, a demo. Operations and fields are those of the contract."""

from __future__ import annotations

import base64
import contextlib
import sys
import time
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, NamedTuple

import orjson
import typer
from google.protobuf.descriptor import FieldDescriptor
from rich.console import Console
from rich.table import Table
from rich.text import Text
from wirebench_services.client import OPERATIONS, Client, ClientError, Fields, ItemStream, Reply

from wirebench.cli.options import Json, TlsOptions, read_environment_address
from wirebench.errors import UsageError, WirebenchError, suggest
from wirebench.measure.client import connect
from wirebench.model.contract import Transport
from wirebench.present.escape import escape_controls
from wirebench.present.numbers import format_number

_PORTS = {"rest": 5000, "grpc": 50051, "socket": 9000}
_STREAM = "ledger.stream_transactions"
_MENU = (*(name for name in OPERATIONS if name not in (_STREAM, "users.create_batch")), "demo", "exit")
_CELL_CHARACTERS = 60
_PEOPLE: tuple[Fields, ...] = (
    {"name": "Ada Lovelace", "email": "ada@example.com", "tags": ["mathematics", "engines"]},
    {"name": "Grace Hopper", "email": "grace@example.com", "bio": "Wrote the first linker."},
    {"name": "Alan Turing", "email": "alan@example.com"},
)


def client(  # noqa: PLR0913 - an option is an argument
    transport: Annotated[Transport, typer.Argument(help="How to talk to the service.")],
    call: Annotated[
        list[str] | None,
        typer.Argument(metavar="[OPERATION [FIELD=VALUE]...]", help="One call, such as `users.get id=1000001`."),
    ] = None,
    *,
    message: Annotated[str | None, typer.Option(metavar="TEXT", help="Have this text upper-cased.")] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Create, list, fetch, update and delete three users.")] = False,
    address: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="https:// before it: TLS. Default: WIREBENCH_REST, WIREBENCH_GRPC, WIREBENCH_SOCKET, or this machine.",
        ),
    ] = None,
    timeout_s: Annotated[float, typer.Option(min=0.01, max=3600, help="How long to wait for the service.")] = 5.0,
    tls_files: TlsOptions,
    json: Json = False,
) -> None:
    """Talk to a service. Without a call, a menu asks what to do, and the socket's client upper-cases lines.

    Each call shows its response time; that of the first includes connecting.
    """
    if sum((bool(call), message is not None, demo)) > 1:
        raise UsageError("--message, --demo and a call exclude each other", "give one of them")
    operation, *given = call or [""]
    fields = parse_fields(operation, given) if operation else {}
    where = address or read_environment_address(transport) or f"127.0.0.1:{_PORTS[transport]}"
    console = Console()
    with connect(transport, where, tls=tls_files.load(), timeout_s=timeout_s) as connected:
        if operation == _STREAM:
            with contextlib.closing(connected.stream(operation, fields)) as items:
                show_items(items, json=json)
        elif operation:
            show_call(console, call_timed(connected, operation, fields), json=json)
        elif message is not None:
            upper_case(connected, message)
        elif demo:
            run_demo(connected, console)
        elif transport == "socket":
            run_lines(connected)
        else:
            run_menu(connected, console, f"{transport} at {where}")


class TimedReply(NamedTuple):
    """A reply, and the time from sending its request until all of it was there."""

    reply: Reply
    response_time_ms: float

    def require_data(self) -> Any:  # noqa: ANN401 - of any operation
        """Return the data. Raises WirebenchError, in the service's words, if the operation failed."""
        if not self.reply.ok:
            raise WirebenchError(f"{self.reply.message or self.reply.code} ({format_ms(self.response_time_ms)})")
        return self.reply.data


def call_timed(client: Client, operation: str, fields: Fields) -> TimedReply:
    began_s = time.perf_counter()
    reply = client.call(operation, fields)
    return TimedReply(reply, (time.perf_counter() - began_s) * 1000)


def format_ms(milliseconds: float) -> str:
    """Write a duration with three significant digits."""
    return f"{format_number(milliseconds)} ms"


def list_fields(operation: str) -> tuple[str, Mapping[str, FieldDescriptor]]:
    """Return the fields that a user gives for an operation, and the field that they are inside, if there is one."""
    message = OPERATIONS[operation].request.DESCRIPTOR
    first = message.fields[0]
    if first.message_type and not first.is_repeated:
        return first.name, first.message_type.fields_by_name
    return "", message.fields_by_name


def parse_fields(operation: str, given: Iterable[str]) -> Fields:
    """Read `name=value` as the fields of an operation. Raises UsageError."""
    if operation not in OPERATIONS:
        raise UsageError(f"no operation {operation!r}", suggest(operation, OPERATIONS))
    around, known = list_fields(operation)
    fields = {}
    for text in given:
        name, _, value = text.partition("=")
        if name not in known:
            raise UsageError(f"{operation} has no field {name!r}", f"write FIELD=VALUE; {suggest(name, known)}")
        try:
            fields[name] = parse_value(known[name], value)
        except ValueError:
            kind = "JSON" if known[name].message_type else "a whole number"
            raise UsageError(f"{text}: {name} must be {kind}", "correct the value") from None
    return {around: fields} if around else fields


def parse_value(field: FieldDescriptor, text: str) -> Any:  # noqa: ANN401 - of any type
    """Read a value: lists have commas between their items, and messages are JSON. Raises ValueError."""
    if field.message_type:
        return orjson.loads(text)
    if field.is_repeated:
        return [each.strip() for each in text.split(",")]
    if field.type == FieldDescriptor.TYPE_BYTES:
        return text.encode()
    return int(text) if field.type == FieldDescriptor.TYPE_INT32 else text


def show_call(console: Console, timed: TimedReply, *, json: bool = False) -> None:
    """Show a reply. Raises WirebenchError if the operation failed."""
    data = timed.require_data()
    if not json:
        show_reply(console, timed)
        return
    shown = {"response_time_ms": round(timed.response_time_ms, 3), "data": data}
    encoded = orjson.dumps(shown, lambda value: base64.b64encode(value).decode(), orjson.OPT_INDENT_2)
    sys.stdout.write(f"{encoded.decode()}\n")


def show_reply(console: Console, timed: TimedReply) -> None:
    """Print the service's message, its response time, and its data: a table on a terminal, else lines with tabs."""
    reply = timed.reply
    message = f"{escape_controls(reply.message)} ({format_ms(timed.response_time_ms)})"
    console.print(Text(message), style=None if reply.ok else "red", soft_wrap=True)
    records: list[dict[str, Any]] = [reply.data] if isinstance(reply.data, dict) else reply.data or []
    if not records:
        return
    columns = list(dict.fromkeys(name for record in records for name in record))
    rows = [[_format_cell(record.get(name)) for name in columns] for record in records]
    if not console.is_terminal:
        console.file.writelines("\t".join(row) + "\n" for row in (columns, *rows))
        return
    table = Table(*columns)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)


def show_items(items: ItemStream, *, json: bool) -> None:
    """Print the items of a stream as they come, one a line; Ctrl-C cancels it. Raises WirebenchError if it fails.

    The times of the first item and of the last go to stderr.
    """
    began_s = time.perf_counter()
    count, first_ms = 0, 0.0
    for count, item in enumerate(items, start=1):
        first_ms = first_ms or (time.perf_counter() - began_s) * 1000
        if count == 1 and not json:
            sys.stdout.write("\t".join(item) + "\n")
        sys.stdout.write((orjson.dumps(item).decode() if json else "\t".join(map(_format_cell, item.values()))) + "\n")
        sys.stdout.flush()
    last_ms = (time.perf_counter() - began_s) * 1000
    if items.reply:
        TimedReply(items.reply, last_ms).require_data()
    sys.stderr.write(f"records: {count:,}; first after {format_ms(first_ms)}, last after {format_ms(last_ms)}\n")


def _format_cell(value: object) -> str:
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    text = "" if value is None else ", ".join(value) if isinstance(value, list) else str(value)
    text = escape_controls(text)
    return text if len(text) <= _CELL_CHARACTERS else f"{text[: _CELL_CHARACTERS - 1]}…"


def upper_case(client: Client, text: str) -> None:
    """Print what comes back; its response time goes to stderr, so that stdout is the text alone."""
    timed = call_timed(client, "echo.upper", {"text": text})
    sys.stdout.write(f"{timed.require_data()['text']}\n")
    sys.stdout.flush()
    sys.stderr.write(f"{format_ms(timed.response_time_ms)}\n")


def run_lines(client: Client) -> None:
    """Have each line of the input upper-cased, until it ends."""
    with contextlib.suppress(EOFError):
        while True:
            if line := read_line("> " if sys.stdin.isatty() else ""):
                upper_case(client, line)


def read_line(prompt: str) -> str:
    """Return a line without its end. Raises EOFError, and WirebenchError if it isn't text."""
    try:
        line = input(prompt)
        line.encode()  # bytes that were no UTF-8 may have come through as surrogates
    except UnicodeError:
        raise WirebenchError("the input is not valid UTF-8", "check the encoding of the terminal or file") from None
    return line.strip()


def run_menu(client: Client, console: Console, title: str) -> None:
    """Ask for an operation and its fields again and again, until the user exits or the input ends."""
    numbers = [str(number) for number in range(1, len(_MENU) + 1)]
    numbered = "  ".join(map(" ".join, zip(numbers, _MENU, strict=True)))
    with contextlib.suppress(EOFError):
        while True:
            console.print(f"\n{title}\n{numbered}", markup=False, highlight=False)
            answer = read_line("choose: ")
            choice = dict(zip(numbers, _MENU, strict=True)).get(answer, answer)
            if choice == "exit":
                return
            if choice == "demo":
                run_demo(client, console)
            elif choice in _MENU:
                show_reply(console, call_timed(client, choice, ask_fields(choice)))
            else:
                console.print(f"write a number from 1 to {len(_MENU)}, or a name", highlight=False)


def ask_fields(operation: str) -> Fields:
    """Ask for each field of an operation; an empty answer leaves it out."""
    given: list[str] = []
    for name in list_fields(operation)[1]:
        while answer := read_line(f"{name}: "):
            try:
                parse_fields(operation, [f"{name}={answer}"])
            except UsageError as error:
                sys.stdout.write(f"{error.message}\n")
            else:
                given.append(f"{name}={answer}")
                break
    return parse_fields(operation, given)


def run_demo(client: Client, console: Console) -> None:
    """Create three users, list, fetch, update and delete, show what is left, and clean up. Raises WirebenchError."""

    def step(title: str, operation: str, fields: Fields) -> None:
        console.print(f"\n{title}", style="bold", highlight=False)
        show_call(console, call_timed(client, operation, fields))

    first = _find_free_id(client, len(_PEOPLE))
    ids = range(first, first + len(_PEOPLE))
    try:
        for user_id, person in zip(ids, _PEOPLE, strict=True):
            step(f"create user {user_id}", "users.create", {"user": {"id": user_id, **person}})
        step(f"list {len(ids)} users from id {first} on", "users.list", {"after_id": first - 1, "limit": len(ids)})
        step(f"get user {ids[1]}", "users.get", {"id": ids[1]})
        step(f"update the email of user {first}", "users.update", {"id": first, "email": "countess@example.com"})
        step(f"delete user {ids[2]}", "users.delete", {"id": ids[2]})
        step("the final state", "users.list", {"after_id": first - 1, "limit": len(ids) - 1})
    finally:
        with contextlib.suppress(ClientError):
            for user_id in ids:
                client.call("users.delete", {"id": user_id})
    console.print("\nThe demo's users are deleted again.", highlight=False)


def _find_free_id(client: Client, count: int) -> int:
    """Return the first of so many ids in a row that are free."""
    first = 1
    while users := call_timed(client, "users.list", {"after_id": first - 1, "limit": 1}).require_data():
        if users[0]["id"] >= first + count:
            break
        first = users[0]["id"] + 1
    return first
