"""The pages' charts: where marks go, and which cells stand side by side."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit import stream_run
from tests.unit.report_run import GENERATOR_GATE, RunBuilder, cell, passed, quick_cells
from wirebench.index import Choices, Filters, Index
from wirebench.report.charts.style import styles_of
from wirebench.scenario import Cell
from wirebench.scenario.contract import TRANSPORTS, Comparable
from wirebench.selection.parameters import moment
from wirebench.stats.history import history
from wirebench.store import Gate
from wirebench.web.charts import bars, latency, over, plot
from wirebench.web.charts import history as history_chart
from wirebench.web.pages.chapter import Chapter, make_chapter
from wirebench.web.pages.form import address, fields, moment_fields

REST, GRPC = styles_of([("REST", "rest"), ("gRPC", "grpc")]).values()
CHOICES = Choices(
    scenarios=("quick", "tiny"),
    protocols=("grpc", "rest"),
    clients=("wireload",),
    concurrencies=(1, 16),
    operations=("users.get",),
    machines=("Some CPU, 2 cores",),
    targets=("local",),
)
NOTHING_ASKED: dict[str, tuple[object, ...]] = dict.fromkeys(
    ("scenario", "protocol", "client", "operation", "concurrency", "machine", "target"), ()
)


def chapter(
    folder: Path, cells: Sequence[Cell], filters: Filters | None = None, compared: Comparable = "transport"
) -> Chapter:
    """Return the charts of a run with these cells, of which the index lets some through."""
    RunBuilder(cells, blocks=2, samples=50, gates=gates).write(folder)
    with Index.open(f"sqlite:///{folder}/index.db") as index:
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
        assert ["Throughput", "Server CPU per request"] == [chart.heading for chart in row.bars]
        assert ["REST", "gRPC", "gRPC by ghz", "socket"] == [bar.style.name for bar in row.bars[0].bars]
    socket = made.rows[0].bars[0].bars[-1]
    assert (("generator CPU",), 100) == (socket.failed_gates, socket.at)
    assert made.has_failed_gates


def test_what_the_filters_leave_out_is_not_drawn(tmp_path: Path) -> None:
    """The filters are those of cells, too."""
    made = chapter(tmp_path, quick_cells(), Filters(protocol=("grpc",), client=("ghz",)))
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


def test_bars_begin_at_nothing_and_the_longest_fills_its_row() -> None:
    """Lengths compare as figures do; what was not measured has no bar, and without any there is no chart."""
    figures = [bars.Figure(REST, 50.0, ()), bars.Figure(GRPC, 200.0, ()), bars.Figure(GRPC, None, ())]
    made = bars.draw("Throughput", "requests/s", "more", figures)
    assert made is not None
    assert [("REST", "50.0", 25), ("gRPC", "200", 100)] == [(bar.style.name, bar.figure, bar.at) for bar in made.bars]
    assert () == made.ticks
    assert bars.draw("Throughput", "requests/s", "more", figures[2:]) is None


def test_figures_that_lie_far_apart_are_dots_on_a_logarithmic_scale() -> None:
    """Bars from 0 would show the greatest alone; the scale has numbers, and equal ratios are equal distances."""
    made = bars.draw("Gap", "ms", "less", [bars.Figure(REST, value, ()) for value in (0.001, 0.1, 10.0)])
    assert made is not None
    least, middle, most = (bar.at for bar in made.bars)
    assert middle - least == pytest.approx(most - middle, abs=0.1)
    assert 0 < least < most < 100
    assert ["0.001", "0.01", "0.1", "1", "10"] == [tick.label for tick in made.ticks]
    assert (least, most) == (made.ticks[0].at, made.ticks[-1].at)


def test_less_latency_is_drawn_lower_and_all_of_it_within_the_drawing() -> None:
    """On a logarithmic scale, equal ratios are equal distances."""
    scale = plot.LogScale.of([0.1, 1.0, 10.0])
    assert scale is not None
    ys = [scale.y(latency_ms) for latency_ms in (10.0, 1.0, 0.1)]
    assert sorted(ys) == ys
    assert ys[1] - ys[0] == pytest.approx(ys[2] - ys[1], abs=0.2)
    assert ys[0] > plot.TOP
    assert ys[2] < plot.HEIGHT - plot.BOTTOM
    assert ["0.1", "0.3", "1", "3", "10"] == [tick.label for tick in scale.ticks]


@pytest.mark.parametrize("latencies_ms", [[], [0.0], [5.0], [5.0, 5.0], [1e-3, 1e5]])
def test_a_scale_holds_whatever_was_measured(latencies_ms: list[float]) -> None:
    """Nothing, nothing positive, the same everywhere, and much of everything."""
    scale = plot.LogScale.of(latencies_ms)
    if not any(latencies_ms):
        assert scale is None
        return
    assert scale is not None
    assert 1 <= len(scale.ticks) <= 10
    assert all(plot.TOP <= scale.y(latency_ms) <= plot.HEIGHT for latency_ms in latencies_ms)


def test_figures_of_a_percentile_are_written_apart() -> None:
    """However close the marks are, no figure covers another, and none leaves the drawing."""
    cells = [plot.Series(REST, {"p50": 1.0 + index / 1000, "p99.9": 0.1}) for index in range(8)]
    scale = plot.LogScale.of([0.1, 1.0])
    assert scale is not None
    made = latency.draw("users.get", cells, scale)
    assert ["p50", "p99.9"] == [column.label for column in made.columns]
    for column in made.columns:
        places = [mark.label_y for mark in column.marks]
        assert all(later - earlier >= 12 for earlier, later in itertools.pairwise(places))
        assert plot.TOP <= places[0]
        assert places[-1] <= plot.HEIGHT - plot.BOTTOM
    assert ["start", "end"] == [column.anchor for column in made.columns]


def test_a_drawing_says_its_figures_to_those_who_do_not_see_it() -> None:
    """And a cell that has none says so."""
    scale = plot.LogScale.of([1.0])
    assert scale is not None
    cells = [plot.Series(REST, {"p50": 1.0, "p99": 3.5}, unfit=("p50", "p99")), plot.Series(GRPC, {"p50": None})]
    told = latency.draw("users.get", cells, scale).description.partition(": ")[2]
    assert "REST p50 1.00 ms, p99 3.50 ms, where a gate failed; gRPC not measured" == told


def test_a_sweep_is_drawn_over_its_levels(tmp_path: Path) -> None:
    """Each figure has a line for each transport; two levels make none."""
    cells = [cell(transport, concurrency=level) for level in (1, 4, 64) for transport in ("rest", "socket")]
    overview = chapter(tmp_path / "sweep", cells).overviews[0]
    assert "users.get, over connections" == overview.title
    assert ["p99 latency", "Throughput", "Server CPU per request"] == [drawn.heading for drawn in overview.plots]
    throughput = overview.plots[1]
    assert ["REST", "socket"] == [line.style.name for line in throughput.lines]
    assert ["1", "4", "64"] == [column.label for column in throughput.columns]
    assert "0" == throughput.ticks[0].label
    assert () == chapter(tmp_path / "two", cells[:4]).overviews


def test_plots_show_which_cells_failed_a_gate(tmp_path: Path) -> None:
    """Of all figures of such a cell, as its bars do; and it is said of what stands first of a run alone, too."""
    cells = [cell(transport, concurrency=level) for level in (1, 4, 64) for transport in ("rest", "socket")]
    made = chapter(tmp_path, cells)
    drawn = [*made.overviews[0].plots, *(row.latency for row in made.rows if row.latency)]
    marks = [mark for each in drawn for column in each.columns for mark in column.marks]
    assert {("REST", True), ("socket", False)} == {(mark.style.name, mark.fit) for mark in marks}
    assert made.opening().has_failed_gates
    passed_all = chapter(tmp_path / "fit", [each for each in cells if each.transport == "rest"])
    assert not passed_all.opening().has_failed_gates


def test_any_factor_whose_levels_are_numbers_is_drawn_over(tmp_path: Path) -> None:
    """A level of 0 has its place, too, and each level has a row of its own whose names don't repeat it."""
    cells = [cell(transport, delay_ms=delay) for delay in (0, 1, 5, 40) for transport in TRANSPORTS]
    made = chapter(tmp_path, cells)
    (overview,) = made.overviews
    assert "users.get, 16 connections, over delay of a round trip, ms" == overview.title
    assert ["0", "1", "5", "40"] == [column.label for column in overview.plots[0].columns]
    xs = [column.x for column in overview.plots[0].columns]
    assert sorted(xs) == xs
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
    assert ["REST", "REST TLS", "REST mutual TLS"] == [bar.style.name for bar in made.rows[1].bars[0].bars[:3]]
    assert 9 == len(made.legend)


def test_streams_have_charts_of_their_items(tmp_path: Path) -> None:
    """How evenly they come among them; there is no plot to point into, and nothing says so."""
    stream_run.write_run(tmp_path, [stream_run.stream_cell(each) for each in TRANSPORTS], dict.fromkeys(TRANSPORTS, 5))
    with Index.open(f"sqlite:///{tmp_path}/index.db") as index:
        index.catch_up(tmp_path)
        made = make_chapter(index.results(Filters()).rows)
    assert ["Items", "Time to the first item", "p99 item gap", "Server CPU per item"] == [
        chart.heading for chart in made.rows[0].bars
    ]
    assert (False, True, False) == (made.has_plots, made.has_bars, made.has_dots)


def test_levels_lie_as_far_apart_as_their_ratios() -> None:
    """And where their labels have no room, every other is left out, but for the last."""
    levels = {2.0**power: 100.0 * power for power in range(1, 20)}
    drawn = over.draw("Throughput", "requests/s", "more", "connections", [over.Levels(REST, levels, {2.0})])
    assert drawn is not None
    distances = {round(after.x - before.x) for before, after in itertools.pairwise(drawn.columns)}
    assert max(distances) - min(distances) <= 1
    assert drawn.columns[-1].has_room
    assert not drawn.columns[-2].has_room
    assert "Throughput over connections: REST 100 at 2, where a gate failed, 1,900 at 524288" == drawn.description


@pytest.mark.parametrize("high", [0.003, 1.0, 7.3, 10.0, 999.0, 24_035.0])
def test_a_linear_scale_begins_at_nothing_and_has_round_numbers(high: float) -> None:
    """However great the figures are."""
    scale = plot.LinearScale.of([high, None, 0.0])
    assert scale is not None
    assert 3 <= len(scale.ticks) <= 7
    assert plot.HEIGHT - plot.BOTTOM == scale.ticks[0].at
    assert all(plot.TOP <= tick.at for tick in scale.ticks)
    assert plot.LinearScale.of([None, 0.0]) is None


def test_a_scale_that_shows_differences_holds_them() -> None:
    """It needn't begin at 0, nor end there."""
    for values in ([2385.0, 2289.0, 2485.0], [5.0], [0.001, 900.0]):
        scale = plot.LinearScale.around(values)
        assert 1 <= len(scale.ticks) <= 7
        assert all(plot.TOP <= scale.y(value) <= plot.HEIGHT - plot.BOTTOM for value in values)
    assert plot.LinearScale.around([2385.0, 2289.0]).low > 2000


def test_a_history_has_a_line_for_each_machine(tmp_path: Path) -> None:
    """With each run's figure and its interval; runs of the same minute are two."""
    another = {"machine": {"cpu": "Another", "cores": "4"}}
    infos: tuple[dict[str, object], ...] = (
        {"id": "run1", "started_at": "2026-11-01T08:00:00Z"},
        {"id": "run2", "started_at": "2026-11-01T08:00:30Z", **another},
        {"id": "run3", "started_at": "2026-11-02T08:00:00Z"},
    )
    runs = [RunBuilder([cell("rest")], blocks=2, samples=20, info=info).write(tmp_path) for info in infos]
    found = history(runs)
    assert found is not None
    drawn = history_chart.draw(found)
    assert ["local: Some CPU @ 2.50GHz, 2 cores", "local: Another, 4 cores"] == [
        line.style.name for line in drawn.lines
    ]
    assert ["2026-11-01 08:00", "2026-11-01 08:00 (2)", "2026-11-02 08:00"] == [
        column.label for column in drawn.columns
    ]
    assert [1, 1, 1] == [len(column.marks) for column in drawn.columns]
    assert 3 == len(drawn.intervals)
    assert all(interval.high_y < interval.low_y for interval in drawn.intervals)


def test_dates_below_a_history_are_not_written_over_each_other(tmp_path: Path) -> None:
    """Of sixteen letters each; the newest is always there, and the others can be pointed at."""
    infos = [{"id": f"run{day}", "started_at": f"2026-11-{day:02}T08:00:00Z"} for day in range(1, 13)]
    found = history([RunBuilder([cell("rest")], blocks=1, samples=20, info=info).write(tmp_path) for info in infos])
    assert found is not None
    written = [column.x for column in history_chart.draw(found).columns if column.has_room]
    assert all(after - before >= 16 * 6.6 for before, after in itertools.pairwise(written))
    assert history_chart.draw(found).columns[-1].has_room


def test_a_history_marks_failed_gates_and_other_versions(tmp_path: Path) -> None:
    """Hollow is a run whose gate failed; an upright stands before another version."""
    commits = ("c0ffee", "c0ffee", "feedbeef")
    infos = [
        {
            "id": f"run{day}",
            "started_at": f"2026-11-0{day}T08:00:00Z",
            "commit": commit,
            "machine": {"cpu": "Another"} if day == 2 else {"cpu": "Some"},
        }
        for day, commit in enumerate(commits, 1)
    ]
    runs = [
        RunBuilder([cell("rest")], blocks=2, samples=20, info=info, gates=lambda *_, gate=gate: (gate,)).write(tmp_path)
        for info, gate in zip(infos, (GENERATOR_GATE, passed(), passed()), strict=True)
    ]
    found = history(runs)
    assert found is not None
    drawn = history_chart.draw(found)
    assert [False, True, True] == [mark.fit for column in drawn.columns for mark in column.marks]
    (turn,) = drawn.turns
    assert ("feedbeef", True) == (turn.label, turn.has_room)
    assert drawn.columns[1].x < turn.x < drawn.columns[2].x
    assert "in run1, where a gate failed" in drawn.description


def test_what_was_asked_for_stays_chosen() -> None:
    """A level that nothing has, and several of one filter, too."""
    asked = NOTHING_ASKED | {"scenario": ("gone",), "protocol": ("grpc", "rest"), "concurrency": (16,)}
    by_name = {field.name: field for field in fields(asked, CHOICES)}
    chosen = {name: [option.text for option in field.options if option.selected] for name, field in by_name.items()}
    assert ["gone"] == chosen["scenario"]
    assert ["gRPC", "REST"] == chosen["protocol"]
    assert ["16"] == chosen["concurrency"]
    assert ["protocol"] == [name for name, field in by_name.items() if field.multiple]


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
    read = (moment()(text),) if text else ()
    made, _ = moment_fields({"since": read, "until": ()}, {"since": text})
    assert (kind, value) == (made.kind, made.value)
    for each in read:
        assert each == moment()(made.value)


def test_an_address_keeps_what_it_does_not_change() -> None:
    """Parameters are escaped, replaced, left out and added."""
    pairs = (("scenario", "a&b"), ("cursor", "old"), ("protocol", "rest"))
    assert "/?scenario=a%26b&protocol=rest" == address("/", pairs, "cursor")
    assert "/?scenario=a%26b&protocol=rest&cursor=new" == address("/", pairs, cursor="new")
    assert "/" == address("/", ())
