"""The folding of calls into a histogram file, whichever tool told them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from wirebench.drivers.per_request import CallArrays, Outcome, fold
from wirebench.errors import WirebenchError
from wirebench.model.histogram_file import DriverVersion, HistogramFile

VERSION = DriverVersion(name="ghz", version="0")
OK: Outcome = ("ok", "")


def calls(*each: tuple[int, float, Outcome]) -> CallArrays:
    """Return calls by end and latency, in milliseconds, and outcome."""
    ends, latencies, outcomes = zip(*each, strict=True) if each else ((), (), ())
    return CallArrays.of(np.array(ends, np.int64) * 10**6, (np.array(latencies) * 1e6).astype(np.int64), outcomes)


def folded(some: CallArrays) -> HistogramFile:
    """Fold after half a second of warm-up, in a window of one second."""
    return fold(some, "users.get", 0.5, 1.0, VERSION)


def test_the_window_opens_after_the_warmup() -> None:
    """Calls that end in the warm-up, or after the window, are counted but not measured."""
    # The first call was sent at 0 ms: the window is 500 to 1500 ms.
    file = folded(calls((1, 1, OK), (499, 1, OK), (500, 2, OK), (1499, 4, OK), (1500, 1, OK)))
    assert {"ok": 5} == file.requests_total
    assert {"ok": 2} == file.count_by_code()
    assert 2_000_000 == pytest.approx(file.merge_histograms("service").compute_quantiles_ns(0)[0], rel=1e-3)


def test_failures_are_kept_apart_from_latencies() -> None:
    """A failed call counts under its code, and not in the latencies of successes."""
    file = folded(calls((1, 1, OK), (600, 1, OK), (700, 9, ("unavailable", "connection refused"))))
    assert {"ok": 1, "unavailable": 1} == file.count_by_code()
    assert 1 == file.merge_histograms("service").count
    assert ["connection refused"] == [error.message for error in file.errors]


def test_no_call_is_an_error() -> None:
    """A load that sent nothing has no result; what went wrong is said."""
    with pytest.raises(WirebenchError, match=r"no call$"):
        folded(calls())
    failed = dataclasses.replace(calls(), untimed={("unavailable", "connection refused"): 7})
    with pytest.raises(WirebenchError, match=r"no call that was answered: unavailable: connection refused \(7×\)"):
        folded(failed)


def test_failures_of_unknown_time_are_the_windows() -> None:
    """No warm-up hides them, and no latency has them."""
    some = dataclasses.replace(calls((1, 1, OK), (600, 1, OK)), untimed={("unavailable", "broken pipe"): 3})
    file = folded(some)
    assert {"ok": 1, "unavailable": 3} == file.count_by_code()
    assert {"ok": 2, "unavailable": 3} == file.requests_total
    assert 0.001 == pytest.approx(file.latency_sum_s, rel=1e-3)


def test_response_times_have_a_clock_of_their_own() -> None:
    """What waited to be sent took longer for a user than for the service."""
    some = dataclasses.replace(calls((1, 1, OK), (600, 1, OK)), responses_ns=np.array([10**6, 5 * 10**6]))
    file = folded(some)
    assert [1.0, 5.0] == [
        pytest.approx(file.merge_histograms(clock).mean_ns / 1e6, rel=1e-3) for clock in ("service", "response")
    ]
