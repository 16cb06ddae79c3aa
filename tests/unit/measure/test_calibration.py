"""What is known of a driver's error: looked up by load, and dropped when what it depends on has changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.report_run import cell
from wirebench.errors import WirebenchError
from wirebench.measure import calibration as module
from wirebench.measure.calibration import (
    COARSE_S_MAX,
    Calibration,
    Point,
    Probe,
    estimate_coarse_s,
    keep_undisturbed,
    locate_calibration,
    plan_probes,
    read_calibration,
)
from wirebench.measure.usage import Interference
from wirebench.model.cell import Cell
from wirebench.model.contract import Transport
from wirebench.model.record import Instrument, Interval
from wirebench.model.scenario import Load
from wirebench.targets.cores import Cores

MACHINE = {"cpu": "Some CPU @ 2.50GHz", "cores": "2", "kernel": "Linux 6.1", "memory": "8.0 GiB"}
CORES = Cores(frozenset({0}), frozenset({1}))


@pytest.fixture(autouse=True)
def _own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WIREBENCH_CALIBRATION", str(tmp_path / "state"))
    monkeypatch.setattr(module, "SERVER", tmp_path / "truth")
    (tmp_path / "truth").write_bytes(b"a program")
    monkeypatch.setattr(module, "identify_version", lambda _: "1")
    monkeypatch.setattr(Interference, "compute_share", lambda _: 0.0)


def keep(calibration: Calibration) -> Path:
    """Keep what is known of this machine, undisturbed, and return where."""
    path = locate_calibration(CORES, MACHINE)
    keep_undisturbed(calibration, path, Interference(frozenset({0})))
    return path


def probe(transport: Transport, concurrency: int, server_ms: float, rate_per_s: int | None = None) -> Probe:
    """Return a load of k6 to measure."""
    load = {"concurrency": concurrency, "server_ms": server_ms, "rate_asked_per_s": rate_per_s}
    return Probe(driver="k6", transport=transport, **load)


def point(concurrency: int, server_ms: float, rate_per_s: float, error_ms: Interval, **changes: object) -> Point:
    """Return a point of k6 on REST whose errors at p50 and p99 are the same."""
    known = Point(
        driver="k6",
        version="1",
        transport="rest",
        concurrency=concurrency,
        rate_asked_per_s=None,
        server_ms=server_ms,
        rate_per_s=rate_per_s,
        p50_error_ms=error_ms,
        p99_error_ms=error_ms,
        coarse=False,
    )
    return known.model_copy(update=changes)


CLOSED = (
    point(1, 0, 5_000, (0.1, 0.2)),
    point(1, 1, 800, (0.0, 0.05)),
    point(16, 0, 8_000, (1.0, 2.0)),
    point(16, 1, 6_000, (0.4, 0.5)),
    point(16, 10, 1_500, (0.2, 0.3)),
)
OPEN = tuple(
    point(64, 1, rate_per_s, error, rate_asked_per_s=rate_per_s, p99_error_ms=None)
    for rate_per_s, error in ((500, (-0.1, 0.1)), (2_000, (0.2, 0.4)))
)
KNOWN = Calibration(points=(*CLOSED, *OPEN))


def k6(transport: Transport, **changes: object) -> Cell:
    """Return a cell of k6."""
    return cell(transport, **{"driver": "k6", **changes})


def rest(concurrency: int, rate_per_s: int | None = None, **changes: object) -> Cell:
    """Return a cell of k6 on REST."""
    return k6("rest", concurrency=concurrency, rate_per_s=rate_per_s, **changes)


def look_up(calibration: Calibration, of: Cell, rate_per_s: float) -> Instrument:
    """Return what is known of the load, which is something."""
    found = calibration.look_up(of, rate_per_s)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("concurrency", "rate_per_s", "expected"),
    [
        (16, 3_000, (0.2, 0.5)),  # between two
        (16, 100, (0.2, 0.3)),  # slower than all
        (16, 9_000, (1.0, 2.0)),  # faster than all
        (4, 1_000, (0.0, 0.3)),  # between numbers of connections
    ],
)
def test_the_error_of_a_closed_load_is_that_of_all_points_around_it(
    concurrency: int, rate_per_s: float, expected: Interval
) -> None:
    """Points are chosen by connections, and then by the rate that was achieved on them."""
    found = look_up(KNOWN, rest(concurrency), rate_per_s)
    assert expected == found.p50_error_ms == found.p99_error_ms
    assert not found.coarse


@pytest.mark.parametrize(("concurrency", "ceiling_per_s"), [(1, 8_000), (16, 8_000), (32, 12_000), (64, 18_000)])
def test_the_ceiling_is_that_of_a_full_driver_on_as_many_connections(concurrency: int, ceiling_per_s: int) -> None:
    """It lies between those of fewer and of more; on few connections, no driver is full."""
    known = Calibration(points=(*KNOWN.points, point(64, 0, 18_000, (0.0, 0.0))))
    found = look_up(known, rest(concurrency, 900), 900)
    assert (ceiling_per_s, 900 / ceiling_per_s) == pytest.approx((found.ceiling_per_s, found.ceiling_share))


def test_the_error_of_an_open_load_is_that_of_all_points_around_it() -> None:
    """Fewer connections than those that were calibrated are no other load; a p99 without samples has no error."""
    found = look_up(KNOWN, rest(16, 1_000), 1_000)
    assert ((-0.1, 0.4), None) == (found.p50_error_ms, found.p99_error_ms)


@pytest.mark.parametrize(
    "unknown",
    [rest(64), rest(128, 1_000), rest(64, 2_500), rest(16, connections=2), k6("socket"), rest(16, driver="wireload")],
)
def test_no_error_is_known_beyond_what_was_calibrated(unknown: Cell) -> None:
    """More connections, a higher rate, users that share connections, another transport, another driver."""
    found = KNOWN.look_up(unknown, float(unknown.rate_per_s or 1_000))
    assert found is None or (found.p50_error_ms is None and found.ceiling_per_s == 8_000)
    assert not KNOWN.covers(unknown, unknown.rate_per_s)


def test_coarse_points_are_used_where_there_are_no_others() -> None:
    """The instrument says that it is coarse; a thorough point of the same load stays."""
    assert KNOWN.points == KNOWN.add_points([point(16, 0, 7_000, (0.0, 9.0), coarse=True)]).points
    coarse = (point(64, 0, 9_000, (0.0, 9.0), coarse=True), point(16, 5, 3_000, (-9.0, 0.0), coarse=True))
    known = KNOWN.add_points(coarse)
    found = look_up(known, rest(16), 3_000)
    assert ((0.2, 0.5), False) == (found.p50_error_ms, found.coarse)
    found = look_up(known, rest(64), 3_000)
    assert ((0.0, 9.0), True) == (found.p50_error_ms, found.coarse)


def test_a_calibration_is_of_its_machine_cores_and_server(tmp_path: Path) -> None:
    """Each has a file of its own."""
    keep(KNOWN)
    assert KNOWN == read_calibration(locate_calibration(CORES, MACHINE))
    for changed in ("cpu", "cores", "kernel"):
        assert () == read_calibration(locate_calibration(CORES, {**MACHINE, changed: "another"})).points
    assert () == read_calibration(locate_calibration(Cores(frozenset({0}), frozenset({0})), MACHINE)).points
    (tmp_path / "truth").write_bytes(b"another program")
    assert () == read_calibration(locate_calibration(CORES, MACHINE)).points


def test_points_of_a_driver_that_has_changed_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the others stay, also of one that isn't installed here."""
    other = point(1, 0, 5_000, (0.1, 0.2), driver="ghz", transport="grpc")
    path = keep(KNOWN.add_points([other]))
    monkeypatch.setattr(module, "identify_version", lambda driver: {"k6": "2"}.get(driver, "1"))
    assert (other,) == read_calibration(path).points
    monkeypatch.setattr(module, "identify_version", lambda driver: {"k6": ""}.get(driver, "1"))
    assert KNOWN.add_points([other]) == read_calibration(path)


def test_what_others_disturbed_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was known before stays."""
    monkeypatch.setattr(Interference, "compute_share", lambda _: 0.04)
    path = keep(KNOWN)
    monkeypatch.setattr(Interference, "compute_share", lambda _: 0.06)
    with pytest.raises(WirebenchError, match="other programs took 6% of the cores' time"):
        keep(Calibration())
    assert KNOWN == read_calibration(path)


def test_a_run_measures_what_is_not_known_of_its_own_loads() -> None:
    """It measures the ceilings, too; of closed loads the least and the most connections first."""
    cells = [rest(16), *(k6("socket", concurrency=each) for each in (2, 4, 8)), rest(128, 300)]
    full, most = probe("socket", 16, 0), probe("rest", 128, 0)
    loads = [probe("socket", each, 1) for each in (2, 8, 4)]
    expected = [full, *loads, most, probe("rest", 128, 1, 300)]
    assert (expected, 0) == plan_probes(cells, Load(), KNOWN)


def test_an_open_load_is_measured_as_a_driver_may_send_it() -> None:
    """With the most connections that it may open: it isn't known before how many it will take."""
    expected = [probe("rest", 128, 0, None), probe("rest", 128, 1, 300)]
    assert (expected, 0) == plan_probes([rest(2, 300)], Load(model="open", concurrency_max=128), KNOWN)


def test_an_open_load_is_measured_when_its_users_have_connected() -> None:
    """Each connects when it is its turn, and a p99 needs requests; of slow loads not all do: neither takes for ever."""
    found = [(each.warmup_s, each.window_s) for each in (probe("rest", 10_000, 1, rate) for rate in (None, 1_000, 10))]
    assert found == [(2.2, 0.5), (10.2, 1.0), (15.2, 2.0)]


def test_a_run_does_not_measure_for_longer_than_it_may() -> None:
    """Loads are measured whole or not at all, and how many are left is known."""
    chosen, left_out = plan_probes([k6("grpc", concurrency=each) for each in range(1, 101)], Load(), KNOWN)
    assert estimate_coarse_s(chosen) <= COARSE_S_MAX
    assert 100 == left_out + sum(probe.server_ms > 0 for probe in chosen)
