"""PostgreSQL as the store of the services in Go: outages, slow statements, missing tables, and waits."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from wirebench_services.application import seed

from tests.contract.services import GO_KINDS, GOROUTINES, NET_HTTP, Kind, Service, run_to_the_end, started, wait_until
from tests.postgres import PostgresServer, url_file
from wirebench.clients import Client, ClientError

ADA = {"name": "Ada", "email": "ada@example.com"}

every_transport = pytest.mark.parametrize("kind", GO_KINDS, ids=str)


@contextlib.contextmanager
def started_on(kind: Kind, folder: Path, url: str, *flags: object) -> Iterator[Service]:
    """Start a service on a database."""
    with started(kind._replace(store="postgres"), folder, "--store-url-file", url_file(folder, url), *flags) as service:
        yield service


def get_seeded(client: Client) -> str:
    """Return how a service answers with a seeded user."""
    try:
        reply = client.call("users.get", {"id": seed.FIRST_SEEDED_ID})
    except ClientError as error:  # to gRPC's clients, a service that can't be reached says the same
        return error.message
    return f"{reply.code}: {reply.message}"


@every_transport
def test_an_outage_ends(postgres: PostgresServer, kind: Kind, tmp_path: Path) -> None:
    """Without its database a service answers UNAVAILABLE and isn't ready; when it is back, so is the service."""
    with started_on(kind, tmp_path, postgres.fresh(), "--store-timeout-s", 1) as service, service.connect() as client:
        assert "ok: User retrieved successfully" == get_seeded(client)
        try:
            postgres.stop()
            assert get_seeded(client).endswith("The store is unavailable. Try again later.")
            assert (503, 200) == (service.admin("/readyz")[0], service.admin("/livez")[0])
            assert client.call("echo.upper", {"text": "still here"}).ok
        finally:
            postgres.up()
        wait_until(lambda: service.admin("/readyz")[0] == 200, "the service is ready again")
        wait_until(lambda: get_seeded(client) == "ok: User retrieved successfully", "the service answers again")


def test_a_statement_that_takes_too_long_is_cancelled(postgres: PostgresServer, tmp_path: Path) -> None:
    """A row that somebody else has locked keeps nobody for longer than the timeout."""
    url = postgres.fresh()
    with (
        started_on(NET_HTTP, tmp_path, url, "--store-timeout-s", 0.3) as service,
        service.connect() as client,
        psycopg.connect(url) as holder,
    ):
        holder.execute("SELECT 1 FROM users WHERE id = 1000001 FOR UPDATE")
        reply = client.call("users.delete", {"id": 1_000_001})
        assert ("unavailable", "The store took too long. Try again later.") == (reply.code, reply.message)
        holder.rollback()
        assert client.call("users.delete", {"id": 1_000_001}).ok


def test_missing_tables_are_named(postgres: PostgresServer, tmp_path: Path) -> None:
    """A service doesn't start without its tables, isn't ready when it has lost them, and says what to do."""
    next_step = "the database has no wirebench tables; run: wirebench-store migrate"
    flags = ("--store", "postgres", "--store-url-file", url_file(tmp_path, postgres.empty()), "--port", 0)
    status, (line,) = run_to_the_end(tmp_path, NET_HTTP, *flags)
    assert (1, f"wirebench-go rest: can't use the store: {next_step}") == (status, line)

    url = postgres.fresh()
    with started_on(NET_HTTP, tmp_path, url) as service:
        postgres.replace(url)
        assert (503, f"{next_step}\n") == service.admin("/readyz")


def test_waits_for_connections_are_counted(postgres: PostgresServer, tmp_path: Path) -> None:
    """More requests at once than connections wait for one, and none is lost."""
    with started_on(GOROUTINES, tmp_path, postgres.fresh(), "--store-connections", 2) as service:

        def create(first_id: int) -> list[str]:
            with service.connect() as client:
                users = [{"id": user_id, **ADA} for user_id in range(first_id, first_id + 20)]
                return [client.call("users.create", {"user": user}).code for user in users]

        with ThreadPoolExecutor(8) as pool:
            assert [["ok"] * 20] * 8 == list(pool.map(create, range(1, 161, 20)))
        ((_, count),) = service.samples("wirebench_store_wait_seconds_count")
        ((_, total_s),) = service.samples("wirebench_store_wait_seconds_sum")
        assert count >= 160
        assert total_s > 0


@pytest.mark.parametrize("url", ["", "postgresql://me:s3cret%zz@127.0.0.1/db", "mysql://me:s3cret@127.0.0.1/db"])
def test_an_invalid_url_is_rejected_and_not_shown(monkeypatch: pytest.MonkeyPatch, url: str, tmp_path: Path) -> None:
    """One line, status 2, and nothing of what was given."""
    monkeypatch.setenv("WIREBENCH_STORE_URL", url)
    status, (line,) = run_to_the_end(tmp_path, NET_HTTP, "--store", "postgres")
    assert 2 == status
    assert "postgresql://USER:PASSWORD@HOST:PORT/DATABASE" in line
    assert "s3cret" not in line
