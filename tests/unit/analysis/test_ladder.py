"""The codec ladder: its rungs, what each step changes, and its place in the report."""

from __future__ import annotations

from pathlib import Path

from tests.support.report_run import RunBuilder, cell, passed
from wirebench.analysis.ladder import find_ladders
from wirebench.analysis.summary import summarise
from wirebench.present.charts.style import assign_styles
from wirebench.report import ladder

RUNGS = (
    cell("socket", codec="json"),
    cell("rest", codec="json"),
    cell("grpc"),
    cell("socket", codec="protobuf"),
    cell("rest", codec="protobuf"),
)


def test_a_ladder_changes_one_thing_at_a_time(tmp_path: Path) -> None:
    """Whatever the order of the cells: first the codec, then framing and framework, at last the codec again."""
    (found,) = find_ladders(summarise(RunBuilder(RUNGS).write(tmp_path).records), 0.05)
    assert [
        ("rest", "json"),
        ("rest", "protobuf"),
        ("grpc", "protobuf"),
        ("socket", "protobuf"),
        ("socket", "json"),
    ] == [(rung.cell.factors["transport"], rung.cell.factors["codec"]) for rung in found]
    assert ["", "codec", "framing and framework", "framing and framework", "codec"] == [
        rung.step.partition(":")[0] for rung in found
    ]
    # gRPC's CPU against REST's in these records: 0.16 ms against 0.28 ms.
    assert 0.5 < found[2].ratios["cpu"].estimate < 0.64


def test_http_2_is_a_rung_of_its_own(tmp_path: Path) -> None:
    """It has HTTP/1.1's framework and gRPC's codec; JSON over HTTP/2 is on no ladder."""
    cells = (*RUNGS, *(cell("rest", codec=codec, http=2) for codec in ("json", "protobuf")))
    (found,) = find_ladders(summarise(RunBuilder(cells).write(tmp_path).records), 0.05)
    assert [
        "",
        "codec: protobuf for JSON, over HTTP/1.1",
        "framing: HTTP/2 for HTTP/1.1, with protobuf",
        "framing and framework: gRPC for HTTP/2, with protobuf",
    ] == [rung.step for rung in found[:4]]
    assert 6 == len(found)


def test_without_both_codecs_of_rest_there_is_no_ladder(tmp_path: Path) -> None:
    """Then codec and framing change at once, and no rung tells them apart."""
    assert () == find_ladders(summarise(RunBuilder(RUNGS[:4]).write(tmp_path).records), 0.05)


def test_the_report_shows_each_step_and_doubts_failed_gates(tmp_path: Path) -> None:
    """A sentence a step, a picture of CPU and one of latency; a gate that failed is named."""
    run = RunBuilder(RUNGS, gates=lambda of, _: (passed(passed=of.transport != "grpc"),)).write(tmp_path)
    cells = summarise(run.records)
    (found,) = ladder.make_ladders(cells, assign_styles(cells), run.info)
    assert ["unreliable" in sentence for sentence in found.sentences] == [False, True, True, False]
    assert found.sentences[0].startswith("Codec: protobuf for JSON, over HTTP/1.1: ")
    assert ["server CPU per request, µs: users.get, 16 connections", "p50, ms: users.get, 16 connections"] == [
        picture.title for picture in found.charts
    ]


def test_a_missing_rung_changes_the_words(tmp_path: Path) -> None:
    """Without gRPC, bare frames stand against HTTP/1.1; without its protobuf, codec and framing change at once."""
    without_grpc = [each for each in RUNGS if each.transport != "grpc"]
    (found,) = find_ladders(summarise(RunBuilder(without_grpc).write(tmp_path / "a").records), 0.05)
    assert "framing and framework: bare frames for HTTP/1.1, with protobuf" == found[2].step
    json_alone = [each for each in without_grpc if (each.transport, each.codec) != ("socket", "protobuf")]
    (found,) = find_ladders(summarise(RunBuilder(json_alone).write(tmp_path / "b").records), 0.05)
    assert "codec, framing and framework at once: bare frames for HTTP/1.1, JSON for protobuf" == found[2].step
