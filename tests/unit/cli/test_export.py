"""`wirebench export`: rows as files, whole or not at all."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import pytest
from pyarrow import parquet

from tests.support.command_line import Terminal, reject, wirebench
from tests.support.report_run import RunBuilder, cell


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Return a folder with two runs of two cells."""
    folder = tmp_path / "results"
    for name, started_at in (
        ("20260101T000000Z-old", "2026-01-01T00:00:00Z"),
        ("20260102T000000Z-new", "2026-01-02T00:00:00Z"),
    ):
        info = {"id": name, "scenario": name[17:], "started_at": started_at}
        RunBuilder(cells=[cell("rest"), cell("grpc")], blocks=2, samples=50, info=info).write(folder)
    return folder


def test_a_file_has_the_rows_that_the_filters_leave(results: Path, tmp_path: Path) -> None:
    """In the format that its name asks for; the index is brought up to the folder first."""
    path = tmp_path / "rows.csv"
    assert (0, f"{path}\n", "") == wirebench("export", "--out", results, "--output", path, "--protocol", "rest")
    rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))
    assert [("20260102T000000Z-new", "rest"), ("20260101T000000Z-old", "rest")] == [
        (row["run_id"], row["protocol"]) for row in rows
    ]
    wirebench("export", "--out", results, "--output", tmp_path / "x.parquet", "--scenario", "old", "--scenario", "new")
    assert 4 == parquet.read_table(tmp_path / "x.parquet").num_rows
    wirebench("export", "runs", "--out", results, "--output", tmp_path / "x.json", "--until", "2026-01-01")
    assert ["20260101T000000Z-old"] == [run["run_id"] for run in json.loads((tmp_path / "x.json").read_bytes())["runs"]]


def test_the_option_overrides_the_name(results: Path, tmp_path: Path) -> None:
    """A file may be called anything if --format says what it holds; an ending in capitals is one too."""
    path = tmp_path / "rows.xlsx"
    assert 0 == wirebench("export", "--out", results, "--output", path, "--format", "json")[0]
    assert 4 == json.loads(path.read_bytes())["count"]
    wirebench("export", "--out", results, "--output", tmp_path / "ROWS.JSON")
    assert path.read_bytes() == (tmp_path / "ROWS.JSON").read_bytes()


def test_a_reader_may_leave_early(results: Path) -> None:
    """Through a pipe that is closed, nothing is complained of."""
    command = [sys.executable, "-m", "wirebench.cli", "export", "--out", str(results)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert b"" == process.stderr.read()
        assert 1 == process.wait(60)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--transport", "http"], "error: transport: must be one of rest, grpc, socket (it is 'http')\n"),
        (["--client", "curl"], "error: driver: must be one of"),
        (["--since", "soon"], "error: since: 'soon' isn't a date or time"),
        (
            ["--output", "x.xlsx"],
            "error: --output x.xlsx: unknown format\nnext: end the name in one of .csv, .parquet, .json",
        ),
        (["--output", "rows"], "error: --output rows: unknown format\n"),
        (["--scenario", "nope"], "error: no run in "),
        (["runs", "--run", "nope"], "error: no run in "),
        (["--out", "nowhere"], "error: --out nowhere: no such folder\n"),
    ],
)
def test_wrong_input_is_rejected(results: Path, arguments: list[str], message: str) -> None:
    """In one line with a next step, and nothing is written."""
    assert reject("export", "--out", results, *arguments).startswith(message)
    assert not Path(arguments[-1]).exists()


def test_parquet_is_kept_from_a_terminal(results: Path) -> None:
    """It would show nothing, and upset it."""
    with patch.object(io, "StringIO", Terminal):
        status, _, stderr = wirebench("export", "--out", results, "--format", "parquet")
    assert (2, "error: Parquet is binary and isn't written to a terminal\nnext: name a file: --output FILE\n") == (
        status,
        stderr,
    )
