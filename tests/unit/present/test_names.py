"""How cells and situations are named, and how figures are written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.report_run import RunBuilder, cell
from wirebench.analysis.compare_cells import find_comparisons
from wirebench.analysis.summary import summarise
from wirebench.present import labels as names
from wirebench.present.answer import describe_common_factors
from wirebench.present.comparison import make_comparison_view
from wirebench.present.numbers import format_number


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0, "0"), (0.012345, "0.0123"), (1.0, "1.00"), (9.996, "10.0"), (123.4, "123"), (98765.4, "98,765")],
)
def test_numbers_have_three_digits_that_count(value: float | None, text: str) -> None:
    """And thousands apart."""
    assert text == format_number(value)


def test_a_name_says_what_is_not_the_default() -> None:
    """A cell at its transport's defaults has the transport's name, and names tell cells of one load apart."""
    assert "gRPC" == names.name_cell(cell("grpc").factors)
    assert "gRPC with ghz" == names.name_cell(cell("grpc", driver="ghz").factors)
    changed = cell("rest", runtime="uvicorn", workers=4, store="postgres", connection="reopen")
    assert "REST with uvicorn, 4 workers, postgres, reopened connections" == names.name_cell(changed.factors)
    http_2 = cell("rest", runtime="uvicorn", codec="protobuf", http=2)
    assert "REST with uvicorn, HTTP/2, protobuf" == names.name_cell(http_2.factors)
    pool = cell("rest", store="postgres", store_connections=4)
    assert "REST with postgres, 4 store connections" == names.name_cell(pool.factors)
    go = cell("grpc", implementation="go", runtime="grpc-go")
    assert "gRPC with Go" == names.name_cell(go.factors)


def test_names_in_a_run_say_what_differs_there(tmp_path: Path) -> None:
    """What all cells share is said once; verdicts, which are read alone, say it all the same."""
    alike: dict[str, Any] = {"workers": 2, "store": "postgres", "payload": "profile"}
    cells = [cell("rest", concurrency=count, **alike) for count in (1, 16)]
    run = RunBuilder(cells=[*cells, cell("grpc", codec="protobuf", **alike)], blocks=2).write(tmp_path)
    summaries = summarise(run.records)
    assert ["1 connection: REST", "16 connections: REST", "16 connections: gRPC"] == [
        names.name_fully_in_run(each) for each in summaries
    ]
    assert ["REST", "REST", "gRPC"] == [names.name_in_run(each) for each in summaries]
    assert "users.get, a payload of profile, 2 workers, postgres" == describe_common_factors(summaries)
    (only,) = find_comparisons(run)
    assert (
        "users.get, a payload of profile, 16 connections, 2 workers, postgres" == make_comparison_view(only).situation
    )
