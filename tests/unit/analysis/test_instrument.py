"""Verdicts on latencies whose difference may be the driver's own error, and what is said of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.report_run import RunBuilder, cell
from wirebench.analysis.compare_cells import find_comparisons
from wirebench.analysis.pair import Comparison
from wirebench.analysis.summary import summarise
from wirebench.model.cell import Cell
from wirebench.model.record import Instrument, Interval, Latency, Record
from wirebench.present.comparison import make_comparison_view

REST, SOCKET = (cell(transport, rate_per_s=500) for transport in ("rest", "socket"))


def instrument(error_ms: Interval | None) -> Instrument:
    """Return an instrument with the same error at p50 and p99."""
    return Instrument(
        coarse=False, p50_error_ms=error_ms, p99_error_ms=error_ms, ceiling_per_s=None, ceiling_share=None
    )


def compared(
    folder: Path,
    p99_ms: tuple[float, float],
    errors_ms: tuple[Interval | None, Interval | None],
    cells: tuple[Cell, Cell] = (REST, SOCKET),
) -> Comparison:
    """Compare the first cell (REST) with the second, of these p99s in each of three blocks, with these errors."""
    records = []
    run = RunBuilder(cells, samples=2000).write(folder)
    for record in run.records:
        place = [each.id for each in cells].index(record.cell)
        latency = record.response or record.service
        assert latency is not None
        # A little apart, as blocks are.
        figure_ms = p99_ms[place] * (1 + record.block / 1e5)
        records.append(with_p99(record, latency, figure_ms, instrument(errors_ms[place])))
    (found,) = find_comparisons(run, summarise(records))
    return found


def with_p99(record: Record, latency: Latency, p99_ms: float, known: Instrument) -> Record:
    """Return a record with another p99 on its clock, and an instrument."""
    clock = "response" if record.response else "service"
    changed = latency.model_copy(update={"p99_ms": p99_ms})
    return record.model_copy(update={clock: changed, "instrument": known})


@pytest.mark.parametrize(
    ("p99_ms", "rest_ms", "socket_ms", "verdict"),
    [
        ((6.0, 5.0), (0.0, 0.9), (0.0, 0.9), "faster"),
        ((6.0, 5.0), (0.0, 1.1), (0.0, 0.1), "withheld"),
        # The same error on both sides is no error of the difference, however large: its spread is.
        ((6.0, 5.0), (3.0, 3.2), (3.0, 3.2), "faster"),
        # It may be on either side, and have either sign.
        ((5.0, 6.0), (0.0, 0.1), (0.0, 1.1), "withheld"),
        ((5.0, 6.0), (-1.1, 0.0), (0.0, 0.0), "withheld"),
        ((5.0, 6.0), (0.0, 1.1), (0.0, 0.0), "slower"),
        # Equal within the margin, whatever the error was; and not.
        ((5.0, 5.01), (0.0, 0.1), (0.0, 0.1), "equivalent"),
        ((5.0, 5.01), (0.0, 0.5), (0.0, 0.5), "withheld"),
        ((6.0, 5.0), None, (0.0, 9.0), "faster"),
    ],
)
def test_a_verdict_needs_a_difference_beyond_the_error(
    tmp_path: Path, p99_ms: tuple[float, float], rest_ms: Interval | None, socket_ms: Interval, verdict: str
) -> None:
    """In the worst case that the errors of both cells allow; what isn't known withholds nothing."""
    found = compared(tmp_path, p99_ms, (rest_ms, socket_ms))
    assert verdict == found.verdict
    assert ("instrument",) * (verdict == "withheld") == tuple(gate.name for gate in found.failed_gates)


def test_figures_beside_the_verdict_are_doubted_too(tmp_path: Path) -> None:
    """Under a closed load the verdict is on the requests/s; latencies beside it say which gate failed, means by p50."""
    closed = (cell("rest"), cell("socket"))
    found = compared(tmp_path, (6.0, 5.0), ((0.0, 15.0), (0.0, 15.0)), closed)
    assert "withheld" != found.verdict
    for metric in ("p99", "mean"):
        assert ["instrument"] == [gate.name for gate in found.list_failed_gates(metric)]
    assert "p99: unreliable (instrument)" in make_comparison_view(found).remarks


def test_drivers_are_compared_for_their_error(tmp_path: Path) -> None:
    """It is what is looked for, and no reason to doubt it."""
    cells = (REST, cell("rest", rate_per_s=500, driver="k6"))
    found = compared(tmp_path, (6.0, 5.0), ((0.0, 9.0), (0.0, 9.0)), cells)
    assert () == found.list_failed_gates("p99")
