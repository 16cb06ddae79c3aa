"""PostgreSQL as the store: made ready by a command, lost and found again, and its URL never shown."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
from wirebench_services.application import seed
from wirebench_services.client import Client, ClientError
from wirebench_services.contract import STREAM

from tests.support.postgres import PostgresServer, url_file
from tests.support.services import (
    ASYNCIO,
    GOROUTINES,
    GTHREAD,
    NET_HTTP,
    RUNTIME_KINDS,
    UVICORN,
    Kind,
    Service,
    command,
    fresh_ids,
    run_to_the_end,
    started,
)
from tests.support.waiting import run_program, wait_until
from wirebench.system.paths import ROOT

ADA = {"name": "Ada", "email": "ada@example.com"}
FULL: dict[str, Any] = {
    "id": 1,
    **ADA,
    "phone": "+41 44 000 00 00",
    "address": "Street 1",
    "bio": "ÄÖÜ 漢字",
    "tags": ["a", "b"],
    "avatar": b"\x00\xff",
}


def migrate(url: str, *flags: str) -> subprocess.CompletedProcess[str]:
    """Run the command that makes a database ready."""
    return run_program(
        [Path(sys.executable).with_name("wirebench-store"), "migrate", *flags],
        env={**os.environ, "WIREBENCH_STORE_URL": url},
        cwd=ROOT,
    )


@contextlib.contextmanager
def all_runtimes(folder: Path, url: str) -> Iterator[list[Service]]:
    """Start a service of each runtime, all on one database."""
    flags = ("--store-url-file", url_file(folder, url), "--store-timeout-s", 10)
    starting = [started(kind._replace(store="postgres"), folder, *flags) for kind in RUNTIME_KINDS]
    with contextlib.ExitStack() as stack, ThreadPoolExecutor(len(starting)) as pool:
        yield list(pool.map(stack.enter_context, starting))


def says(client: Client) -> str:
    """Return how a service fails to return a seeded user."""
    try:
        reply = client.call("users.get", {"id": seed.FIRST_SEEDED_ID})
    except ClientError as error:  # to gRPC's clients, a service that can't be reached says the same
        return error.message
    return f"{reply.code}: {reply.message}"


@pytest.mark.slow
def test_a_service_recovers_from_an_outage(postgres: PostgresServer, tmp_path: Path) -> None:
    """Without its database every runtime answers UNAVAILABLE and isn't ready; when it is back, so is the service."""
    with all_runtimes(tmp_path, postgres.fresh()) as services, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(service.connect()) for service in services]
        assert ["ok: User retrieved successfully"] * len(clients) == [says(client) for client in clients]
        try:
            postgres.stop()
            with ThreadPoolExecutor(len(clients)) as pool:
                said = list(pool.map(says, clients))
            for service, words in zip(services, said, strict=True):
                assert words.endswith("The store is unavailable. Try again later."), service.kind
                assert words.startswith("unavailable: ") or service.kind.transport == "grpc"
            assert [(503, 200)] * len(clients) == [
                (each.admin("/readyz")[0], each.admin("/livez")[0]) for each in services
            ]
            assert ["ok"] * len(clients) == [
                client.call("echo.upper", {"text": "still here"}).code for client in clients
            ]
        finally:
            postgres.up()
        for service in services:
            wait_until(service.is_ready, "the service is ready again")
        created = [client.call("users.create", {"user": {"id": next(fresh_ids), **ADA}}) for client in clients]
        assert ["ok"] * len(clients) == [reply.code for reply in created]


@pytest.mark.slow
def test_unexpected_errors(postgres: PostgresServer, tmp_path: Path) -> None:
    """Every runtime answers with the same words, and goes on; the log has the reason."""
    url = postgres.fresh()
    with all_runtimes(tmp_path, url) as services, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(service.connect()) for service in services]
        with psycopg.connect(url) as connection:
            connection.execute("ALTER TABLE users DROP COLUMN bio")
            connection.execute("ALTER TABLE transactions DROP COLUMN reference")
        assert ["internal: Internal error."] * len(clients) == [says(client) for client in clients]
        assert all(client.call("echo.upper", {"text": "still here"}).ok for client in clients)
        for service, client in zip(services, clients, strict=True):
            if service.kind.transport == "rest":
                reply = service.request("GET", "/api/users/1000001")
                assert (500, b'{"success":false,"data":null,"message":"Internal error."}') == (reply.status, reply.body)
                event = b'event: error\ndata: {"message":"Internal error."}\n\n'
                assert event == service.request("GET", "/transactions/stream").body.replace(b'": "', b'":"')
            if service.kind.transport != "socket":
                assert "Internal error." == list(client.stream(STREAM, {}))[-1].message
                service.settle()
                assert service.counts()[STREAM, "internal"]
            assert re.search("Traceback|the store failed", service.logged()), service.kind


@pytest.mark.parametrize("kind", [GTHREAD, NET_HTTP], ids=str)
def test_an_empty_database_is_not_ready(postgres: PostgresServer, kind: Kind, tmp_path: Path) -> None:
    """A database without tables is left as it is: someone may restore a dump. The reason names the command."""
    url = postgres.fresh()
    with started(kind._replace(store="postgres"), tmp_path, "--store-url-file", url_file(tmp_path, url)) as service:
        postgres.replace(url)
        reason = "the database has no wirebench tables; run: wirebench-store migrate\n"
        assert (503, reason) == service.admin("/readyz")
        with psycopg.connect(url) as connection:
            assert (None,) == connection.execute("SELECT to_regclass('users')").fetchone()
        assert 0 == migrate(url).returncode
        assert service.is_ready()


@pytest.mark.parametrize("kind", [UVICORN, NET_HTTP], ids=str)
def test_a_statement_that_takes_too_long_is_cancelled(postgres: PostgresServer, kind: Kind, tmp_path: Path) -> None:
    """A row that another client holds delays no request for longer than the timeout."""
    url = postgres.fresh()
    flags = ("--store-url-file", url_file(tmp_path, url), "--store-timeout-s", 2)
    with (
        started(kind._replace(store="postgres"), tmp_path, *flags) as service,
        service.connect() as client,
        psycopg.connect(url) as holder,
    ):
        holder.execute("SELECT 1 FROM users WHERE id = 1000001 FOR UPDATE")
        reply = client.call("users.delete", {"id": 1_000_001})
        assert ("unavailable", "The store took too long. Try again later.") == (reply.code, reply.message)
        assert client.call("users.get", {"id": 1_000_001}).ok
        holder.rollback()
        assert client.call("users.delete", {"id": 1_000_001}).ok


@pytest.mark.parametrize("kind", [GTHREAD, GOROUTINES], ids=str)
def test_workers_share_connections_and_users(postgres: PostgresServer, kind: Kind, tmp_path: Path) -> None:
    """More requests at once than connections wait for one, and what one worker has written, all read."""
    url = postgres.fresh()
    flags = ("--store-url-file", url_file(tmp_path, url), *kind.doubled, "--store-connections", 2)
    with started(kind._replace(store="postgres"), tmp_path, *flags) as service, psycopg.connect(url) as watcher:

        def create(first_id: int) -> list[str]:
            with service.connect() as client:
                users = [{"id": user_id, **ADA} for user_id in range(first_id, first_id + 20)]
                return [client.call("users.create", {"user": user}).code for user in users]

        with ThreadPoolExecutor(8) as pool:
            assert [["ok"] * 20] * 8 == list(pool.map(create, range(1, 161, 20)))
        for _ in range(8):  # each connection may be another worker's
            with service.connect() as client:
                assert client.call("users.get", {"id": 160}).ok
        held = watcher.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE application_name = 'wirebench' AND datname = current_database()"
        ).fetchone()
        assert held
        assert 1 < held[0] <= 2 * 2 + 1  # two of each worker, and one of /readyz


def test_replicas_that_migrate_at_once_do_it_once(postgres: PostgresServer) -> None:
    """One makes and fills the tables; the other waits, and finds nothing to do."""
    url = postgres.empty()
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(migrate, [url] * 2))
    assert [0] * 2 == [each.returncode for each in done]
    printed = sorted(each.stdout for each in done)
    nothing = "wirebench-store: nothing to do\n"
    assert ["wirebench-store: created balances, transactions, users\n", nothing] == printed
    with psycopg.connect(url) as connection:
        counts = [
            connection.execute(f"SELECT count(*) FROM {table}".encode()).fetchone()  # noqa: S608
            for table in ("users", "balances", "transactions")
        ]
    assert [(10_000,), (seed.ACCOUNTS,), (seed.TRANSACTIONS,)] == counts


@pytest.mark.parametrize("kind", [GTHREAD, NET_HTTP], ids=str)
def test_a_server_that_is_not_there(kind: Kind, tmp_path: Path) -> None:
    """The service says why it can't connect, in one line without the password."""
    url = url_file(tmp_path, "postgresql://me:s3cret@127.0.0.1:1/db")
    status, (line,) = run_to_the_end(tmp_path, kind, "--store", "postgres", "--store-url-file", url, "--port", 0)
    assert 1 == status
    assert "connection refused" in line.lower()
    assert "s3cret" not in line


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("", "set WIREBENCH_STORE_URL=postgresql://USER:PASSWORD@HOST:PORT/DATABASE, or name a file"),
        ("postgresql://me:s3cret%zz@127.0.0.1/db", "WIREBENCH_STORE_URL: is not a URL of the form"),
    ],
)
def test_a_url_that_is_none_is_rejected_and_not_shown(monkeypatch: pytest.MonkeyPatch, url: str, expected: str) -> None:
    """By the services of both languages: one line, status 2, and no word of what was given."""
    monkeypatch.setenv("WIREBENCH_STORE_URL", url)
    for kind in (ASYNCIO, NET_HTTP):
        done = run_program(command(kind, "--store", "postgres"), cwd=ROOT)
        assert 2 == done.returncode
        assert expected in done.stderr
        assert "s3cret" not in done.stderr


def test_a_password_is_never_shown(postgres: PostgresServer, tmp_path: Path) -> None:
    """It stands in no command line and in no log, neither of a service that runs nor of one that is rejected."""
    url = postgres.fresh()
    password = url.partition("wirebench:")[2].partition("@")[0]
    kind = ASYNCIO._replace(store="postgres")
    with started(kind, tmp_path, "--store-url-file", url_file(tmp_path, url)) as service:
        processes = [service.process.pid, *(each.pid for each in psutil.Process(service.process.pid).children())]
        lines = [Path(f"/proc/{pid}/cmdline").read_text() for pid in processes]
        assert len(lines) > 1
        assert password not in "".join(lines) + service.logged()

    wrong = url_file(tmp_path, url.replace(password, "wr0ng"))
    status, (line,) = run_to_the_end(tmp_path, GTHREAD, "--store", "postgres", "--store-url-file", wrong, "--port", 0)
    assert 1 == status
    assert 'password authentication failed for user "wirebench"' in line
    assert "wr0ng" not in line


@pytest.mark.parametrize(("first", "second"), [(GTHREAD, NET_HTTP), (NET_HTTP, GTHREAD)], ids=str)
def test_both_languages_share_a_database(first: Kind, second: Kind, postgres: PostgresServer, tmp_path: Path) -> None:
    """What one language writes, the other one reads and changes: every column."""
    flags = ("--store-url-file", url_file(tmp_path, postgres.fresh()))
    empty = {"id": 2, **ADA, "bio": "", "avatar": b""}
    with started(first._replace(store="postgres"), tmp_path, *flags) as service, service.connect() as client:
        assert client.call("users.create_batch", {"users": [FULL, empty]}).ok

    with started(second._replace(store="postgres"), tmp_path, *flags) as service, service.connect() as client:
        assert [FULL, empty] == client.call("users.list", {"limit": 2}).data
        changes = {"id": 1, "tags": ["c"], "avatar": b""}
        assert {**FULL, **changes} == client.call("users.update", changes).data
        assert client.call("ledger.get_balance", {"account_id": 1}).ok
        *items, _ = client.stream("ledger.stream_transactions", {"limit": 200})
        assert list(range(1, 201)) == [each["id"] for each in items]
