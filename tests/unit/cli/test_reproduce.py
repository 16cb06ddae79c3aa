"""`wirebench reproduce`: a bundle's scenario is run with the limits of any, and its verdicts are compared with ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support import report_run
from tests.support.bundles import packed, parts_of, with_content, with_json
from tests.support.command_line import reject, wirebench
from tests.support.report_run import GENERATOR_GATE, RunBuilder, cell
from wirebench.cli.measure import PlannedRun
from wirebench.present.reproduction import (
    Reproduction,
    check_reproduction,
    describe_difference,
    describe_repetition,
    summarise_reproduction,
)
from wirebench.report import write_report
from wirebench.results.bundle.write import write_bundle
from wirebench.results.runs import Run

QUESTION = "Which is faster?"
TEXT = f"question: {QUESTION}\nfactors: {{transport: [rest, socket], concurrency: 16}}\nblocks: 3\n"
INFO = {"question": QUESTION, "scenario_text": TEXT}
CELLS = (cell("rest"), cell("socket"))


def built(folder: Path, *, slow_socket: bool = False, **changes: Any) -> Run:  # noqa: ANN401 - RunBuilder's
    """Return a run, with another socket service if asked for."""
    with pytest.MonkeyPatch.context() as patch:
        if slow_socket:
            patch.setitem(report_run.SPEEDS, "socket", (9.0, 0.02))
        arguments: dict[str, Any] = {"cells": CELLS, "blocks": 3, "samples": 1000} | changes
        return RunBuilder(**arguments | {"info": INFO | arguments.get("info", {})}).write(folder)


def outcomes(found: Reproduction) -> list[str]:
    """Return what became of each comparison."""
    return [each.outcome for each in found.comparisons]


def test_the_same_verdict_holds(tmp_path: Path) -> None:
    """With the figures and intervals of both sides."""
    found = check_reproduction(built(tmp_path / "there"), built(tmp_path / "here", seed=8))
    assert ["held"] == outcomes(found)
    (text,) = map(describe_repetition, found.comparisons)
    assert text.startswith("held: users.get, 16 connections: socket is faster than REST: ")
    assert 2 == text.count("(95 % CI ")
    assert text.endswith(" the requests/s here.")
    assert "Reproduced: of 1 comparison, 1 held here, none contradicted." == summarise_reproduction(found)


def test_another_verdict_contradicts(tmp_path: Path) -> None:
    """Both are conclusive, and they differ."""
    found = check_reproduction(built(tmp_path / "there"), built(tmp_path / "here", slow_socket=True))
    assert ["contradicted"] == outcomes(found)
    (text,) = map(describe_repetition, found.comparisons)
    assert text.startswith("NOT HELD: users.get, 16 connections: socket is faster than REST there, with ")
    assert "; socket is slower than REST here, with 0." in text
    assert "Not reproduced: of 1 comparison, 1 contradicted here, 0 held." == summarise_reproduction(found)


@pytest.mark.parametrize(
    ("there", "here", "expected"),
    [
        (
            {},
            {"gates": lambda *_: (GENERATOR_GATE,)},
            "no verdict on socket against REST (failed gates: generator CPU) here",
        ),
        (
            {"gates": lambda *_: (GENERATOR_GATE,)},
            {},
            "no verdict on socket against REST (failed gates: generator CPU) there",
        ),
        ({}, {"blocks": 1}, "inconclusive between socket and REST here"),
        ({}, {"cells": CELLS[:1]}, "it wasn't compared here"),
    ],
)
def test_without_a_verdict_on_both_sides_nothing_can_be_said(
    tmp_path: Path, there: dict[str, Any], here: dict[str, Any], expected: str
) -> None:
    """Withheld, inconclusive or never measured: that contradicts nothing, even where the ratio is quite another."""
    found = check_reproduction(built(tmp_path / "there", **there), built(tmp_path / "here", slow_socket=True, **here))
    assert ["open"] == outcomes(found)
    assert not found.is_contradicted
    (text,) = map(describe_repetition, found.comparisons)
    assert text.startswith("undecided: ")
    assert expected in text
    assert summarise_reproduction(found).startswith("Undecided: no comparison has a verdict")


def test_what_differs_is_named(tmp_path: Path) -> None:
    """Another machine is no excuse, and is said; so are versions."""
    other = {"machine": {"cpu": "Other CPU", "cores": "64"}, "versions": {"wirebench": "0.2.0", "wireload": "0.1.0"}}
    found = check_reproduction(built(tmp_path / "there"), built(tmp_path / "here", info=other))
    said = [describe_difference(each) for each in found.differences]
    assert "cpu: Some CPU @ 2.50GHz there, Other CPU here" in said
    assert "wirebench: 0.1.0 there, 0.2.0 here" in said
    assert not any(each.startswith("wireload:") for each in said)
    assert ["held"] == outcomes(found)


def test_drivers_have_no_verdict_to_hold(tmp_path: Path) -> None:
    """Their disagreement is the error of the instruments."""
    drivers = (cell("grpc"), cell("grpc", driver="ghz"))
    found = check_reproduction(built(tmp_path / "there", cells=drivers), built(tmp_path / "here", cells=drivers))
    assert () == found.comparisons


def test_cells_of_another_target_are_found_by_what_both_have(tmp_path: Path) -> None:
    """Limits, which only a cluster has, keep nothing apart, unless there are several to choose from."""
    limited = tuple(cell(name, cpu_limit_millicores=500) for name in ("rest", "socket"))
    there = built(tmp_path / "there", cells=limited, info={"target": "kubernetes"})
    here = built(tmp_path / "here")
    assert ["held"] == outcomes(check_reproduction(there, here))
    more = (*limited, *(cell(name, cpu_limit_millicores=900) for name in ("rest", "socket")))
    several = built(tmp_path / "several", cells=more, info={"target": "kubernetes"})
    assert ["open", "open"] == outcomes(check_reproduction(several, here))


class FakeMeasure:
    """Stands where a scenario would be measured, and remembers what it was given."""

    def __init__(self, run: Run) -> None:
        """Take the run that measuring comes to."""
        self.run = run

    def __call__(self, measurement: PlannedRun) -> Run:
        """Remember."""
        self.plan = measurement.plan
        self.text, self.kind = measurement.plan.scenario.source.text, measurement.target.kind
        self.folder_asked = measurement.out / measurement.name
        return self.run


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """Return the bundle of a run."""
    return write_bundle(built(tmp_path / "there"), write_report, tmp_path / "theirs.tar.gz").path


def test_what_is_measured_is_what_was(bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scenario, the seed, the blocks and the target are the bundle's, unless options say otherwise."""
    measured = FakeMeasure(built(tmp_path / "here"))
    monkeypatch.setattr("wirebench.cli.reproduce.measure", measured)
    status, text, _ = wirebench("reproduce", bundle, "--out", tmp_path / "results")
    assert 0 == status
    assert "• held: users.get, 16 connections: socket is faster than REST: " in text
    assert "Reproduced: of 1 comparison, 1 held here, none contradicted.\n" in text
    assert (TEXT, "local", 3, 4711) == (measured.text, measured.kind, len(measured.plan.blocks), measured.plan.seed)
    assert measured.folder_asked.parent == tmp_path / "results"
    assert measured.folder_asked.name.endswith("Z-quick")
    assert (
        0
        == wirebench("reproduce", bundle, "--blocks", 9, "--seed", 5, "--target", "external", "--rest", "http://h:1")[0]
    )
    assert ("external", 9, 5) == (measured.kind, len(measured.plan.blocks), measured.plan.seed)
    assert not (tmp_path / "results").exists()


def test_overrides_are_kept_and_others_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run reports how its scenario differs from the file of that name."""
    there = built(tmp_path / "there", info={"overrides": ("factors.concurrency 1 -> 16",)})
    measured = FakeMeasure(built(tmp_path / "here"))
    monkeypatch.setattr("wirebench.cli.reproduce.measure", measured)
    assert 0 == wirebench("reproduce", there.folder, "--out", tmp_path / "results")[0]
    assert (TEXT, ("factors.concurrency 1 -> 16",)) == (measured.text, measured.plan.scenario.source.overrides)
    assert 0 == wirebench("reproduce", there.folder, "--blocks", 9, "--out", tmp_path / "results")[0]
    assert ("factors.concurrency 1 -> 16", "blocks 3 -> 9") == measured.plan.scenario.source.overrides


def test_the_exit_status_is_that_of_a_failed_check(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script sees that a verdict doesn't hold; as JSON, it reads which."""
    monkeypatch.setattr("wirebench.cli.reproduce.measure", FakeMeasure(built(tmp_path / "here", slow_socket=True)))
    status, text, _ = wirebench("reproduce", bundle, "--json")
    assert 1 == status
    printed = json.loads(text)
    assert (0, 1, 0) == (printed["held"], printed["contradicted"], printed["open"])
    (compared,) = printed["comparisons"]
    assert ("faster", "slower") == (compared["original"]["verdict"], compared["reproduced"]["verdict"])
    assert compared["original"]["ratio"]["low"] > 1 > compared["reproduced"]["ratio"]["high"]


def test_a_run_that_is_here_can_be_reproduced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its name, as everywhere."""
    run = built(tmp_path / "results")
    monkeypatch.setattr("wirebench.cli.reproduce.measure", FakeMeasure(built(tmp_path / "here")))
    assert 0 == wirebench("reproduce", run.info.id, "--out", tmp_path / "results")[0]
    assert "error: nothing.tar.gz: No such file" in reject("reproduce", "nothing.tar.gz", "--out", tmp_path / "results")


REPLAY = f"""\
question: {QUESTION}
factors: {{transport: [rest, socket], concurrency: 16}}
load: {{model: replay, timing: ../../../../etc/passwd}}
blocks: 3
"""


def test_the_timing_file_is_the_bundles_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever its scenario says that it is: nothing outside is read."""
    run = built(tmp_path / "there", info={"scenario_text": REPLAY})
    (run.folder / "timing.json").write_text('{"inter_arrival_s": [0.5, 0.25, 0.5]}')
    bundle = write_bundle(run, write_report, tmp_path / "theirs.tar.gz").path
    measured = FakeMeasure(built(tmp_path / "here"))
    monkeypatch.setattr("wirebench.cli.reproduce.measure", measured)
    assert 0 == wirebench("reproduce", bundle)[0]
    load = measured.plan.scenario.load
    assert load.recording is not None
    assert (0, 500_000_000, 750_000_000, 1_250_000_000) == load.recording.offsets_ns
    assert load.timing_path is not None
    assert "timing.json" == load.timing_path.name
    (run.folder / "timing.json").unlink()
    bundle = write_bundle(run, write_report, tmp_path / "theirs.tar.gz").path
    said = "theirs.tar.gz: scenario_text:3: load.timing: 20261121T101500Z-quick/timing.json: No such"
    assert said in reject("reproduce", bundle)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"scenario_text": "question: [\n"}, "scenario_text:2: not valid YAML"),
        ({"scenario_text": TEXT + "run: rm -rf /\n"}, "scenario_text:4: run: no such key"),
        (
            {"scenario_text": TEXT.replace("16", "[16, 16]")},
            "theirs.tar.gz: scenario_text:2: factors.concurrency: a level",
        ),
        ({"scenario_text": TEXT.replace("faster", "slower")}, "scenario differs from the one its verdicts"),
        ({"scenario_text": TEXT + "compare: driver\n"}, "scenario differs from the one its verdicts"),
        ({"seed": 2**40}, f"its seed: {2**40} is not within"),
        ({"blocks": 10**9}, "a run has from 1 to 1,000 blocks"),
        ({"target": "moon"}, "no target 'moon'"),
        ({"target": "external"}, "no address is given"),
    ],
)
def test_a_bundle_that_cannot_be_run_starts_nothing(
    bundle: Path, tmp_path: Path, changes: dict[str, object], expected: str
) -> None:
    """Its scenario has the limits of any, and what goes with it is checked."""
    bundle.write_bytes(packed(with_json(parts_of(bundle.read_bytes()), "run.json", **changes)))
    text = reject("reproduce", bundle, "--out", tmp_path / "results")
    assert expected in text
    assert "/wirebench-" not in text, "a temporary path"
    assert not (tmp_path / "results").exists()


def test_a_damaged_bundle_is_rejected(bundle: Path, tmp_path: Path) -> None:
    """As it is by import."""
    bundle.write_bytes(packed(with_content(parts_of(bundle.read_bytes()), "run.json", lambda _: b"{}")))
    assert "run.json: id: is missing" in reject("reproduce", bundle, "--out", tmp_path / "results")
