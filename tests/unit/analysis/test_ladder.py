"""The codec ladder: its rungs, what each step changes, and its place in the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.support.report_run import RunBuilder, cell, passed
from wirebench.analysis.ladder import find_steps
from wirebench.analysis.summary import summarise
from wirebench.model.cell import Cell
from wirebench.present.run import make_run_view

RUNGS = (
    cell("socket", codec="json"),
    cell("rest", codec="json"),
    cell("grpc"),
    cell("socket", codec="protobuf"),
    cell("rest", codec="protobuf"),
)


def find_changes(folder: Path, cells: Sequence[Cell]) -> list[str]:
    """Return what each step of a run with these cells changes."""
    return [step.change for step in find_steps(summarise(RunBuilder(cells).write(folder).records), 0.05)]


def test_a_ladder_changes_one_thing_at_a_time(tmp_path: Path) -> None:
    """Whatever the order of the cells: first the codec, then framing and framework, at last the codec again."""
    steps = find_steps(summarise(RunBuilder(RUNGS).write(tmp_path).records), 0.05)
    assert ["rest", "grpc", "socket", "socket"] == [step.subject.factors["transport"] for step in steps]
    assert ["codec", "framing and framework", "framing and framework", "codec"] == [
        step.change.partition(":")[0] for step in steps
    ]
    # gRPC's CPU against REST's in these records: 0.16 ms against 0.28 ms.
    assert 0.5 < steps[1].ratios["cpu"].estimate < 0.64
    assert "faster" == steps[1].verdict


def test_http_2_is_a_rung_of_its_own(tmp_path: Path) -> None:
    """It has HTTP/1.1's framework and gRPC's codec; JSON over HTTP/2 is on no ladder."""
    changes = find_changes(tmp_path, (*RUNGS, *(cell("rest", codec=codec, http=2) for codec in ("json", "protobuf"))))
    assert [
        "codec: protobuf for JSON, over HTTP/1.1",
        "framing: HTTP/2 for HTTP/1.1, with protobuf",
        "framing and framework: gRPC for HTTP/2, with protobuf",
    ] == changes[:3]
    assert 5 == len(changes)


def test_without_both_codecs_of_rest_there_is_no_ladder(tmp_path: Path) -> None:
    """Then codec and framing change at once, and no rung tells them apart."""
    assert [] == find_changes(tmp_path, RUNGS[:4])


def test_steps_are_shown_like_other_comparisons(tmp_path: Path) -> None:
    """By what they change; a gate that failed withholds the verdict."""
    run = RunBuilder(RUNGS, gates=lambda of, _: (passed(passed=of.transport != "grpc"),)).write(tmp_path)
    steps = make_run_view(run).steps
    assert ["withheld" == step.verdict for step in steps] == [False, True, True, False]
    assert "codec: protobuf for JSON, over HTTP/1.1" == steps[0].label
    assert "REST with protobuf" in steps[0].statement


def test_a_missing_rung_changes_the_words(tmp_path: Path) -> None:
    """Without gRPC, bare frames stand against HTTP/1.1; without its protobuf, codec and framing change at once."""
    without_grpc = [each for each in RUNGS if each.transport != "grpc"]
    expected = "framing and framework: bare frames for HTTP/1.1, with protobuf"
    assert expected == find_changes(tmp_path / "a", without_grpc)[1]
    json_alone = [each for each in without_grpc if (each.transport, each.codec) != ("socket", "protobuf")]
    expected = "codec, framing and framework at once: bare frames for HTTP/1.1, JSON for protobuf"
    assert expected == find_changes(tmp_path / "b", json_alone)[1]
