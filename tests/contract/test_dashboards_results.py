"""The dashboard of results: every panel and variable, on a PostgreSQL that has the index of runs, as its reader."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from psycopg.rows import dict_row
from sqlalchemy import make_url

from grafana.board import POSTGRESQL, Board, Chart, Variable
from grafana.boards import BOARDS
from tests.support.postgres import PostgresServer
from tests.support.report_run import GENERATOR_GATE, RunBuilder, passed
from wirebench.errors import UsageError
from wirebench.results.index import Filters, Index, IndexUnusableError
from wirebench.results.index.reader import READER, grant_reading

PASSWORD = "it's_$one"  # noqa: S105 - of this test alone
SCENARIO = "quick, or 'not'"
MACHINE = "a CPU, 4 cores"
TRANSPORTS = {"rest", "grpc", "socket"}

OURS = [board for board in BOARDS if board.datasource is POSTGRESQL]
CHARTS = [pytest.param(board, chart, id=chart.title) for board in OURS for chart in board.charts()]
VARIABLES = [pytest.param(board, variable, id=variable.name) for board in OURS for variable in board.variables]


class Reader:
    """Asks the index as Grafana asks it."""

    def __init__(self, url: str) -> None:
        self.url = url

    def query(self, sql: str) -> list[dict[str, Any]]:
        """Return what SQL gives."""
        with psycopg.connect(self.url, row_factory=dict_row) as connection:
            return connection.execute(sql.encode()).fetchall()

    def chosen(self, board: Board, sql: str) -> str:
        """Put in what Grafana puts in: the first choice of a single one, everything for several; the last 90 days."""
        for name in set(re.findall(r"\$\{(\w+):sqlstring}", sql)):
            (variable,) = (each for each in board.variables if each.name == name)
            choices = self.choices(board, variable)
            texts = ["'" + choice.replace("'", "''") + "'" for choice in choices]
            sql = sql.replace(f"${{{name}:sqlstring}}", ",".join(texts if variable.several else texts[:1]))
        now = datetime.now(UTC)
        since = now - timedelta(days=90)
        return re.sub(r"\$__timeFilter\((\w+)\)", rf"\1 BETWEEN '{since.isoformat()}' AND '{now.isoformat()}'", sql)

    def choices(self, board: Board, variable: Variable) -> list[str]:
        """Return the values that a variable offers."""
        rows = self.query(self.chosen(board, variable.query))
        return [value for row in rows for value in row.values()]


@pytest.fixture(scope="module")
def owner(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the URL of an index of two runs of a scenario, with a gate that failed."""
    url = postgres.empty()
    folder = tmp_path_factory.mktemp("results")
    for days in (2, 1):
        started_at = datetime.now(UTC) - timedelta(days=days)
        info = {
            "id": f"{started_at:%Y%m%dT%H%M%SZ}-quick",
            "scenario": SCENARIO,
            "started_at": started_at.isoformat(timespec="seconds"),
            "machine": {"cpu": "a CPU", "cores": "4"},
        }
        RunBuilder(blocks=2, gates=(passed(), GENERATOR_GATE), info=info).write(folder)
    grant_reading(url, PASSWORD)
    with Index(url) as index:
        assert 2 == index.catch_up(folder).runs
    return url


@pytest.fixture(scope="module")
def reader(owner: str) -> Reader:
    """Return what asks as the reader."""
    return Reader(make_url(owner).set(username=READER, password=PASSWORD).render_as_string(hide_password=False))


@pytest.mark.parametrize(("board", "variable"), VARIABLES)
def test_a_variable_has_choices(reader: Reader, board: Board, variable: Variable) -> None:
    """What the runs have; texts as they are."""
    expected = {
        "scenario": [SCENARIO],
        "machine": [MACHINE],
        "transport": sorted(TRANSPORTS),
        "driver": ["ghz", "wireload"],
    }
    assert expected[variable.name] == reader.choices(board, variable)


@pytest.mark.parametrize(("board", "chart"), CHARTS)
def test_a_panel_has_data(reader: Reader, board: Board, chart: Chart) -> None:
    """Points of both runs for all transports, each named and at its time; rows of all cells in the table."""
    (query,) = chart.queries
    rows = reader.query(reader.chosen(board, query.expr))
    if chart.kind == "table":
        assert 2 * 16 == len(rows)
        assert {"generator_cpu"} == {row["failed gates"] for row in rows}
        assert rows[0]["started"] > rows[-1]["started"]
        return
    assert all({"time", "metric", "value"} == row.keys() for row in rows)
    assert 2 == len({row["time"] for row in rows})
    assert TRANSPORTS == {re.split(r"\W", row["metric"])[0] for row in rows}
    assert all(isinstance(row["value"], float | int) for row in rows)
    assert len(rows) == len({(row["time"], row["metric"]) for row in rows}), "two figures are one point"
    assert [row["time"] for row in rows] == sorted(row["time"] for row in rows)


def test_points_are_the_figures_of_the_index(owner: str, reader: Reader) -> None:
    """What a panel draws is what `wirebench` says of the cell; its name has the factors that differ, and no others."""
    (board,) = OURS
    (p99,) = (chart for chart in board.charts() if chart.title == "Latency, p99")
    with Index(owner) as index:
        found = index.results(Filters()).rows
    drawn = {
        (row["time"], row["metric"]): row["value"] for row in reader.query(reader.chosen(board, p99.queries[0].expr))
    }
    expected = {
        (
            each.started_at,
            f"{each.transport} {each.driver} {each.operation} concurrency {each.concurrency}",
        ): each.p99_ms
        for each in found
    }
    assert pytest.approx(expected) == drawn


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM runs",
        "CREATE TABLE public.mine (id int)",
        "CREATE TEMPORARY TABLE mine (id int)",
        "SET default_transaction_read_only = off; DELETE FROM runs",
        "SELECT rolpassword FROM pg_authid",
        "SELECT pg_read_file('/etc/passwd')",
        "COPY runs TO PROGRAM 'cat'",
        "ALTER ROLE reader SUPERUSER",
    ],
)
def test_the_reader_reads_the_index_and_does_nothing_else(reader: Reader, statement: str) -> None:
    """It changes nothing, makes nothing, and sees neither passwords nor files."""
    rejections = (psycopg.errors.InsufficientPrivilege, psycopg.errors.ReadOnlySqlTransaction)
    with psycopg.connect(reader.url) as connection, pytest.raises(rejections):
        connection.execute(statement.encode())


def test_a_reader_that_is_there_gets_the_new_password(owner: str, reader: Reader) -> None:
    """What was prepared is prepared again, as whenever the server starts; the runs stay."""
    grant_reading(owner, "another")
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        reader.query("SELECT 1")
    grant_reading(owner, PASSWORD)
    assert [{"count": 2}] == reader.query("SELECT count(*) FROM runs")


def test_a_role_that_may_not_make_others_is_rejected_in_one_line(reader: Reader) -> None:
    """The password is in no message."""
    with pytest.raises(IndexUnusableError, match="gets no reader: ") as caught:
        grant_reading(reader.url, "s3cret")
    said = f"{caught.value.message} {caught.value.hint}"
    assert [] == [each for each in (PASSWORD, quote(PASSWORD, safe=""), "s3cret") if each in said]


def test_sqlite_has_no_roles(tmp_path: Path) -> None:
    """It is rejected as wrong usage, and nothing is made."""
    with pytest.raises(UsageError, match="only PostgreSQL has roles"):
        grant_reading(f"sqlite:///{tmp_path}/index.db", "x")
    assert [] == list(tmp_path.iterdir())
