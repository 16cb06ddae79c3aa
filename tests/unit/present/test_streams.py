"""Streams: their verdicts, pictures and columns."""

from __future__ import annotations

from pathlib import Path

from tests.support.stream_run import stream_cell, write_run
from wirebench.analysis.compare_cells import find_comparisons
from wirebench.analysis.summary import summarise
from wirebench.present.comparison import make_comparison_view


def test_streams_are_judged_by_items(tmp_path: Path) -> None:
    """Unlimited streams are judged by their items a second, limited ones by the time to the first item."""
    for limit, metric, said in (
        (None, "item_rate", "socket is faster than REST: 10.0× (95 % CI "),
        (100, "first_item", "socket is faster than REST: 0.10× (95 % CI 0.10–0.10) the time to the first item."),
    ):
        cells = [stream_cell(each, stream_rate_limit_per_s=limit) for each in ("rest", "socket")]
        gaps_ms = {"rest": 10.0, "socket": 1.0}
        run = write_run(tmp_path / str(limit), cells, gaps_ms)
        # What the rate limit asks for isn't what these gaps are: that is another test's.
        unfit = {"rate_limit", "samples"}
        kept = [
            record.model_copy(update={"gates": tuple(g for g in record.gates if g.name not in unfit)})
            for record in run.records
        ]
        (comparison,) = find_comparisons(run, summarise(kept))
        assert metric == comparison.metric.name
        assert {"item_rate", "first_item", "gap", "item_cpu"} == comparison.ratios.keys()
        assert said in make_comparison_view(comparison).sentence
