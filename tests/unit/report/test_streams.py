"""Streams: their verdicts, and their section of the report."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tests.support.stream_run import file_of, stream_cell, write_run
from wirebench.analysis.compare_cells import compare_cells
from wirebench.analysis.summary import summarise
from wirebench.present import sentences
from wirebench.report.page import gather, render


def test_streams_are_judged_by_items(tmp_path: Path) -> None:
    """Unlimited streams are judged by their items a second, limited ones by the time to the first item."""
    for limit, metric, said in (
        (None, "item_rate", "socket is faster than REST: 10.0× (95 % CI "),
        (
            100,
            "first_item",
            "socket is faster than REST: 0.10× (95 % CI 0.10–0.10) the time to the first item, 10.0× (95 % CI ",
        ),
    ):
        cells = [stream_cell(each, stream_rate_limit_per_s=limit) for each in ("rest", "socket")]
        gaps_ms = {"rest": 10.0, "socket": 1.0}
        summaries = summarise(write_run(tmp_path / str(limit), cells, gaps_ms).records)
        # What the rate limit asks for isn't what these gaps are: that is another test's.
        unfit = {"rate_limit", "samples"}
        kept = [
            (record.model_copy(update={"gates": tuple(g for g in record.gates if g.name not in unfit)}))
            for each in summaries
            for record in each.records
        ]
        (comparison,) = compare_cells(summarise(kept), "transport", 0.05)
        assert metric == comparison.metric.name
        assert {"item_rate", "first_item", "gap", "item_cpu"} == comparison.ratios.keys()
        assert said in sentences.describe_verdict(comparison)


def test_drivers_of_streams_agree_by_items(tmp_path: Path) -> None:
    """Requests say nothing of them."""
    cells = [stream_cell("rest", driver=driver) for driver in ("wireload", "k6")]
    found = compare_cells(summarise(write_run(tmp_path, cells, {"rest": 10.0}).records), "transport", 0.05)
    said = "k6 measured 1.00× the items/s, 1.00× the time to the first item of wireload, over 1 situation."
    assert (said,) == sentences.describe_agreement(found)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the report of streams on two transports, with and without a limit."""
    cells = [stream_cell(each, stream_rate_limit_per_s=limit) for each in ("rest", "socket") for limit in (None, 100)]
    return render(write_run(tmp_path_factory.mktemp("streams"), cells, {"rest": 10.0, "socket": 1.0}))


def test_streams_have_a_section_of_their_own(page: str) -> None:
    """First items, rates, gaps and CPU time each are pictures; what is only for requests isn't there."""
    assert '<h2 id="streams">Streams</h2>' in page
    for heading in ("Time to the first item", "items/s, of all streams", "Gap between items", "Server CPU per item"):
        assert heading in page
    assert "ledger.stream_transactions (100 items, 100/s each), 4 connections" in page
    assert "ledger.stream_transactions (100 items, as fast as they are read), 4 connections" in page
    assert '<h2 id="pictures">' not in page
    assert '<h2 id="figures">' not in page


def test_gaps_that_are_the_client_s_own_time_are_no_figures(tmp_path: Path) -> None:
    """Items that came together are less than a microsecond apart: the table says no more than that."""
    run = write_run(tmp_path, [stream_cell("rest")], {"rest": 1.0}, blocks=1)
    path = run.folder / run.records[0].histogram_file
    file_of({"first_item": [1.0] * 20, "gap": [0.0001] * 1500 + [5.0] * 100}).write(path)
    page = gather(run)
    ((_, (row,)),) = page["streams"]["table"].groups
    figures = dict(
        zip([(each.heading, each.unit) for each in page["streams"]["table"].columns], row.figures, strict=True)
    )
    assert "<0.001" == figures["gap", "p50, ms"]
    assert "5.00" == figures["gap", "p99, ms"]


def test_streams_have_their_section_where_one_transport_s_all_failed(tmp_path: Path) -> None:
    """Nothing came of them, so that nothing but the others says that they were streams."""
    run = write_run(tmp_path, [stream_cell(each) for each in ("rest", "socket")], {"rest": 10.0, "socket": 1.0})
    nothing = {"streams": None, "service": None, "response": None, "errors": {"unavailable": 10}}
    records = tuple(
        each.model_copy(update=nothing) if each.factors["transport"] == "rest" else each for each in run.records
    )
    assert '<h2 id="streams">' in render(dataclasses.replace(run, records=records))
