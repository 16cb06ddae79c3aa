"""What services answer: replies that differ are shown, and the requests of conformance are repeatable."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.report_run import cell
from wirebench.drivers import Job
from wirebench.measure.answers import Answer, compare_answers
from wirebench.measure.conformance import IDS, draw_requests
from wirebench.model.application import read_application
from wirebench.model.scenario import Load
from wirebench.run.schema import compile_schema
from wirebench.system.paths import CONTRACT

APPLICATION = """\
operations:
  get:
    rest: {request: GET /item}
    grpc: {call: shop.Catalog/Get}
    same: [{rest: data.id, grpc: id}, {rest: data.kind, grpc: kind}]
variants:
  r: {transport: rest, start: "a {port}"}
  s: {transport: rest, start: "a {port}"}
  g: {transport: grpc, start: "b {port}", schema: shop.proto}
"""
PROTO = """\
syntax = "proto3";
package shop;
enum Kind { KIND_UNKNOWN = 0; KIND_BOOK = 1; }
message Item { int64 id = 1; Kind kind = 2; }
service Catalog { rpc Get(Item) returns (Item); }
"""
REPLIES: dict[str, Any] = {"r": {"data": {"id": 7, "kind": "book"}}, "g": {"id": "7", "kind": "KIND_BOOK"}}


def outcome(folder: Path, replies: dict[str, Any]) -> tuple[str, ...]:
    """Return what is found wrong with replies, by variant."""
    (folder / "a.yaml").write_text(APPLICATION)
    (folder / "shop.proto").write_text(PROTO)
    (folder / "shop.binpb").write_bytes(compile_schema([folder / "shop.proto"], [folder]))
    application = read_application(folder / "a.yaml")

    def job(variant: str) -> Job:
        of = cell(application.variants[variant].transport, operation="get", variant=variant)
        messages = folder / "shop.binpb" if variant == "g" else CONTRACT
        job = Job(of, Load(), "127.0.0.1:9", 1, 1, folder, folder, None)
        return replace(job, application=folder / "a.yaml", descriptors=messages)

    def answers(name: str) -> list[Answer]:
        return [Answer(operation="get", number=each, status="ok", reply=replies[name], problem="") for each in (1, 2)]

    alike = {name: each.same for name, each in application.operations.items()}
    found = compare_answers([(job(name), answers(name)) for name in replies], alike)
    assert 4 == found.requests
    return found.mismatches


def test_replies_are_alike_whatever_their_form(tmp_path: Path) -> None:
    """The messages say what is: large numbers as text, names of enums, and values that are left out."""
    assert () == outcome(tmp_path, REPLIES)
    assert () == outcome(tmp_path, {"r": {}, "g": {"id": "0", "kind": "KIND_UNKNOWN"}})


@pytest.mark.parametrize(
    ("replies", "expected"),
    [
        (REPLIES | {"g": {"id": "8"}}, 'get, request 1: r has data.id: "7" in {"data": {"id": 7, "kind": "book"}}; g'),
        (REPLIES | {"g": {"id": "8"}}, 'g has id: "8" in {"id": "8"}'),
        (REPLIES | {"r": "a text"}, 'r has data.id: null in "a text"'),
        ({"r": REPLIES["r"], "s": {"data": {"id": 7}}}, "s has data.kind: nothing in"),
        ({"r": {"data": {"id": 7, "kind": 1}}, "s": {"data": {"id": 7, "kind": True}}}, "s has data.kind: true in"),
    ],
)
def test_different_replies_are_both_shown(tmp_path: Path, replies: dict[str, Any], expected: str) -> None:
    """The line has the request, the path and both replies. Without messages nothing may be left out."""
    assert expected in "\n".join(outcome(tmp_path, replies))


REQUESTS = draw_requests(seed=1, count=1000, transports=("rest",), writes=True)


@pytest.mark.parametrize("operation", ["users.create", "users.create_batch", "users.update", "users.delete"])
def test_writes_keep_to_their_ids(operation: str) -> None:
    """A valid id that is written is one of ours; seeded users are never touched."""
    fields = json.dumps([each for name, each in REQUESTS if name == operation], default=repr)
    written = list(map(int, re.findall(r'"id": (-?\d+)', fields)))
    assert written
    assert all(each in IDS for each in written if each > 0)
