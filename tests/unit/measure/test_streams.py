"""Records of streams: their figures and gates."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.report_run import WINDOW_S, record_of
from tests.support.stream_run import file_of, stream_cell
from wirebench.model.histogram_file import Streams
from wirebench.model.metric import COMPARED
from wirebench.model.record import Record


def failed_gates(record: Record) -> set[str]:
    """Return the names of the gates that failed."""
    return {gate.name for gate in record.gates if not gate.passed}


def test_a_record_of_streams_has_the_figures_of_items(tmp_path: Path) -> None:
    """Items, rate, times, bytes and CPU time are an item's; the latencies of requests are those of whole streams."""
    file = file_of({"first_item": [30.0] * 25, "gap": [4.0] * 1575, "service": [400.0] * 16})
    record = record_of(tmp_path, stream_cell("rest"), file)
    assert record.streams is not None
    assert (1600, 1600 / WINDOW_S) == (record.streams.items, record.streams.item_rate_per_s)
    assert 200.0 == record.streams.bytes_received_per_item
    assert 500.0 == pytest.approx(record.streams.cpu_us_per_item)
    assert record.streams.first_item
    assert record.streams.gap
    assert record.service
    latencies_ms = record.streams.first_item.p50_ms, record.streams.gap.p99_ms, record.service.p50_ms
    assert (30, 4, 400) == pytest.approx(latencies_ms, rel=0.001)
    assert set() == failed_gates(record)
    # No figure of streams is one of requests, so that nothing compares the two.
    compared = {name for name, metric in COMPARED.items() if metric.of(record) is not None}
    assert {"item_rate", "first_item", "gap", "item_cpu"} == compared


def test_streams_that_outlast_the_window_are_fit_for_use(tmp_path: Path) -> None:
    """Items show that all are on their way, and streams that the end cancels were sent."""
    times_ms = {"first_item": [5.0] * 20, "gap": [4.0] * 1580}
    file = file_of(times_ms, streams=Streams(items_total=2000, items_per_second=(1000,), cancelled=4))  # type: ignore[arg-type]
    record = record_of(tmp_path, stream_cell("rest"), file)
    assert (0, 4, {}) == (record.requests, record.requests_total, record.errors)
    assert set() == failed_gates(record)


def test_a_load_whose_streams_give_nothing_fails(tmp_path: Path) -> None:
    """No stream ended and no item came: that is no load at all."""
    failed = failed_gates(record_of(tmp_path, stream_cell("rest"), file_of({})))
    assert {"replies", "samples", "first_items", "connections"} <= failed


@pytest.mark.parametrize(("gap_ms", "kept"), [(10.0, True), (10.05, True), (10.2, False), (9.8, False)])
def test_streams_keep_their_rate_limit_or_fail_a_gate(tmp_path: Path, gap_ms: float, kept: bool) -> None:  # noqa: FBT001
    """The mean gap at 100 items a second is 10 ms, within one per cent."""
    of = stream_cell("grpc", stream_rate_limit_per_s=100, concurrency=16)
    record = record_of(tmp_path, of, file_of({"first_item": [5.0] * 30, "gap": [gap_ms] * 2530}))
    assert (set() if kept else {"rate_limit"}) == failed_gates(record)
