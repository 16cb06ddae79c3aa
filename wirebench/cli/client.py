"""`wirebench client`: one call, an interactive menu, a demo. Operations and fields are those of the contract."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import random
import re
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from typing import Annotated, Any

import typer
from google.protobuf.descriptor import FieldDescriptor
from wirebench_services.client import OPERATIONS, Client, ClientError, Fields, Reply

from wirebench.cli.console import escape_controls
from wirebench.cli.options import TlsOptions
from wirebench.errors import UsageError, WirebenchError, suggest
from wirebench.measure.client import connect
from wirebench.model.application import load_builtin
from wirebench.model.contract import Transport
from wirebench.present.numbers import format_number

_PORTS = {"rest": 5000, "grpc": 50051, "socket": 9000}
_MENU = (*OPERATIONS, "demo", "exit")
_DEMO_IDS = (10**9, 2 * 10**9)
_PEOPLE: tuple[Fields, ...] = (
    {"name": "Ada Lovelace", "email": "ada@example.com", "tags": ["mathematics", "engines"]},
    {"name": "Grace Hopper", "email": "grace@example.com", "bio": "Wrote the first linker."},
    {"name": "Alan Turing", "email": "alan@example.com"},
)


def client(  # noqa: PLR0913 - an option is an argument
    transport: Annotated[Transport, typer.Argument(metavar="TRANSPORT", help="rest, grpc or socket.")],
    call: Annotated[
        list[str] | None, typer.Argument(metavar="OPERATION FIELD=VALUE…", help="One call; without it, a menu.")
    ] = None,
    *,
    demo: Annotated[bool, typer.Option("--demo", help="Create, list, fetch, update and delete three users.")] = False,
    address: Annotated[
        str | None, typer.Option(metavar="ADDR", help="HOST:PORT; default: WIREBENCH_REST (_GRPC, _SOCKET), or here.")
    ] = None,
    timeout_s: Annotated[float, typer.Option(metavar="N", min=0.01, max=3600, help="Seconds to wait.")] = 5.0,
    tls_files: TlsOptions,
) -> None:
    """Talk to a service: one call, an interactive menu, or a demo.

    The menu comes without a call; with socket, lines are upper-cased instead. Data is printed as JSON, a record a line;
    message and response time go to stderr. An address with https:// before it speaks TLS.

    wirebench client rest users.get id=1000001
    wirebench client grpc --demo
    """
    if demo and call:
        raise UsageError("--demo excludes a call", "give one of them")
    operation, *given = call or [""]
    fields = parse_fields(operation, given) if operation else {}
    where = address or os.environ.get(f"WIREBENCH_{transport.upper()}") or f"127.0.0.1:{_PORTS[transport]}"
    with connect(transport, where, tls=tls_files.load(), timeout_s=timeout_s) as connected:
        if operation:
            call_and_show(connected, operation, fields)
        elif demo:
            run_demo(connected)
        elif transport == "socket":
            run_lines(connected)
        else:
            run_menu(connected, f"{transport} at {where}")


def list_fields(operation: str) -> tuple[str, Mapping[str, FieldDescriptor]]:
    """Return the fields that a user gives for an operation, and the field that they are inside, if there is one."""
    message = OPERATIONS[operation].request.DESCRIPTOR
    first = message.fields[0]
    if first.message_type and not first.is_repeated:
        return first.name, first.message_type.fields_by_name
    return "", message.fields_by_name


def parse_fields(operation: str, given: Sequence[str]) -> Fields:
    """Read `name=value` as the fields of an operation. Raises UsageError."""
    if operation not in OPERATIONS:
        raise UsageError(f"no operation {operation!r}", suggest(operation, OPERATIONS))
    around, known = list_fields(operation)
    values = dict(text.partition("=")[::2] for text in given)
    if unknown := values.keys() - known:
        name = min(unknown)
        raise UsageError(f"{operation} has no field {name!r}", f"write FIELD=VALUE; {suggest(name, known)}")
    try:
        parsed = {name: _parse_value(known[name], value) for name, value in values.items()}
        fields = {around: parsed} if around else parsed
        OPERATIONS[operation].request(**fields)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{operation} {' '.join(given)}: {error}", "correct the values") from None
    return fields


def _parse_value(field: FieldDescriptor, text: str) -> Any:  # noqa: ANN401 - of any type
    """Read a value: lists have commas between their items, and messages are JSON. Raises ValueError."""
    if field.message_type:
        return json.loads(text)
    if field.is_repeated:
        return [each.strip() for each in text.split(",")]
    if field.type == FieldDescriptor.TYPE_BYTES:
        return text.encode()
    if field.type == FieldDescriptor.TYPE_INT32 and not re.fullmatch(r"-?\d+", text):
        raise ValueError(f"{field.name} must be a whole number, as {field.name}=1")
    return int(text) if field.type == FieldDescriptor.TYPE_INT32 else text


def call_and_show(client: Client, operation: str, fields: Fields) -> None:
    """Carry out an operation and print what comes, the items of a stream one by one.

    Raises WirebenchError, in the service's words, if the operation fails.
    """
    began_s = time.perf_counter()
    if load_builtin().operations[operation].stream:
        reply = _show_items(client.stream(operation, fields))
    else:
        reply = client.call(operation, fields)
    took = f"{format_number((time.perf_counter() - began_s) * 1000)} ms"
    if not reply.ok:
        raise WirebenchError(f"{reply.message or reply.code} ({took})")
    sys.stderr.write(f"{escape_controls(reply.message)} ({took})\n".lstrip())
    for record in reply.data if isinstance(reply.data, list) else [reply.data] * bool(reply.data):
        _print_record(record)


def _show_items(stream: Generator[Any]) -> Reply:
    """Print items as they come, and return the reply at their end. Ctrl-C cancels the stream."""
    with contextlib.closing(stream):
        for item in stream:
            if isinstance(item, Reply):
                return item
            _print_record(item)
    return Reply("cancelled", "")


def _print_record(record: object) -> None:
    """Print JSON with control characters escaped: what others have stored must not steer our terminal."""
    text = json.dumps(record, ensure_ascii=False, default=lambda value: base64.b64encode(value).decode())
    sys.stdout.write("".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in text) + "\n")
    sys.stdout.flush()


def run_lines(client: Client) -> None:
    """Have each line of the input upper-cased, until it ends."""
    with contextlib.suppress(EOFError):
        while True:
            if line := _read_line("> " if sys.stdin.isatty() else ""):
                reply = client.call("echo.upper", {"text": line})
                sys.stdout.write(escape_controls(f"{reply.data['text'] if reply.ok else reply.message}\n"))


def _read_line(prompt: str) -> str:
    """Return a line. Raises EOFError, and WirebenchError if it isn't text."""
    try:
        line = input(prompt)
        line.encode()  # bytes that were no UTF-8 may have come through as surrogates
    except UnicodeError:
        raise WirebenchError("the input is not valid UTF-8", "check the encoding of the terminal or file") from None
    return line.strip()


def run_menu(client: Client, title: str) -> None:
    """Ask for an operation and its fields again and again, until the user exits or the input ends."""
    choices = {str(number): name for number, name in enumerate(_MENU, start=1)}
    shown = "\n".join(map("  ".join, choices.items()))
    with contextlib.suppress(EOFError):
        while True:
            answer = _read_line(f"\n{title}\n{shown}\nchoose: ")
            choice = choices.get(answer, answer)
            if choice == "exit":
                return
            try:
                if choice == "demo":
                    run_demo(client)
                else:
                    call_and_show(client, choice, _ask_fields(choice))
            except WirebenchError as error:
                sys.stderr.write(f"{escape_controls(error.message)}\n")


def _ask_fields(operation: str) -> Fields:
    """Ask for each field of an operation; an empty answer leaves it out. Raises UsageError."""
    parse_fields(operation, ())
    answers = {name: _read_line(f"{name}: ") for name in list_fields(operation)[1]}
    return parse_fields(operation, [f"{name}={answer}" for name, answer in answers.items() if answer])


def run_demo(client: Client) -> None:
    """Create three users, list, fetch, update and delete, show what is left, and clean up. Raises WirebenchError."""
    first = random.randrange(*_DEMO_IDS)  # noqa: S311 - no secret, and so far from others that they are free
    ids = range(first, first + len(_PEOPLE))
    created = [{"id": user_id, **person} for user_id, person in zip(ids, _PEOPLE, strict=True)]
    steps: list[tuple[str, str, Fields]] = [
        *((f"create user {user['id']}", "users.create", {"user": user}) for user in created),
        (f"list {len(ids)} users from id {first} on", "users.list", {"after_id": first - 1, "limit": len(ids)}),
        (f"get user {ids[1]}", "users.get", {"id": ids[1]}),
        (f"update the email of user {first}", "users.update", {"id": first, "email": "countess@example.com"}),
        (f"delete user {ids[2]}", "users.delete", {"id": ids[2]}),
        ("the final state", "users.list", {"after_id": first - 1, "limit": len(ids) - 1}),
    ]
    try:
        for title, operation, fields in steps:
            sys.stderr.write(f"\n{title}\n")
            call_and_show(client, operation, fields)
    finally:
        with contextlib.suppress(ClientError):
            for user_id in ids:
                client.call("users.delete", {"id": user_id})
    sys.stderr.write("\nThe demo's users are deleted again.\n")
