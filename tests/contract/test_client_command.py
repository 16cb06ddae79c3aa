"""`wirebench client` against real services, and against what isn't one."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from tests.support.command_line import Ended, wirebench
from tests.support.services import ASYNCIO, GRPC_SYNC, UVICORN, Service, fresh_ids, started

#: How response times are written: three digits.
MS = r"(?:\d\.\d\d|\d\d\.\d|\d{3}|\d+,\d{3}|0\.0?\d{3}) ms"
TRANSPORTS = ("rest", "grpc", "socket")


@pytest.fixture(scope="module")
def services(logs: Path) -> Iterator[dict[str, Service]]:
    """Return a running service of each transport."""
    with started(UVICORN, logs) as rest, started(GRPC_SYNC, logs) as grpc, started(ASYNCIO, logs) as socket_service:
        yield {"rest": rest, "grpc": grpc, "socket": socket_service}


def run(*arguments: object, typed: str = "") -> Ended:
    """Run a client command."""
    with patch.object(sys, "stdin", io.StringIO(typed)):
        return wirebench("client", *arguments)


def complaint(done: Ended) -> str:
    """Return what went wrong: one line, and one that says what to do next."""
    assert "" == done.stdout
    error, _, hint = done.stderr.rstrip("\n").partition("\n")
    assert error.startswith("error: ")
    assert re.fullmatch(r"(next: [^\n]+)?", hint)
    return error.removeprefix("error: ")


def records_of(done: Ended) -> list[dict[str, object]]:
    """Return what a successful command printed: a record a line."""
    assert 0 == done.status, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_calls(services: dict[str, Service], transport: str) -> None:
    """Users are created, got, changed, listed and deleted from the command line, on every transport."""
    at = (transport, "--address", services[transport].address)
    user_id = next(fresh_ids)
    ada = {"id": user_id, "name": "\x1b[31mAda", "email": "ada@example.com", "tags": ["x", "y"], "avatar": "cGhvdG8="}
    changed = {**ada, "phone": "+44"}
    fields = (f"id={user_id}", "name=\x1b[31mAda", "email=ada@example.com", "tags=x, y", "avatar=photo")

    created = run(*at, "users.create", *fields)

    assert [ada] == records_of(created)
    assert "\\u001b[31mAda" in created.stdout, "nothing steers the terminal"
    assert re.fullmatch(rf"User created successfully \({MS}\)\n", created.stderr)
    assert [changed] == records_of(run(*at, "users.update", f"id={user_id}", "phone=+44"))
    assert [changed] == records_of(run(*at, "users.list", f"after_id={user_id - 1}", "limit=1"))
    assert [changed] == records_of(run(*at, "users.delete", f"id={user_id}"))
    gone = run(*at, "users.get", f"id={user_id}")
    assert 1 == gone.status
    assert re.fullmatch(rf"User not found\. \({MS}\)", complaint(gone))


@pytest.mark.parametrize("transport", ["rest", "grpc"])
def test_a_stream(services: dict[str, Service], transport: str) -> None:
    """Its items come one a line; a rejection is an error."""
    stream = (transport, "--address", services[transport].address, "ledger.stream_transactions")

    assert [1, 2, 3] == [record["id"] for record in records_of(run(*stream, "limit=3"))]
    assert "Field 'limit' must be between 1 and 100000." in complaint(run(*stream, "limit=0"))


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_demo(services: dict[str, Service], transport: str) -> None:
    """The demo shows every step, and leaves nothing behind."""
    service = services[transport]
    with service.connect() as client:
        before = client.call("users.list", {}).data
        done = run(transport, "--address", service.address, "--demo")
        assert ["Ada Lovelace", "Grace Hopper"] == [record["name"] for record in records_of(done)[-2:]]
        for verb, times in {"created": 3, "retrieved": 1, "updated": 1, "deleted": 1}.items():
            assert times == done.stderr.count(f"User {verb} successfully"), verb
        assert 2 == done.stderr.count("Users retrieved successfully")
        assert before == client.call("users.list", {}).data


@pytest.mark.parametrize("transport", ["rest", "grpc"])
def test_menu(services: dict[str, Service], transport: str) -> None:
    """The menu does what it says, asks again after a wrong answer, and continues after a rejection."""
    user_id = next(fresh_ids)
    typed = [
        *["99", "", "nope"],
        *["1", "x", "Ada", "ada@example.com", "", "", "", "", ""],
        *["users.create", str(user_id), "Ada", "ada@example.com", "", "", "", "a, b", ""],
        *["3", str(user_id), "", "new@example.com", "+44", "", "", "", ""],
        *["users.delete", str(user_id)],
        *["2", str(user_id)],
        "exit",
    ]

    done = run(transport, "--address", services[transport].address, typed="\n".join(typed))

    assert 0 == done.status
    assert ["no operation '99'", "no operation ''", "no operation 'nope'"] == done.stderr.splitlines()[:3]
    assert "users.create id=x name=Ada email=ada@example.com: id must be a whole number" in done.stderr
    for message in ("User created", "User updated", "User deleted"):
        assert f"{message} successfully" in done.stderr
    assert '"email": "new@example.com", "phone": "+44", "tags": ["a", "b"]' in done.stdout
    assert re.search(rf"User not found\. \({MS}\)", done.stderr)


@pytest.mark.parametrize(
    "arguments",
    [
        ("rest", "--address", "127.0.0.1:70000"),
        ("grpc", "users.get", "id=x"),
        ("grpc", "users.get", "nope=1"),
        ("grpc", "users.get", "7"),
        ("rest", "users.create_batch", "users=[{"),
        ("rest", "users.drop"),
        ("rest", "--nonsense"),
        ("rest", "users.get", "id=7", "--demo"),
        ("nope",),
    ],
    ids=lambda arguments: " ".join(map(str, arguments)),
)
def test_wrong_usage(arguments: tuple[str, ...]) -> None:
    """Wrong usage ends with 2, one line that says what is wrong, and one that says what to do."""
    done = run(*arguments)

    assert 2 == done.status
    assert complaint(done)
    assert "next: " in done.stderr
