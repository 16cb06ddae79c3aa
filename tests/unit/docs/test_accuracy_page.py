"""`make accuracy` without its measurements: what it measures, how errors are computed, and the page that it writes."""

from __future__ import annotations

import contextlib
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from benchmarks.accuracy import __main__ as accuracy
from benchmarks.accuracy.__main__ import main
from benchmarks.accuracy.conditions import BEHAVIOURS, LOADS, Case, select_cases
from benchmarks.accuracy.page import Result, write_page
from tests.support.histogram_files import make_file, make_series
from wirebench.drivers import DRIVERS
from wirebench.errors import UsageError, WirebenchError
from wirebench.measure.truth import TruthMeasurement, compute_error_ms
from wirebench.measure.usage import Interference
from wirebench.model.contract import TRANSPORTS
from wirebench.model.histogram import Histogram
from wirebench.model.histogram_file import Clock
from wirebench.plan.driver_support import DRIVER_FACTS


def latencies(*values_ms: float, each: int = 100) -> Histogram:
    """Return a histogram with each of the latencies so often."""
    return Histogram.of_values(np.repeat(np.array([value * 1e6 for value in values_ms], dtype=np.int64), each))


def measurement(truth: Histogram, clocks: dict[Clock, Histogram], dropped: int = 0) -> TruthMeasurement:
    """Return a measurement of two seconds."""
    series = tuple(make_series(own, clock=clock) for clock, own in clocks.items())
    file = make_file(0, 2, series=series, requests_total={"ok": truth.count}, dropped_iterations=dropped)
    return TruthMeasurement(truth, file, window_s=2.0, unstamped=0)


@pytest.fixture(autouse=True)
def _no_run_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is measured here."""
    monkeypatch.setattr(accuracy, "CoreClaim", lambda *_: contextlib.nullcontext())


@pytest.fixture
def _all_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    for driver in DRIVERS.values():
        monkeypatch.setattr(type(driver), "read_version", lambda _: "1")


@pytest.mark.usefixtures("_all_installed")
def test_by_default_every_driver_transport_behaviour_and_load_is_measured() -> None:
    """Open loads go to the drivers that have a response clock, which is on every transport one at least."""
    cases = select_cases([], [], [], [])
    assert set(BEHAVIOURS) == {case.behaviour for case in cases}
    assert set(LOADS) == {case.load for case in cases}
    expected = {(transport, driver) for transport, facts in TRANSPORTS.items() for driver in facts.drivers}
    assert expected == {(case.transport, case.driver) for case in cases}
    is_open = [case for case in cases if LOADS[case.load].rate_per_s]
    assert {driver for driver in DRIVER_FACTS if not DRIVER_FACTS[driver].no_open_load} == {
        case.driver for case in is_open
    }
    assert set(TRANSPORTS) == {case.transport for case in is_open}


@pytest.mark.usefixtures("_all_installed")
def test_behaviours_and_loads_that_are_named_are_all_combined() -> None:
    """Also those combinations that the default leaves out."""
    cases = select_cases(["wireload"], ["socket"], ["pareto", "null"], ["closed-1", "open-5000"])
    assert [
        Case("pareto", "closed-1", "socket", "wireload"),
        Case("pareto", "open-5000", "socket", "wireload"),
        Case("null", "closed-1", "socket", "wireload"),
        Case("null", "open-5000", "socket", "wireload"),
    ] == cases


@pytest.mark.usefixtures("_all_installed")
def test_what_no_driver_can_send_is_rejected() -> None:
    """With nothing left to measure there is no page."""
    with pytest.raises(UsageError, match="no driver can send these loads"):
        select_cases(["ghz"], ["rest"], [], [])


def test_a_driver_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it was asked for; otherwise it is left out."""
    monkeypatch.setattr(type(DRIVERS["oha"]), "read_version", lambda _: None)
    with pytest.raises(UsageError, match="oha is not installed") as error:
        select_cases(["oha"], [], [], [])
    assert "run `make driver-oha`" == error.value.hint


@pytest.mark.parametrize("arguments", [["--window", "1"], ["--repetitions", "0"], ["--loads", "open-1"], ["rest"]])
def test_wrong_options_are_rejected(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything starts, in one line."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert 2 == ended.value.code
    assert "make accuracy: error: " in capsys.readouterr().err


@pytest.mark.usefixtures("_all_installed")
def test_what_fails_is_named_and_the_rest_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One broken case doesn't cost the others their place on the page, but the exit status says so."""

    def measure(case: Case, *_: object) -> TruthMeasurement:
        if case.driver == "ghz":
            raise WirebenchError("ghz ended with status 1", "its log is gone")
        return measurement(latencies(5, each=1000), {"service": latencies(6, each=1000)})

    monkeypatch.setattr(accuracy, "measure", measure)
    page = tmp_path / "page.md"
    arguments = ["--transports", "grpc", "--loads", "closed-8", "--behaviours", "constant", "--output", str(page)]
    assert 1 == main(arguments)
    text = page.read_text()
    assert "- Not measured: ghz grpc constant closed-8: ghz ended with status 1.\n" in text
    assert "| wireload | grpc | service | 500 | " in text
    assert "| ghz |" not in text
    printed = capsys.readouterr()
    assert f"{len(TRANSPORTS['grpc'].drivers)} cases × 3 repetitions, about 45 s\n" in printed.err
    assert "constant closed-8:  wireload  grpc  service  500  " in printed.out

    page.unlink()
    assert 1 == main(["--drivers", "ghz", *arguments])
    assert not page.exists()


@pytest.mark.usefixtures("_all_installed")
@pytest.mark.parametrize(("shares", "used_ms", "noted"), [((0.3, 0.01), 2, False), ((0.3, 0.1, 0.2), 2, True)])
def test_what_others_disturb_is_measured_again(
    shares: tuple[float, ...], used_ms: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, noted: bool
) -> None:
    """Up to three times; the page says where that didn't help, and has the least disturbed."""
    left = iter(enumerate(shares, start=1))
    current = [0.0]

    def measure(*_: object) -> TruthMeasurement:
        number, current[0] = next(left)
        return measurement(latencies(number, each=1000), {"service": latencies(number, each=1000)})

    monkeypatch.setattr(accuracy, "measure", measure)
    monkeypatch.setattr(Interference, "compute_share", lambda _: current[0])
    page = tmp_path / "page.md"
    case = ["--drivers", "ghz", "--loads", "closed-8", "--behaviours", "constant", "--repetitions", "1"]
    assert 0 == main([*case, "--output", str(page)])
    text = page.read_text()
    assert f"| {used_ms}.00" in text
    assert noted == ("- Disturbed: in 1 window others took over 5 % of the cores in each of 3 attempts.\n" in text)
    assert next(left, None) is None


def test_an_error_is_the_difference_at_the_same_quantile() -> None:
    """In milliseconds, beside the truth; a quantile that no request lies beyond has none."""
    truth, measured = latencies(5, 20), latencies(5.5, 26)
    assert (5.0, 0.5) == pytest.approx(compute_error_ms(truth, measured, 0.5), rel=2e-3)
    assert (20.0, 6.0) == pytest.approx(compute_error_ms(truth, measured, 0.99), rel=2e-3)
    assert compute_error_ms(truth, measured, 0.999) is None


def test_the_page_shows_both_clocks_of_merged_repetitions(tmp_path: Path) -> None:
    """Truth, measured and error of each percentile, what was dropped, and the error of each repetition's p99."""
    repetitions = [
        measurement(latencies(5, each=1000), {"service": latencies(6, each=1000), "response": latencies(7, each=1000)}),
        measurement(
            latencies(5, each=1000),
            {"service": latencies(8, each=1000), "response": latencies(9, each=1000)},
            dropped=3,
        ),
    ]
    closed = Case("null", "closed-1", "grpc", "ghz")
    results = [
        Result.of(Case("constant", "open-400", "rest", "k6"), repetitions),
        Result.of(closed, [measurement(latencies(1), {"service": latencies(1.25)})]),
    ]
    write_page(tmp_path / "page.md", results, ["On: a machine."])
    text = (tmp_path / "page.md").read_text()
    assert "- On: a machine.\n" in text
    p50, p99 = "5.001 → 6.001 (+0.999, +20.0%)", "5.001 → 8.004 (+3.002, +60.0%)"
    assert f"| k6 | rest | service | 500, 3 dropped | {p50} | {p99} | {p99} | {p99} | +1.00 +3.00 |" in text
    assert "| k6 | rest | response | 500, 3 dropped | " in text
    assert "| ghz | grpc | service | 50 | 1.000 → 1.250 (+0.250, +25.0%) | " in text
    assert "| k6 | rest | +3.00 / +3.00 |" in text
    for picture in ("page/constant-open-400.svg", "page/null-closed-1.svg"):
        assert f"]({picture})" in text
        assert "svg" in ET.parse(tmp_path / picture).getroot().tag  # noqa: S314 - our own


def test_the_page_lists_what_is_over_the_limits_of_wireload(tmp_path: Path) -> None:
    """Each error with its limit, and how far the transports are apart; other drivers and the ceiling have none."""
    near, far = latencies(5.1, each=1000), latencies(5.3, each=1000)
    results = [
        Result.of(case, [measurement(latencies(5, each=1000), {"service": own})])
        for case, own in (
            (Case("constant", "closed-8", "rest", "wireload"), near),
            (Case("constant", "closed-8", "socket", "wireload"), far),
            (Case("constant", "closed-8", "rest", "k6"), latencies(9, each=1000)),
            (Case("null", "closed-8", "grpc", "wireload"), far),
        )
    ]
    write_page(tmp_path / "page.md", results, [])
    text = (tmp_path / "page.md").read_text()
    assert "**2 of 8 are over their limit.**" in text
    for percentile in ("p50", "p90"):
        assert f"| constant: closed, 8 connections | socket | service | {percentile} | 5.001 | +0.299 | 0.150 |" in text
    assert "**2 of 2 are farther apart.**" in text
    assert "| constant: closed, 8 connections | service | p99 | 0.197 | 0.150 |" in text
    write_page(tmp_path / "page.md", results[2:], [])
    assert "limits" not in (tmp_path / "page.md").read_text()
