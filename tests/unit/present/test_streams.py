"""Streams: their verdicts, pictures and columns."""

from __future__ import annotations

from pathlib import Path

from tests.support.stream_run import stream_cell, write_run
from wirebench.analysis.compare_cells import compare_cells
from wirebench.analysis.summary import summarise
from wirebench.present.comparison import make_comparison_view
from wirebench.present.pictures import draw_run
from wirebench.present.run import make_run_view
from wirebench.present.table import make_full_table


def test_streams_are_judged_by_items(tmp_path: Path) -> None:
    """Unlimited streams are judged by their items a second, limited ones by the time to the first item."""
    for limit, metric, said in (
        (None, "item_rate", "socket is faster than REST: 10.0× (95 % CI "),
        (100, "first_item", "socket is faster than REST: 0.10× (95 % CI 0.10–0.10) the time to the first item."),
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
        assert said in make_comparison_view(comparison).sentence


def test_streams_have_pictures_and_columns_of_their_own(tmp_path: Path) -> None:
    """Of first items and gaps by percentile; what is only for requests isn't there."""
    cells = [stream_cell(each, stream_rate_limit_per_s=limit) for each in ("rest", "socket") for limit in (None, 100)]
    run = write_run(tmp_path, cells, {"rest": 10.0, "socket": 1.0})
    chapters = draw_run(run, summarise(run.records)).chapters
    assert ["Time to the first item, by percentile", "Gap between items, by percentile"] == [
        chapter.heading for chapter in chapters
    ]
    assert [
        "ledger.stream_transactions, 100 items, 4 connections",
        "ledger.stream_transactions, 100 items, 100/s each, 4 connections",
    ] == [chart.title for chart in chapters[1].charts]
    headings = {column.heading for column in make_full_table(make_run_view(run).cells).columns}
    assert {"items", "items/s", "time to the first item", "p99 gap between items"} <= headings
    assert not {"p50", "p99", "requests/s"} & headings
