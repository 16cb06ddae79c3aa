"""The API over HTTP: what it answers is what the records say."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import pytest

from tests.support.report_run import GENERATOR_GATE, RunBuilder, cell, passed
from tests.support.stream_run import stream_cell, write_run
from tests.support.web import Site, served
from wirebench.model.cell import Cell
from wirebench.model.record import Gate
from wirebench.store.runs import find_run

FIRST, SECOND, NAMED = "20260101T000000Z-quick", "20260102T000000Z-quick", "20260103T000000Z-named"
STREAMS = "20261121T101500Z-quick"
MACHINE = {"cpu": "Other CPU", "cores": "64"}
#: What a name may hold, and must never be taken for more than a name.
NAME = "=1+1'; DROP TABLE runs; -- <script>alert(1)</script>"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with four runs: two of one scenario, one with a name of its own, one of streams."""
    folder = tmp_path_factory.mktemp("api") / "results"

    def gates(of: Cell, block: int) -> tuple[Gate, ...]:
        return (passed(), GENERATOR_GATE if of.transport == "socket" and block == 2 else passed("generator_cpu"))

    for run, seed, info in (
        (FIRST, 1, {"started_at": "2026-01-01T00:00:00Z"}),
        (SECOND, 2, {"started_at": "2026-01-02T12:00:00Z", "machine": MACHINE, "target": "kubernetes"}),
    ):
        RunBuilder(blocks=3, samples=400, seed=seed, gates=gates, info={"id": run, **info}).write(folder)
    info = {"id": NAMED, "started_at": "2026-01-03T00:00:00Z", "scenario": NAME}
    RunBuilder(cells=[cell("rest")], blocks=1, samples=20, info=info).write(folder)
    write_run(folder, [stream_cell("grpc")], {"grpc": 1.0}, blocks=2)
    return folder


@pytest.fixture(scope="module")
def site(results: Path) -> Iterator[Site]:
    """Return a server over those runs; test_index.py compares the databases."""
    with served(results) as running:
        running.until("/runs", 4)
        yield running


def test_results_are_rows_of_cells(site: Site) -> None:
    """With the fields that programs count on, those of the newest run first."""
    answer = site.get("/results", limit=40)
    assert {"results", "count", "total", "next_cursor"} == answer.keys()
    assert (34, 34, None) == (answer["count"], answer["total"], answer["next_cursor"])
    assert [STREAMS, NAMED, SECOND, FIRST] == list(dict.fromkeys(row["run_id"] for row in answer["results"]))
    named = answer["results"][1]
    assert {
        "run_id": NAMED, "scenario": NAME, "started_at": "2026-01-03T00:00:00Z", "transport": "rest",
        "driver": "wireload", "concurrency": 16,
        "operation": "users.get", "target": "local", "errors": {},
        "machine": "Some CPU @ 2.50GHz, 2 cores", "requests": 20, "successful": 20, "failed": 0, "retried": 0,
        "reconnects": 0, "blocks": 1, "failed_gates": [],
    }.items() <= named.items()  # fmt: skip
    assert 0 < named["p50_ms"] < named["p90_ms"] < named["p99_ms"]


@pytest.mark.parametrize(
    ("path", "query", "parameter", "message"),
    [
        ("/results", "foo=1", "foo", "foo: there is no such parameter"),
        ("/results", "limit=1&limit=2", "limit", "limit: given more than once"),
        ("/results", "cursor=x", "cursor", "cursor: it isn't from a page of this list"),
        ("/compare", f"base={FIRST}", "head", "head: is missing"),
        ("/compare", f"base={FIRST}&head={FIRST}", None, f"{FIRST}: BASE and HEAD are the same run"),
    ],
)
def test_wrong_queries_are_rejected(site: Site, path: str, query: str, parameter: str | None, message: str) -> None:
    """With status 400, the parameter, the reason, and what to do next."""
    answer = site.ask(f"/api/v1{path}?{query}")
    error = answer.json["error"]
    assert (HTTPStatus.BAD_REQUEST, parameter, message) == (answer.status, error["parameter"], error["message"])
    assert error["hint"]


@pytest.mark.parametrize(
    "path",
    ["/nothing", "/results/", "/runs/none", "/runs/..", "/runs/.", "/runs/%2e%2e%2f%2e%2e%2fetc", "/runs/..%5c..",
     f"/runs/{FIRST}/nothing", f"/runs/{FIRST}%2frecords", f"/compare?base={FIRST}&head=none",
     f"/compare?base=../results/{FIRST}&head={SECOND}"],
)  # fmt: skip
def test_what_is_not_there_is_not_found(site: Site, path: str) -> None:
    """Names of runs are looked up, and lead nowhere else."""
    answer = site.ask(f"/api/v1{path}")
    assert (HTTPStatus.NOT_FOUND, {"error"}) == (answer.status, answer.json.keys())


def test_a_run_has_gates_and_verdicts(site: Site, results: Path) -> None:
    """Of each gate the worst block, and a sentence a comparison; two drivers of a cell have no verdict."""
    answer = site.get(f"/runs/{FIRST}")
    assert find_run(FIRST, results).info.model_dump(mode="json") == answer["run"]
    gates = {each["cell"]: {gate["worst"]["name"]: gate for gate in each["gates"]} for each in answer["cells"]}
    assert {True: [2], False: []} == {
        "socket" in name: gate["generator_cpu"]["failed_blocks"] for name, gate in gates.items()
    }
    assert all(
        GENERATOR_GATE.value == of["generator_cpu"]["worst"]["value"] for name, of in gates.items() if "socket" in name
    )
    comparisons = answer["comparisons"]
    withheld = [each for each in comparisons if each["verdict"] == "withheld"]
    assert withheld
    assert all(["generator_cpu"] == each["failed_gates"] for each in withheld)
    assert all("no verdict on socket" in each["sentence"] for each in withheld)
    assert {None} == {each["verdict"] for each in comparisons if each["instruments"]}
    assert answer["summary"]
    assert all(1 < each["ratios"]["throughput"]["blocks"] for each in comparisons)


def test_a_foreign_host_is_rejected(site: Site) -> None:
    """A page whose name leads to this machine learns nothing."""
    for host in ("evil.example", "localhost.evil.example:8400"):
        answer = site.ask("/api/v1/runs", host=host)
        assert (HTTPStatus.MISDIRECTED_REQUEST, {"error"}) == (answer.status, answer.json.keys())
    assert HTTPStatus.OK == site.ask("/api/v1/runs", host="localhost").status


def test_every_answer_is_guarded(site: Site) -> None:
    """Also what is rejected: no script but ours, no guessing of types, no address for others."""
    for path in ("/api/v1/runs", "/api/v1/nothing", "/api/v1/runs?x=1", "/nothing"):
        headers = site.ask(path).headers
        assert "default-src 'self'" in headers["content-security-policy"]
        assert ("nosniff", "same-origin") == (
            headers["x-content-type-options"],
            headers["cross-origin-resource-policy"],
        )
        assert "server" not in headers
