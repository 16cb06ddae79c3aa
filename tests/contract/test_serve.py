"""`wirebench serve`: what happens to it while it runs, and how it ends."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import psycopg
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from tests.support.command_line import wirebench
from tests.support.postgres import PostgresServer
from tests.support.report_run import RunBuilder, cell
from tests.support.waiting import TIMEOUT_S
from tests.support.web import Site, served, serving
from wirebench.web.api import ENDPOINTS
from wirebench.web.api.openapi import make_openapi

RUN = "20260101T000000Z-quick"


def write_run(folder: Path, name: str = RUN, **info: object) -> None:
    """Write a small run."""
    RunBuilder(cells=[cell("rest")], blocks=1, samples=20, info={"id": name, **info}).write(folder)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_when_asked(tmp_path: Path, number: signal.Signals) -> None:
    """Soon, quietly and with status 0, even if clients keep connections open or have sent half a request."""
    write_run(tmp_path)
    with serving(tmp_path) as (process, site):
        assert 1 == site.until("/runs", 1)["count"]
        host, port = site.url.removeprefix("http://").rstrip("/").split(":")
        with socket.create_connection((host, int(port))) as idle, socket.create_connection((host, int(port))) as half:
            idle.sendall(b"GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert idle.recv(15) == b"HTTP/1.1 200 OK"
            half.sendall(b"GET /api/v1/runs HTTP/1.1\r\nHo")
            process.send_signal(number)
            assert ("", "") == process.communicate(timeout=TIMEOUT_S)
        assert 0 == process.returncode


def test_wrong_usage_is_rejected(tmp_path: Path) -> None:
    """A port that is in use, an address that isn't ours, a folder that isn't there: one line and the next step."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for arguments, message in (
            (
                ["--port", port, "--out", tmp_path],
                f"error: can't listen on 127.0.0.1, port {port}: address already in use",
            ),
            (["--host", "192.0.2.1", "--out", tmp_path], "error: can't listen on 192.0.2.1, port 8400: "),
            (["--out", tmp_path / "none"], f"error: --out {tmp_path}/none: no such folder"),
        ):
            ended = wirebench("serve", *arguments)
            first, second = ended.stderr.splitlines()
            assert (2, "", message) == (ended.status, ended.stdout, first[: len(message)])
            assert second.startswith("next: ")


def test_a_lost_database_is_said_until_it_is_back(tmp_path: Path, postgres: PostgresServer) -> None:
    """With 503 and the reason; what is read from the folder still works, and afterwards all is as it was."""
    write_run(tmp_path)
    url = postgres.empty()
    with served(tmp_path, url) as site:
        site.until("/runs", 1)
        postgres.stop()
        try:
            answer = site.ask("/api/v1/runs")
            assert (HTTPStatus.SERVICE_UNAVAILABLE, "5") == (answer.status, answer.headers["retry-after"])
            assert "can't be used" in answer.json["error"]["message"]
            assert "wirebench:" not in answer.json["error"]["message"]
            assert RUN == site.get(f"/runs/{RUN}")["run"]["id"]
        finally:
            postgres.up()
        assert 1 == site.get("/runs")["total"]
        write_run(tmp_path, "20260102T000000Z-quick")
        site.until("/runs", 2)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("DROP SCHEMA public CASCADE")
            connection.execute("CREATE SCHEMA public")
        assert 2 == site.get("/runs")["total"]  # created again, and filled from the folder


schema = schemathesis.openapi.from_dict(make_openapi(ENDPOINTS))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Return a server over one run, for requests that are made up."""
    folder = tmp_path_factory.mktemp("served")
    write_run(folder)
    with served(folder, runs=1) as running:
        yield running


@schema.parametrize()
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
def test_requests_made_from_the_description(case: schemathesis.Case[Any], site: Site) -> None:
    """No request breaks the server, and status, headers and body of its answer are described.

    What is rejected is said in test_api.py: here a `null` is taken for no name, which as text it is.
    """
    case.call_and_validate(
        base_url=f"{site.url}api/v1",
        checks=[
            not_a_server_error,
            status_code_conformance,
            content_type_conformance,
            response_headers_conformance,
            response_schema_conformance,
            unsupported_method,
        ],
    )
