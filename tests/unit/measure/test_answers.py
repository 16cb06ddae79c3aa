"""What services answer: replies that differ are shown, and the requests of conformance are repeatable."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.report_run import cell
from wirebench.drivers import Job
from wirebench.errors import WirebenchError
from wirebench.measure.answers import Answer, compare_answers
from wirebench.measure.conformance import IDS, Conformance, draw_requests
from wirebench.model.scenario import Load

ALIKE = {"get": ({"rest": "data.id", "grpc": "id"}, {"rest": "data.kind", "grpc": "kind"})}
REPLY = {"data": {"id": 7}}


def outcome(folder: Path, same: dict[str, tuple[str | None, ...]]) -> tuple[str, ...]:
    """Return what is found wrong with replies that have these values, by variant."""

    def job(variant: str) -> Job:
        of = cell("grpc" if variant == "g" else "rest", operation="get", variant=variant)
        return Job(of, Load(), "127.0.0.1:9", 1, 1, folder, folder, None)

    def answer(name: str, number: int) -> Answer:
        return Answer(operation="get", number=number, status="ok", reply=REPLY, same=same[name])

    found = compare_answers([(job(name), [answer(name, number) for number in (1, 2)]) for name in same], ALIKE)
    assert 4 == found.requests
    return found.mismatches


@pytest.mark.parametrize(
    ("same", "expected"),
    [
        ({"r": ("7", "1"), "g": ("7", "1")}, ""),
        ({"r": ("7", "1"), "g": ("8", "1")}, 'get, request 1: r has data.id: 7 in {"data": {"id": 7}}; g has id: 8 in'),
        ({"r": ("7", "1"), "s": ("7", "null")}, "s has data.kind: null in"),
        ({"r": ("7", None), "s": ("7", None)}, "s has data.kind: nothing in"),
        ({"r": ("7", "1"), "g": ("7", None)}, "request 2: r has data.kind: 1 in"),
    ],
)
def test_values_that_are_not_alike_are_shown(
    tmp_path: Path, same: dict[str, tuple[str | None, ...]], expected: str
) -> None:
    """A line has the request, the path and both replies; no value is like no other."""
    found = outcome(tmp_path, same)
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


def test_what_happened_to_many_requests_is_one_line() -> None:
    """Ten lines that differ in the number of the request alone hide another one."""
    mismatches = (
        *(f"rest, get, request {number}: HTTP status 404" for number in range(1, 11)),
        "grpc, get, request 1: x",
    )
    with pytest.raises(WirebenchError, match="11 problems in the replies to 20 requests") as raised:
        Conformance(20, mismatches).require_passed(of_variants=True)
    assert ["rest, get, request 1: HTTP status 404 (10 times)", mismatches[-1]] == raised.value.details.splitlines()
