"""The pages' charts: which there are, and which cells stand side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support import stream_run
from tests.support.drawn import Drawn
from tests.support.report_run import GENERATOR_GATE, RunBuilder, cell, passed, quick_cells
from wirebench.model.cell import Cell
from wirebench.model.contract import TRANSPORTS, Comparable
from wirebench.model.record import Gate
from wirebench.results.index import Filters, Index
from wirebench.web.pages.chapter import ChapterView, make_chapter
from wirebench.web.pages.form import make_address, make_fields, make_moment_fields

CHOICES = {
    "scenario": ("quick", "tiny"),
    "transport": ("grpc", "rest"),
    "variant": (),
    "driver": ("wireload",),
    "concurrency": (1, 16),
    "operation": ("users.get",),
    "machine": ("Some CPU, 2 cores",),
    "target": ("local",),
}


def chapter(
    folder: Path,
    cells: Sequence[Cell],
    filters: Filters | None = None,
    compared: Comparable = "transport",
    failed: Callable[[Cell, int], tuple[Gate, ...]] | None = None,
) -> ChapterView:
    """Return the charts of a run with these cells, of which the index lets some through."""
    RunBuilder(cells, blocks=2, samples=50, gates=failed or gates).write(folder)
    with Index(f"sqlite:///{folder}/index.db") as index:
        index.catch_up(folder)
        return make_chapter(index.results(filters or Filters()).rows, compared)


def gates(of: Cell, _: int) -> tuple[Gate, ...]:
    """Fail a gate of the socket."""
    return (GENERATOR_GATE,) if of.transport == "socket" else (passed(),)


def test_cells_that_can_be_compared_stand_in_one_row(tmp_path: Path) -> None:
    """One row of charts an operation and load, in the order of the report, with the same looks in all."""
    made = chapter(tmp_path, quick_cells())
    titles = ["users.create, 1 connection", "users.create, 16 connections", "users.get, 1 connection"]
    assert [*titles, "users.get, 16 connections"] == [row.title for row in made.rows]
    assert ["REST", "gRPC", "gRPC by ghz", "socket"] == [style.name for style in made.legend]
    for row in made.rows:
        assert ["requests/s", "Server CPU per request"] == [chart.title for chart in row.bars]
        drawn = Drawn(row.bars[0].svg)
        assert ["REST", "gRPC", "gRPC by ghz", "socket !"] == drawn.texts("name")
        assert "failed: generator CPU" == drawn.root.findtext(".//title")
    assert made.has_failed_gates


def test_what_the_filters_leave_out_is_not_drawn(tmp_path: Path) -> None:
    """The filters are those of cells, too."""
    made = chapter(tmp_path, quick_cells(), Filters(transport=("grpc",), driver=("ghz",)))
    assert ["gRPC by ghz"] == [style.name for style in made.legend]
    assert 4 == made.cells
    assert not made.has_failed_gates


def test_rows_beyond_the_first_are_folded(tmp_path: Path) -> None:
    """So that a page stays one that can be read; a sweep has its overview instead."""
    operations = ("users.get", "users.create", "users.update", "users.delete", "users.list", "echo.echo", "echo.upper")
    made = chapter(tmp_path / "operations", [cell("rest", operation=operation) for operation in operations])
    assert (6, 1) == (len(made.rows), len(made.more))
    made = chapter(tmp_path / "sweep", [cell("rest", concurrency=2**level) for level in range(4)])
    assert (2, 2) == (len(made.rows), len(made.more))


def test_a_sweep_is_drawn_over_its_levels(tmp_path: Path) -> None:
    """Each figure has a line for each transport; two levels make none."""
    cells = [cell(transport, concurrency=level) for level in (1, 4, 64) for transport in ("rest", "socket")]
    overview = chapter(tmp_path / "sweep", cells).overviews[0]
    assert "users.get, over connections" == overview.title
    assert ["p99", "requests/s", "Server CPU per request"] == [chart.title for chart in overview.charts]
    throughput = Drawn(overview.charts[1].svg)
    assert ["REST", "socket"] == [style.name for style in overview.legend]
    assert (2, 3) == (len(throughput.lines()), len(throughput.all("column")))
    assert ["1", "4", "64"] == throughput.texts("scale")[-3:]
    assert "0" == throughput.texts("scale")[0]
    assert () == chapter(tmp_path / "two", cells[:4]).overviews


def test_plots_show_which_cells_failed_a_gate(tmp_path: Path) -> None:
    """Of all figures that the gate concerns, as bars do; and it is said of what stands first of a run alone, too."""
    cells = [cell(transport, concurrency=level) for level in (1, 4, 64) for transport in ("rest", "socket")]
    made = chapter(tmp_path, cells)
    p99, rate, cpu = made.overviews[0].charts
    assert not any("unfit" in mark.attrib["class"] for mark in Drawn(cpu.svg).all("mark"))
    drawn = [p99, rate, *(row.latency for row in made.rows if row.latency)]
    marks = [mark for each in drawn for mark in Drawn(each.svg).all("mark")]
    by_colour = {(mark.attrib["stroke"], "unfit" in mark.attrib["class"]) for mark in marks}
    assert {("var(--rest)", False), ("var(--socket)", True)} == by_colour
    assert made.opening().has_failed_gates
    passed_all = chapter(tmp_path / "fit", [each for each in cells if each.transport == "rest"])
    assert not passed_all.opening().has_failed_gates


def test_a_gate_marks_the_figures_that_it_concerns_alone(tmp_path: Path) -> None:
    """Too few requests for a p99 say nothing against rates, CPU and medians; p95 can't be trusted either."""
    too_few = passed("samples", passed=False, value=50, limit=1000, unit="requests", metrics=("p99",))
    cells = [cell(transport, concurrency=level) for level in (1, 4, 64) for transport in ("rest", "socket")]
    made = chapter(tmp_path, cells, failed=lambda *_: (too_few,))
    p99, *others = made.overviews[0].charts
    assert {True} == {"unfit" in mark.attrib["class"] for mark in Drawn(p99.svg).all("mark")}
    bars = [bar for row in made.rows for bar in row.bars]
    assert not any("unfit" in mark.attrib["class"] for each in (*others, *bars) for mark in Drawn(each.svg).all("mark"))
    assert made.rows[0].latency
    marks = Drawn(made.rows[0].latency.svg).all("mark")[:4]
    assert [False, True, True, True] == ["unfit" in mark.attrib["class"] for mark in marks]
    assert ("samples",) == made.rows[0].table.groups[0][1][0].failed_gates


def test_any_factor_whose_levels_are_numbers_is_drawn_over(tmp_path: Path) -> None:
    """A level of 0 has its place, too, and each level has a row of its own whose names don't repeat it."""
    cells = [cell(transport, delay_ms=delay) for delay in (0, 1, 5, 40) for transport in TRANSPORTS]
    made = chapter(tmp_path, cells)
    (overview,) = made.overviews
    assert "users.get, 16 connections, over delay of a round trip, ms" == overview.title
    drawn = Drawn(overview.charts[0].svg)
    assert ["0", "1", "5", "40"] == drawn.texts("scale")[-4:]
    assert sorted(drawn.numbers("here", "x1")) == drawn.numbers("here", "x1")
    assert ["REST", "gRPC", "socket"] == [style.name for style in made.legend]
    assert made.legend == overview.legend
    assert [f"users.get, 16 connections, {delay} ms away" for delay in (0, 1, 5, 40)] == [
        row.title for row in (*made.rows, *made.more)
    ]


def test_many_cells_stand_in_rows_by_what_is_not_compared(tmp_path: Path) -> None:
    """As in the report: what a run compares stays side by side."""
    reopened = [replace(cell(each), connection="reopen") for each in TRANSPORTS]
    kept = [cell(each) for each in TRANSPORTS]
    cells = [replace(each, tls=tls) for each in (*kept, *reopened) for tls in ("none", "server", "mutual")]
    made = chapter(tmp_path, cells, compared="tls")
    assert ["users.get, 16 connections", "users.get, 16 connections, connections reopened"] == [
        row.title for row in made.rows
    ]
    assert ["REST", "REST TLS", "REST mutual TLS"] == Drawn(made.rows[1].bars[0].svg).texts("name")[:3]
    assert 9 == len(made.legend)


def test_streams_have_charts_of_their_items(tmp_path: Path) -> None:
    """How evenly they come among them; there is no plot to point into, and nothing says so."""
    stream_run.write_run(tmp_path, [stream_run.stream_cell(each) for each in TRANSPORTS], dict.fromkeys(TRANSPORTS, 5))
    with Index(f"sqlite:///{tmp_path}/index.db") as index:
        index.catch_up(tmp_path)
        made = make_chapter(index.results(Filters()).rows)
    assert ["items/s", "Time to the first item", "p99 gap between items", "Server CPU per item"] == [
        chart.title for chart in made.rows[0].bars
    ]
    assert not made.has_plots


def test_what_was_asked_for_stays_chosen() -> None:
    """A level that nothing has, and several of one filter, too."""
    asked = Filters(scenario=("gone",), transport=("grpc", "rest"), concurrency=(16,))
    by_name = {field.name: field for field in make_fields(asked, CHOICES)}
    chosen = {name: [option.text for option in field.options if option.selected] for name, field in by_name.items()}
    assert ["gone"] == chosen["scenario"]
    assert ["gRPC", "REST"] == chosen["transport"]
    assert ["16"] == chosen["concurrency"]
    assert ["transport"] == [name for name, field in by_name.items() if field.multiple]


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("", "date", ""),
        ("2026-11-21", "date", "2026-11-21"),
        ("2026-11-21T18:00Z", "datetime-local", "2026-11-21T18:00:00"),
        ("2026-11-21T18:00:00.5+02:00", "datetime-local", "2026-11-21T16:00:00.500"),
    ],
)
def test_a_time_is_asked_for_again(text: str, kind: str, value: str) -> None:
    """A field of a date can't hold one; what the field sends is read as the same moment."""
    asked = Filters.read([("since", text)])
    made, _ = make_moment_fields(asked, [("since", text)])
    assert (kind, value) == (made.kind, made.value)
    assert asked == Filters.read([("since", made.value)])


def test_an_address_keeps_what_it_does_not_change() -> None:
    """Parameters are escaped, replaced, left out and added."""
    pairs = (("scenario", "a&b"), ("cursor", "old"), ("protocol", "rest"))
    assert "/?scenario=a%26b&protocol=rest" == make_address("/", pairs, "cursor")
    assert "/?scenario=a%26b&protocol=rest&cursor=new" == make_address("/", pairs, cursor="new")
    assert "/" == make_address("/", ())
