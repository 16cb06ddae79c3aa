"""A figure over runs: machines apart, changes from run to run, and what is said of it, drawn and rejected."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.support.command_line import reject, wirebench
from tests.support.drawn import Drawn
from tests.support.report_run import GENERATOR_GATE, RunBuilder, cell, passed
from wirebench.analysis.history import build_history
from wirebench.analysis.history_search import CELLS_MAX
from wirebench.model.cell import Cell
from wirebench.present.charts import history as chart
from wirebench.results.runs import Run

SMALL = {"cpu": "Small CPU", "cores": "2", "memory": "4 GiB"}
LARGE = {"cpu": "Large CPU", "cores": "64", "memory": "512 GiB"}
REST = cell("rest")


def write(
    folder: Path, day: int, rate_per_s: float = 1000.0, *cells: Cell, fit: bool = True, info: Mapping[str, Any] = {}
) -> Run:
    """Write a run of a day in November whose three blocks are about that fast."""
    about = {"id": f"202611{day:02d}T100000Z-quick", "started_at": f"2026-11-{day:02d}T10:00:00Z", "machine": SMALL}
    builder = RunBuilder(
        cells=cells or (REST,),
        blocks=3,
        samples=300,
        info={**about, **info},
        gates=(passed() if fit else GENERATOR_GATE,),
        record=lambda record: {"rate_achieved_per_s": rate_per_s * (1 + record.block / 1000)},
    )
    return builder.write(folder)


#: On the scenario that is written here.
HISTORY = ("history", "--scenario", "quick", "--out")


def ask(folder: Path, *arguments: object) -> tuple[int, str, str]:
    """Run `wirebench history`."""
    return wirebench(*HISTORY, folder, *arguments)


def test_a_figure_that_cells_are_not_compared_by_has_no_ratio(tmp_path: Path) -> None:
    """Capacities are compared by what was searched for alone."""
    for day in (1, 2):
        write(tmp_path, day, 1000, cell("rest", shape="capacity"))
    (found,) = json.loads(ask(tmp_path, "--metric", "p50", "--json")[1])["cells"]
    assert found["lines"][0]["runs"][1]["change"]["ratio"] is None


@pytest.mark.parametrize("scenarios", ["a,b", ""])
def test_a_history_is_of_one_scenario(tmp_path: Path, scenarios: str) -> None:
    """Not of several, nor of none."""
    write(tmp_path, 1)
    assert "--scenario: name one scenario" in reject("history", "--scenario", scenarios, "--out", tmp_path)


def test_machines_and_targets_are_kept_apart(tmp_path: Path) -> None:
    """A run is compared with the one before on the same machine and target, whatever came between."""
    runs = [
        write(tmp_path, 1),
        write(tmp_path, 2, 5000, info={"machine": LARGE}),
        write(tmp_path, 3, 900),
        write(tmp_path, 4, 100, info={"target": "kubernetes"}),
        write(tmp_path, 5, 4000, info={"machine": LARGE}),
    ]
    found = build_history(runs)
    assert found is not None
    assert ["local: Small CPU, 2 cores", "local: Large CPU, 64 cores", "kubernetes: Small CPU, 2 cores"] == [
        line.name for line in found.lines
    ]
    changes = [[point.change and point.change.verdict for point in line.points] for line in found.lines]
    assert [[None, "slower"], [None, "slower"], [None]] == changes


def test_a_cell_is_the_same_on_every_target(tmp_path: Path) -> None:
    """What clusters add to its factors makes another line of it, not another cell."""
    limits = {"cpu_limit_millicores": 500, "memory_limit_mib": 512, "placement": "cross-node", "balancing": "service"}
    write(tmp_path, 1)
    write(tmp_path, 2, 100, cell("rest", disruption="none", **limits), info={"target": "kubernetes"})
    write(tmp_path, 3)
    (found,) = json.loads(ask(tmp_path, "--json")[1])["cells"]
    assert [("local", 2), ("kubernetes", 1)] == [(line["target"], len(line["runs"])) for line in found["lines"]]


def test_what_runs_noted_is_said_once_with_their_names(tmp_path: Path) -> None:
    """On the terminal that of the newest first; programs get each run's own."""
    write(tmp_path, 1, info={"notes": ("busy",)})
    for day in range(2, 7):
        write(tmp_path, day, info={"notes": ("cores are shared",)})
    names = ", ".join(f"202611{day:02d}T100000Z-quick" for day in (6, 5, 4))
    shown = ask(tmp_path)[1]
    assert f"! Noted in {names}, 2 more: cores are shared.\n! Noted in 20261101T100000Z-quick: busy.\n" in shown
    (found,) = json.loads(ask(tmp_path, "--json")[1])["cells"]
    assert [["busy"], ["cores are shared"]] == [run["notes"] for run in found["lines"][0]["runs"][:2]]


def test_another_figure_is_judged_by_itself(tmp_path: Path) -> None:
    """--metric has its own verdicts and gates: that on the generator says nothing of the server's CPU."""
    write(tmp_path, 1)
    write(tmp_path, 2, 500, fit=False)
    _, by_rate, _ = ask(tmp_path)
    _, by_cpu, _ = ask(tmp_path, "--metric", "cpu")
    assert "no verdict (failed gates: generator CPU)" in by_rate
    assert "0.50×" in by_rate
    assert "server CPU per request, µs (less is better)" in by_cpu
    assert "generator CPU" not in by_cpu


def test_a_table_has_a_row_a_run(tmp_path: Path) -> None:
    """With date, version, figure, interval, change, and the same on a strip; hollow where a gate failed."""
    write(tmp_path, 1, info={"commit": "c0ffee"})
    write(tmp_path, 2, 800, fit=False)
    status, shown, complaint = ask(tmp_path)
    assert (0, "") == (status, complaint)
    first, second = (line for line in shown.splitlines() if "T100000Z-quick" in line and ":00" in line)
    assert all(part in first for part in ("2026-11-01 10:00", "c0ffee", "1,000", "–", "●", "passed"))
    assert all(
        part in second for part in ("2026-11-02 10:00", "0123456789abcdef01", "800", "0.80×", "○", "generator CPU")
    )


def test_a_history_is_of_the_runs_that_are_asked_for(tmp_path: Path) -> None:
    """By machine, target and time; the last day is included."""
    write(tmp_path, 1)
    write(tmp_path, 2, info={"machine": LARGE, "status": "incomplete", "reason": "interrupted"})
    write(tmp_path, 3, info={"target": "kubernetes"})
    for arguments, days in (
        (("--machine", "Small CPU, 2 cores", "--target", "local"), ["01"]),
        (("--since", "2026-11-02", "--until", "2026-11-02"), ["02"]),
        (("--since", "2026-11-02T10:00:01Z"), ["03"]),
    ):
        (found,) = json.loads(ask(tmp_path, "--json", *arguments)[1])["cells"]
        assert days == [point["run"][6:8] for line in found["lines"] for point in line["runs"]]
    assert "20261102T100000Z-quick (incomplete)" in ask(tmp_path)[1]


def test_programs_get_every_point(tmp_path: Path) -> None:
    """--json has figures with their bounds, versions, gates and changes."""
    write(tmp_path, 1)
    write(tmp_path, 2, 800)
    (found,) = json.loads(ask(tmp_path, "--json")[1])["cells"]
    assert ("REST users.get, 16 connections", "throughput", True) == (
        found["name"], found["metric"], found["higher_is_better"],
    )  # fmt: skip
    (line,) = found["lines"]
    first, second = line["runs"]
    assert first["low"] < first["figure"] < first["high"]
    assert (None, "slower") == (first["change"], second["change"]["verdict"])
    assert "0.1.0" == second["versions"]["wireload"]


def test_cells_are_chosen_by_name_id_or_factor(tmp_path: Path) -> None:
    """A whole name or id is that cell alone, though others begin with it."""
    write(tmp_path, 1, 1000, *(cell("rest", concurrency=count) for count in (1, 10, 100)))
    for arguments, expected in (
        (("--cell", "REST users.get, 10 connections"), ["10"]),
        (("--cell", cell("rest", concurrency=1).id), ["1"]),
        (("--cell", "C10"), ["10", "100"]),
        (("--factor", "concurrency=1", "--factor", "concurrency=100", "--factor", "rate_per_s=none"), ["1", "100"]),
    ):
        found = json.loads(ask(tmp_path, "--json", *arguments)[1])["cells"]
        assert expected == sorted(str(each["factors"]["concurrency"]) for each in found)


def test_of_many_cells_one_has_to_be_chosen(tmp_path: Path) -> None:
    """They are listed, with how to choose; nothing else is shown."""
    write(tmp_path, 1, 1000, *(cell("rest", concurrency=count) for count in range(1, CELLS_MAX + 2)))
    complaint = reject(*HISTORY, tmp_path)
    assert "error: 5 cells of quick match" in complaint
    assert (
        "REST users.get, 3 connections  (rest-gunicorn-gthread-w1-memory-json-keep-users.get-c3-wireload; 1 run)"
        in complaint
    )
    assert "next: choose with --cell" in complaint


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--scenario", "other"), "there are runs of quick"),
        (("--cell", "grpc"), "no cell of quick is like 'grpc'\n  | REST users.get, 16 connections"),
        (("--factor", "workers=9"), "no cell of quick has workers=9"),
        (("--factor", "colour=red"), "no factor 'colour'"),
        (("--factor", "workers"), "not NAME=LEVEL"),
        (("--metric", "speed"), "no figure 'speed'\nnext: figures are throughput, p50"),
        (("--metric", "gap"), "no run has p99 gap between items there"),
        (("--since", "yesterday"), "isn't a date"),
        (("--since", "2026-12-01"), "no run of quick since 2026-12-01 00:00"),
        (("--since", "20261201"), "'20261201' isn't a date"),
        (("--machine", "Large CPU, 64 cores"), "no run of quick on Large CPU, 64 cores"),
        (("--plot", "picture.pdf"), "a plot is an .svg or a .png"),
    ],
)
def test_what_is_not_there_is_said_with_what_is(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    """One clear line, a next step, status 2; no file is written."""
    write(tmp_path, 1)
    assert said in reject(*HISTORY, tmp_path, *arguments)


def test_a_folder_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    """Who looks for runs in the wrong place leaves nothing behind."""
    assert "no such folder" in reject(*HISTORY, tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


def test_a_run_that_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    """The others are shown, and it is named."""
    damaged = write(tmp_path, 1)
    write(tmp_path, 2)
    ask(tmp_path)  # which puts both into the index
    next((damaged.folder / "records").iterdir()).write_text("{")
    status, shown, complaint = ask(tmp_path)
    assert 0 == status
    assert f"warning: skipped {damaged.folder}, which can't be read: records/b00" in complaint
    assert damaged.info.id not in shown


def test_a_run_that_the_index_never_had_is_named_as_well(tmp_path: Path) -> None:
    """Once, and so is one that it has had: what isn't shown is known."""
    damaged = write(tmp_path, 1)
    write(tmp_path, 2)
    (damaged.folder / "run.json").write_text("{")
    complaint = f"warning: skipped {damaged.folder}, which can't be read: run.json: "
    status, shown, said = ask(tmp_path)
    assert (0, 1) == (status, said.count(complaint))
    assert damaged.info.id not in shown
    whole = write(tmp_path, 3)
    ask(tmp_path)
    (whole.folder / "run.json").write_text("{")
    assert 2 == ask(tmp_path)[2].count("warning: skipped ")


def test_a_run_that_was_removed_is_gone(tmp_path: Path) -> None:
    """The index may remember it, without any message."""
    removed = write(tmp_path, 1)
    write(tmp_path, 2)
    ask(tmp_path)  # which puts both into the index
    shutil.rmtree(removed.folder)
    status, shown, complaint = ask(tmp_path)
    assert (0, "") == (status, complaint)
    assert removed.info.id not in shown


def test_a_cell_whose_runs_were_all_removed_says_so(tmp_path: Path) -> None:
    """Rather than that they have no such figure."""
    removed = write(tmp_path, 1)
    ask(tmp_path)  # which puts it into the index
    shutil.rmtree(removed.folder)
    complaint = reject(*HISTORY, tmp_path)
    assert "all runs of quick with such a cell were removed from the folder, or are elsewhere" in complaint
    assert "next: `wirebench index --rebuild`" in complaint


def test_a_scenario_of_which_nothing_was_measured_says_so(tmp_path: Path) -> None:
    """Its runs are there: other days, machines or targets wouldn't help."""
    RunBuilder(cells=[REST], blocks=0, info={"status": "incomplete", "blocks": 2}).write(tmp_path)
    said = "error: no window was measured in any run of quick\nnext: `wirebench resume RUN`"
    assert said in reject(*HISTORY, tmp_path)


def test_plots_are_files_that_stand_alone(tmp_path: Path) -> None:
    """An SVG with colours for light and dark, which says in words what it shows; or a PNG."""
    write(tmp_path, 1, info={"machine": LARGE | {"cpu": "<Large> & CPU"}})
    write(tmp_path, 2, fit=False)
    svg, png = tmp_path / "plot.svg", tmp_path / "plot.png"
    assert (0, 0) == (ask(tmp_path, "--plot", svg)[0], ask(tmp_path, "--plot", png)[0])
    root = ET.fromstring(svg.read_text())  # noqa: S314 - we have written it
    assert "{http://www.w3.org/2000/svg}svg" == root.tag
    described = root.findtext("{http://www.w3.org/2000/svg}desc")
    assert "REST users.get, 16 connections: requests/s: local: <Large> & CPU" in (described or "")
    assert root.findtext("{http://www.w3.org/2000/svg}title") == root.attrib["aria-label"] == "requests/s over runs"
    assert "prefers-color-scheme: dark" in svg.read_text()
    assert b"\x89PNG" == png.read_bytes()[:4]


def test_a_plot_has_a_mark_in_its_legend_for_every_machine(tmp_path: Path) -> None:
    """Of its own colour and shape, whether it has a line or not; hollow is a run whose gate failed."""
    runs = [
        write(tmp_path, 1),
        write(tmp_path, 2, info={"machine": LARGE}),
        write(tmp_path, 3, fit=False),
        write(tmp_path, 4, info={"target": "kubernetes"}),
    ]
    found = build_history(runs)
    assert found is not None
    drawn = Drawn(chart.arrange([found]))
    swatches = [each for each in drawn.root.iter() if each.get("class") == "swatch"]
    marks = [path for each in swatches for path in each.iter() if path.get("class") == "mark"]
    assert 3 == len({each.attrib["fill"] for each in marks}) == len({each.attrib["d"] for each in marks})
    assert 1 == len(drawn.all("mark unfit"))
