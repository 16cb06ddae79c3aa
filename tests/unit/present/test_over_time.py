"""Loads over their window: by time where they change, and call by call where they are a number of calls."""

from __future__ import annotations

from pathlib import Path

from tests.support.drawn import Drawn
from tests.support.report_run import RunBuilder, cell
from wirebench.analysis.summary import summarise
from wirebench.model.histogram_file import Calls, HistogramFile
from wirebench.model.record import Slice
from wirebench.model.run_info import Run
from wirebench.present.charts.style import assign_styles
from wirebench.present.over_time import draw_calls
from wirebench.present.pictures import draw_run


def run_of(folder: Path, wait_ms: float | None) -> Run:
    """Write and return a run of two transports whose load has two parts, with nothing answered in the second."""
    figures = {"requests_ok": 90, "p50_ms": wait_ms, "p99_ms": wait_ms, "max_ms": wait_ms}
    nothing = {"requests_ok": 0, "p50_ms": None, "p99_ms": None, "max_ms": None}
    slices = (
        Slice.model_validate({"start_s": 0, "end_s": 1, "rate_asked_per_s": 100, **figures}),
        Slice.model_validate({"start_s": 1, "end_s": 2, "rate_asked_per_s": 200, **nothing}),
    )
    cells = [cell("rest"), cell("socket")]
    return RunBuilder(cells=cells, blocks=2, record={"over_time": slices}).write(folder)


def test_a_load_that_changes_is_drawn_over_time(tmp_path: Path) -> None:
    """What was asked for, and how long it took; parts without an answer are left out, or all of them."""
    for name, wait_ms, expected in (
        ("answered", 5.0, ["requests/s asked for", "p50, ms", "slowest, ms"]),
        ("silent", None, ["requests/s asked for"]),
    ):
        run = run_of(tmp_path / name, wait_ms)
        (chapter,) = (each for each in draw_run(run, summarise(run.records)).chapters if each.heading == "Over time")
        assert expected == [chart.title.partition(": ")[0] for chart in chapter.charts]


def test_calls_are_drawn_one_by_one_and_together(tmp_path: Path) -> None:
    """Each operation has a picture of its calls' times and one of their sums; failed calls are in neither."""
    run = RunBuilder([cell("rest"), cell("socket")], blocks=2).write(tmp_path)
    for record in run.records:
        path = run.folder / record.histogram_file
        made = (
            Calls(operation="users.get", code="ok", latencies_ns=(1_000_000,) * 300),
            Calls(operation="users.get", code="unavailable", latencies_ns=(9,)),
        )
        HistogramFile.read(path).model_copy(update={"calls": made}).write(path)
    cells = summarise(run.records)
    charts = draw_calls(run, {"one load": cells}, assign_styles(cells))
    assert ["ms a call: users.get in one load", "ms in all: users.get in one load"] == [each.title for each in charts]
    # 300 calls of a millisecond come to 300 ms.
    assert "300" in Drawn(charts[1].svg).texts("scale")
