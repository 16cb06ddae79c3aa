"""What services answer: replies that differ are shown, and the requests of conformance are repeatable."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.report_run import cell
from wirebench.drivers import Job
from wirebench.errors import WirebenchError
from wirebench.measure.answers import Answer, compare_answers
from wirebench.measure.conformance import IDS, Conformance, draw_requests
from wirebench.model.application import read_application
from wirebench.model.scenario import Load

REPLY = {"data": {"id": 7}}
SHOP = """\
operations:
  get:
    rest: {request: GET /}
    grpc: {call: a.B/C, metadata: {token: "${SHOP_TOKEN}"}}
    same: [{rest: data.id, grpc: id}, {rest: data.kind, grpc: kind}]
variants:
  a-r: {transport: rest, start: "r {port}"}
  a-s: {transport: rest, start: "s {port}"}
  a-g: {transport: grpc, start: "g {port}", schema: reflection}
"""


def outcome(folder: Path, answers: dict[str, Sequence[Answer]]) -> tuple[str, ...]:
    """Return what is found wrong with answers of variants."""
    path = folder / "shop.yaml"
    path.write_text(SHOP)

    def job(variant: str) -> Job:
        of = cell("grpc" if variant == "a-g" else "rest", operation="get", variant=variant)
        return Job(of, Load(), "127.0.0.1:9", 1, 1, folder, folder, None)

    found = compare_answers([(job(name), each) for name, each in answers.items()], read_application(path))
    assert sum(map(len, answers.values())) == found.requests
    return tuple(line.replace(f"{folder}/", "") for line in found.mismatches)


def answer(*same: str | None) -> Answer:
    """Return a good answer with these values."""
    return Answer(operation="get", sent="GET /", status="ok", reply=REPLY, same=same)


@pytest.mark.parametrize(
    ("same", "expected"),
    [
        ({"a-r": ("7", "1"), "a-g": ("7", "1")}, ""),
        (
            {"a-r": ("7", "1"), "a-g": ("8", "1")},
            'shop.yaml:5: operations.get.same: a-r has data.id: 7 in {"data": {"id": 7}}, sent GET /; a-g has id: 8',
        ),
        ({"a-r": ("7", "1"), "a-s": ("7", "null")}, "a-s has data.kind: null in"),
        ({"a-r": ("7", None), "a-s": ("7", None)}, "a-s has data.kind: nothing in"),
        ({"a-r": ("7", "1"), "a-g": ("7", None)}, "a-r has data.kind: 1 in"),
    ],
)
def test_values_that_are_not_alike_are_shown(
    tmp_path: Path, same: dict[str, tuple[str | None, ...]], expected: str
) -> None:
    """A line has the request, the path and both replies; no value is like no other."""
    found = outcome(tmp_path, {name: [answer(*values)] * 2 for name, values in same.items()})
    assert expected in "\n".join(found)
    assert bool(expected) == bool(found)


REQUESTS = draw_requests(seed=1, count=1000, transports=("rest",), writes=True)


@pytest.mark.parametrize("operation", ["users.create", "users.create_batch", "users.update", "users.delete"])
def test_writes_keep_to_their_ids(operation: str) -> None:
    """A valid id that is written is one of ours; seeded users are never touched."""
    fields = json.dumps([each for name, each in REQUESTS if name == operation], default=repr)
    written = list(map(int, re.findall(r'"id": (-?\d+)', fields)))
    assert written
    assert all(each in IDS for each in written if each > 0)


def test_what_happened_to_many_requests_is_one_line(tmp_path: Path) -> None:
    """With its count, the place to edit, and the first request as it was sent; another status is another line."""
    missing = [
        Answer(operation="get", sent=f"GET /{number}", status=status, reply="x" * 300, problem=f"no item {number}")
        for status in (404, 500)
        for number in range(10)
    ]
    found = outcome(tmp_path, {"a-r": missing})
    shown = f"{'x' * 199}…"
    assert (
        f'shop.yaml:3: operations.get.rest: a-r: no item 0; sent GET /0; it answered 404 "{shown} (10 times)',
        f'shop.yaml:3: operations.get.rest: a-r: no item 0; sent GET /0; it answered 500 "{shown} (10 times)',
    ) == found
    with pytest.raises(WirebenchError, match="2 problems in the replies to 20 requests"):
        Conformance(20, found).require_passed(of_variants=True)


@pytest.mark.parametrize("before", range(170, 205, 5))
def test_a_secret_is_hidden_before_a_text_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: int) -> None:
    """No part of it is shown, wherever the limit falls."""
    monkeypatch.setenv("SHOP_TOKEN", "s3cret-" * 6)
    text = "x" * before + "s3cret-" * 6
    wrong = Answer(operation="get", sent=text, status=500, reply=text, problem=text)
    assert "s3c" not in "".join(outcome(tmp_path, {"a-r": [wrong]}))
