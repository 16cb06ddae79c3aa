"""When a service kept its objective after a step in its load: in the terminal, in the report and for programs."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from tests.support.report_run import START_NS, RunBuilder, cell
from wirebench.analysis.summary import summarise
from wirebench.cli.output import make_console, print_run
from wirebench.model.record import Autoscaling, Recovery
from wirebench.present.remarks import describe_recoveries
from wirebench.present.run_data import describe_cells
from wirebench.report import write_report
from wirebench.results.runs import Run

OBJECTIVE = "a p99 of at most 250 ms and at most 0.1 % errors"
START_S = START_NS / 1e9


def run_of(folder: Path, recovered_s: float | None, added_s: tuple[float, ...] | None = None) -> Run:
    """Write and return a run of one cell whose blocks recovered then, with replicas that were added then."""
    record: dict[str, Any] = {"recovery": Recovery(p99_ms=250, error_share=0.001, recovered_s=recovered_s)}
    if added_s is not None:
        record["autoscaling"] = Autoscaling(
            replicas=1 + len(added_s), added_unix_s=tuple(START_S + each for each in added_s)
        )
    return RunBuilder(cells=(cell("grpc", replicas=1, replicas_max=4),), blocks=2, record=record).write(folder)


@pytest.mark.parametrize(
    ("recovered_s", "added_s", "expected"),
    [
        (
            64.8,
            (31.0, 62.0),
            f"kept {OBJECTIVE} from 64.8 s after the window's start on and had 3 replicas in the end (",
        ),
        (None, (31.0,), f"did not get back to {OBJECTIVE} by the end of the window and had 2 replicas in the end"),
        (None, (), "by the end of the window and had 1 replica in the end (none added)."),
        (64.8, (-5.0, 40.0), "3 replicas in the end (the first added after 40 s, some in the warm-up)."),
        (0, None, f"kept {OBJECTIVE} all the time."),
    ],
)
def test_a_recovery_is_stated(
    tmp_path: Path, recovered_s: float | None, added_s: tuple[float, ...] | None, expected: str
) -> None:
    """In one sentence a cell, with the replicas that an autoscaler added, wherever a run is shown."""
    run = run_of(tmp_path, recovered_s, added_s)
    (sentence,) = describe_recoveries(summarise(run.records))
    assert expected in sentence
    text = io.StringIO()
    print_run(run, make_console(text))
    assert sentence in text.getvalue()
    write_report(run, tmp_path / "report.html")
    assert sentence.partition("'")[0] in (tmp_path / "report.html").read_text(encoding="utf-8")
    (of_program,) = describe_cells(run)
    assert [recovered_s] * 2 == [each.recovered_s for each in of_program.recoveries]
    assert 2 * (added_s is not None) == len(of_program.autoscalings)


def test_blocks_that_differ_are_stated(tmp_path: Path) -> None:
    """From the earliest to the latest, and in how many blocks at all."""
    (of_run,) = summarise(run_of(tmp_path, 64.8, (31.0,)).records)
    first, second = of_run.records
    other = second.model_copy(
        update={
            "recovery": Recovery(p99_ms=250, error_share=0.001, recovered_s=None),
            "autoscaling": Autoscaling(replicas=4, added_unix_s=(START_S + 35, START_S + 60, START_S + 60)),
        }
    )
    (sentence,) = describe_recoveries(summarise([first, other]))
    assert "from 64.8 s after the window's start on in 1 of 2 blocks" in sentence
    assert "2–4 replicas in the end (the first added after 31–35 s)" in sentence


def test_nothing_is_stated_of_other_loads(tmp_path: Path) -> None:
    """Most have no objective."""
    run = RunBuilder().write(tmp_path)
    assert () == describe_recoveries(summarise(run.records))
    assert not any(each.recoveries or each.autoscalings for each in describe_cells(run))


def test_an_autoscaler_is_compared_with_none(tmp_path: Path) -> None:
    """Both are named in the verdict, and the cell by how far it may grow."""
    cells = [cell("grpc", replicas=1, replicas_max=most) for most in (None, 4)]
    text = io.StringIO()
    print_run(RunBuilder(cells=cells, info={"compare": "replicas_max"}).write(tmp_path), make_console(text))
    assert "an autoscaler up to 4 replicas and no autoscaler" in text.getvalue().replace("against", "and")
    assert "gRPC autoscaled up to 4 replicas" in text.getvalue()
