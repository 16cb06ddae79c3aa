"""Workers that share unevenly are a finding about the server, in the terminal and in the report."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from tests.support.report_run import RunBuilder, cell
from wirebench.analysis.summary import summarise
from wirebench.cli.load import print_load
from wirebench.cli.output import make_console, print_run
from wirebench.present.remarks import describe_uneven_workers
from wirebench.report import write_report
from wirebench.results.runs import Run
from wirebench.run.plain_load import PlainLoad

CELLS = [cell("rest", workers=2), cell("rest", workers=4), cell("socket")]


def a_run(folder: Path, fairness: float | None) -> Run:
    """Return a run in which each service shares among its workers so evenly."""
    return RunBuilder(cells=CELLS, server={"fairness": fairness}).write(folder)


def test_uneven_workers_are_reported_and_withhold_nothing(tmp_path: Path) -> None:
    """The sentence says where, and how uneven; a service with one worker isn't counted."""
    run = a_run(tmp_path, 0.61)
    text = io.StringIO()
    print_run(run, make_console(text))
    write_report(run, tmp_path / "report.html")
    expected = "Workers had uneven shares of the requests in 2 of 2 cells with several workers."
    assert describe_uneven_workers(summarise(run.records)).startswith(expected)
    for shown in (text.getvalue(), (tmp_path / "report.html").read_text(encoding="utf-8")):
        assert expected in shown
        assert "2 workers" in shown.partition("The least even is ")[2].partition("index 0.61")[0]
    assert all(gate.passed for record in run.records for gate in record.gates)


@pytest.mark.parametrize("fairness", [0.95, None])
def test_even_workers_are_not_mentioned(tmp_path: Path, fairness: float | None) -> None:
    """Nor are those whose requests can't be counted."""
    assert "" == describe_uneven_workers(summarise(a_run(tmp_path, fairness).records))


@pytest.mark.parametrize(("fairness", "is_said"), [(0.61, True), (0.95, False)])
def test_a_plain_load_says_so_in_a_line(tmp_path: Path, fairness: float, is_said: bool) -> None:  # noqa: FBT001
    """Beside the figures, and not among the warnings."""
    text = io.StringIO()
    run = RunBuilder(cells=CELLS[:1], blocks=1, server={"fairness": fairness}).write(tmp_path)
    print_load(PlainLoad(run.records[0], (), ()), make_console(text))
    assert is_said == ("  workers     uneven shares: Jain's index 0.61, where 1 is even\n" in text.getvalue())
