"""Loads that are a number of calls, call by call."""

from __future__ import annotations

from pathlib import Path

from tests.support.drawn import Drawn
from tests.support.report_run import RunBuilder, cell
from wirebench.analysis.summary import summarise
from wirebench.model.histogram_file import Calls, HistogramFile
from wirebench.present.calls import draw_calls
from wirebench.present.charts.style import assign_styles


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
