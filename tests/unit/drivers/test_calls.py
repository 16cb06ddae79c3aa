"""The folding of requests into a histogram file, whichever tool reported them."""

from __future__ import annotations

import pytest

from wirebench.drivers.calls import Call, Report, fold
from wirebench.errors import WirebenchError
from wirebench.model.histogram_file import DriverVersion, HistogramFile

MS = 1_000_000


def call(end_ms: int, latency_ms: int = 1, code: str = "ok", error: str = "", response_ms: int | None = None) -> Call:
    """Return a request by its times in milliseconds."""
    return Call(end_ms * MS, latency_ms * MS, code, error, None if response_ms is None else response_ms * MS)


def folded(*calls: Call) -> HistogramFile:
    """Fold after half a second of warm-up, in a window of one second."""
    return fold(Report(calls), "users.get", 0.5, 1.0, DriverVersion(name="ghz", version="0"))


def test_the_window_opens_after_the_warmup() -> None:
    """Requests that end in the warm-up, or after the window, are counted but not measured."""
    # The first one was sent at 0 ms: the window is 500 to 1500 ms.
    file = folded(call(1), call(499), call(500, 2), call(1499, 4), call(1500))
    assert {"ok": 5} == file.requests_total
    assert {"ok": 2} == file.count_by_code()
    assert 2_000_000 == pytest.approx(file.merge_histograms("service").compute_quantiles_ns(0)[0], rel=1e-3)


def test_failures_are_kept_apart_from_latencies() -> None:
    """A failed request counts under its code, and not in the latencies of successes."""
    file = folded(call(1), call(600), call(700, 9, "unavailable", "connection refused"))
    assert {"ok": 1, "unavailable": 1} == file.count_by_code()
    assert 1 == file.merge_histograms("service").count
    assert ["connection refused"] == [error.message for error in file.errors]


def test_no_call_is_an_error() -> None:
    """A load that sent nothing has no result."""
    with pytest.raises(WirebenchError, match="ghz made no call"):
        folded()


def test_response_times_have_a_clock_of_their_own() -> None:
    """What waited to be sent took longer for a user than for the service."""
    file = folded(call(1, response_ms=1), call(600, response_ms=5))
    assert [1.0, 5.0] == [
        pytest.approx(file.merge_histograms(clock).mean_ns / MS, rel=1e-3) for clock in ("service", "response")
    ]
