"""What services answer: replies that differ are shown, and the requests of conformance are repeatable."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.report_run import cell
from wirebench.drivers import Job
from wirebench.measure.answers import Answer, compare_answers
from wirebench.measure.conformance import IDS, draw_requests
from wirebench.model.application import read_application
from wirebench.model.scenario import Load

APPLICATION = """\
operations:
  get:
    rest: {request: GET /item}
    grpc: {call: shop.Catalog/Get}
    same: [{rest: data.id, grpc: id}, {rest: data.tags, grpc: tags}]
variants:
  r: {transport: rest, start: "a {port}"}
  s: {transport: rest, start: "a {port}"}
  g: {transport: grpc, start: "b {port}"}
"""
REPLIES: dict[str, Any] = {"r": {"data": {"id": 7, "tags": []}}, "g": {"id": "7"}}


def outcome(folder: Path, replies: dict[str, Any]) -> tuple[str, ...]:
    """Return what is found wrong with replies, by variant."""
    (folder / "a.yaml").write_text(APPLICATION)
    application = read_application(folder / "a.yaml")

    def job(variant: str) -> Job:
        of = cell(application.variants[variant].transport, operation="get", variant=variant)
        return Job(of, Load(), "127.0.0.1:9", 1, 1, folder, folder, None)

    def answers(name: str) -> list[Answer]:
        return [Answer(operation="get", number=each, status="ok", reply=replies[name], problem="") for each in (1, 2)]

    alike = {name: each.same for name, each in application.operations.items()}
    found = compare_answers([(job(name), answers(name)) for name in replies], alike)
    assert 4 == found.requests
    return found.mismatches


def test_replies_are_alike_whatever_their_form(tmp_path: Path) -> None:
    """GRPC's JSON has large numbers as text, and leaves out what is empty."""
    assert () == outcome(tmp_path, REPLIES)
    nothing = {"r": {"data": {"id": 0, "tags": [{"of": ""}]}}, "g": {"tags": [{}]}}
    assert () == outcome(tmp_path, nothing)


@pytest.mark.parametrize("value", [0, False, "", None])
def test_rest_leaves_nothing_out(tmp_path: Path, value: object) -> None:
    """Only gRPC's JSON leaves out what is empty; and a truth value is no number."""
    there = {"data": {"id": value, "tags": []}}
    assert outcome(tmp_path, {"r": there, "s": {"data": {"tags": []}}})
    assert () == outcome(tmp_path, {"r": there, "s": there})
    assert outcome(tmp_path, {"r": {"data": {"id": 1, "tags": []}}, "s": {"data": {"id": True, "tags": []}}})


@pytest.mark.parametrize(
    ("variant", "reply", "expected"),
    [
        ("g", {"id": "8"}, 'get, request 1: r has data.id: 7 in {"data": {"id": 7, "tags": []}}; g has id: "8" in'),
        ("g", {}, "get, request 1: r has data.id: 7 in"),
        ("g", {"id": "7", "tags": ["a"]}, 'g has tags: ["a"] in'),
        ("r", {"data": {"id": 7}}, "r has data.tags: nothing in"),
        ("r", "a text", "r has data.id: nothing in"),
    ],
)
def test_different_replies_are_both_shown(tmp_path: Path, variant: str, reply: object, expected: str) -> None:
    """The line has the request, the path and both replies."""
    assert expected in "\n".join(outcome(tmp_path, REPLIES | {variant: reply}))


REQUESTS = draw_requests(seed=1, count=1000, transports=("rest",), writes=True)


@pytest.mark.parametrize("operation", ["users.create", "users.create_batch", "users.update", "users.delete"])
def test_writes_keep_to_their_ids(operation: str) -> None:
    """A valid id that is written is one of ours; seeded users are never touched."""
    fields = json.dumps([each for name, each in REQUESTS if name == operation], default=repr)
    written = list(map(int, re.findall(r'"id": (-?\d+)', fields)))
    assert written
    assert all(each in IDS for each in written if each > 0)
