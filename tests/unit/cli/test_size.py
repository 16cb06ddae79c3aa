"""`wirebench size`: its table, its JSON, and what it says where runs have nothing to size by."""

from __future__ import annotations

import re
from pathlib import Path

import orjson
import pytest

from tests.support.command_line import reject, wirebench
from tests.support.report_run import RunBuilder, cell, passed
from tests.support.scaling_runs import draw_noise, grow, write_run
from wirebench.cli.size import parse_latency_ms
from wirebench.model.record import Record

CELLS = [
    cell(transport, workers=level, cpu_limit_millicores=8000)
    for transport in ("rest", "socket")
    for level in (1, 2, 4, 8)
]


def write(folder: Path) -> str:
    """Write a run, and return its name."""
    noise = draw_noise(1, 0.01)

    def rate(record: Record) -> float:
        return grow(int(record.factors["workers"] or 1), sigma=0.05) * noise()

    return write_run(folder, CELLS, rate).info.id


def test_the_table_says_how_many_of_each(tmp_path: Path) -> None:
    """A row for each variant and number of workers, one for the law over workers, and what they rest on."""
    name = write(tmp_path)
    status, text, _ = wirebench(
        "size", name, "--rate", 10_000, "--p99", "50ms", "--utilisation", 0.5, "--out", tmp_path
    )
    assert 0 == status
    rows = [re.split(r"\s{2,}", line) for line in text.splitlines() if line.endswith(", from 16 connections")]
    assert ["REST"] * 5 + ["socket"] * 5 == [row[0] for row in rows]
    assert rows[0][1].startswith("20* (")
    assert rows[4][-1].startswith("Amdahl's law over workers")
    assert "p99 up to 50 ms, each replica at 50% of what it was measured to keep." in text
    assert "Each replica had 8000m CPU." in text
    assert "Loads were closed" in text
    assert "≥" not in text
    assert "Replicas are taken to add up" in text


def test_even_arrivals_are_a_caveat(tmp_path: Path) -> None:
    """Open loads aren't as users come, at random times."""
    write_run(tmp_path, [cell("rest", rate_per_s=1000)], lambda _: 1000.0)
    _, text, _ = wirebench("size", "--rate", 7000, "--p99", "50ms", "--out", tmp_path)
    assert "Arrivals were evenly spaced. Arrivals at random reach the p99 at a lower rate" in text
    assert "Loads were closed" not in text
    assert "requests may have waited for a connection" in text
    assert "≥: no measured load broke the objective" in text
    assert "Each replica had 1 core of Some CPU @ 2.50GHz, 2 cores." in text


def test_replicas_that_had_no_requests_are_a_caveat(tmp_path: Path) -> None:
    """What one of two served isn't what both would serve."""
    RunBuilder([cell("rest", replicas=2)], blocks=3, samples=1200, server={"replica_fairness": 0.5}).write(tmp_path)
    _, text, _ = wirebench("size", "--rate", 7000, "--p99", "50ms", "--out", tmp_path)
    assert "Some replicas had far more requests than others; what a replica keeps is the mean." in text


def test_one_block_is_said_to_have_no_interval(tmp_path: Path) -> None:
    """In the table and below it; programs get null."""
    write_run(tmp_path, CELLS[:1], lambda _: 1000.0, blocks=1)
    status, text, _ = wirebench("size", "--rate", 7000, "--p99", "50ms", "--out", tmp_path)
    assert 0 == status
    assert "10* (–)" in text
    assert "(–): fewer than 3 blocks have no interval; measure more (`--blocks`)." in text
    _, text, _ = wirebench("size", "--rate", 7000, "--p99", "50ms", "--out", tmp_path, "--json")
    assert {"estimate": 10, "low": None, "high": None} == orjson.loads(text)[0]["sizes"][0]["replicas"]


def test_programs_get_intervals_and_null_for_what_is_never_reached(tmp_path: Path) -> None:
    """A law that ends below the rate has no number of workers."""
    write(tmp_path)
    status, text, _ = wirebench("size", "--rate", 1e6, "--p99", "0.05s", "--out", tmp_path, "--json")
    (found,) = orjson.loads(text)
    by_law = [each for each in found["sizes"] if each["scaled"] == "workers"]
    assert (0, 50, 0.7) == (status, found["p99_ms"], found["utilisation"])
    assert [(None, None)] * 2 == [(each["workers"]["estimate"], each["workers"]["high"]) for each in by_law]
    counts = found["sizes"][0]["replicas"]
    assert 1300 < counts["low"] <= counts["estimate"] <= counts["high"] < 1600


def test_a_rate_that_no_number_reaches_is_never_reached(tmp_path: Path) -> None:
    """The table says so in the column of the workers, and below it why."""
    status, text, _ = wirebench("size", write(tmp_path), "--rate", 1e6, "--p99", "50ms", "--out", tmp_path)
    assert (0, True) == (status, "Never: the scaling law doesn't reach the rate" in text)
    assert 2 == len(re.findall(r"^(?:REST|socket) +1 +never\b", text, re.MULTILINE))


@pytest.mark.parametrize(("gate", "hint"), [(True, "allow a longer --p99"), (False, "says what to do about gates")])
def test_runs_without_a_usable_load_say_what_to_do(tmp_path: Path, *, gate: bool, hint: str) -> None:
    """What is wrong with each size is listed, and a next step."""
    write_run(tmp_path, CELLS[:2], lambda _: 100.0, lambda _: 90.0 if gate else 9.0, gates=(passed(passed=gate),))
    errors = reject("size", "--rate", 10, "--p99", "50ms", "--out", tmp_path)
    assert "no run here has a load that can be used" in errors
    assert "| no usable measurement of REST with 1 replica of 1 worker: " in errors
    assert hint in errors


@pytest.mark.parametrize(
    ("info", "blocks", "expected"),
    [
        ({"status": "running"}, 1, (2, "is still running")),
        ({"status": "incomplete", "reason": "interrupted"}, 1, (0, "The run is incomplete: interrupted.")),
        ({"status": "incomplete", "reason": "interrupted"}, 0, (2, "no window of 20261121T101500Z-quick was measured")),
    ],
)
def test_runs_that_did_not_end_are_rejected_or_marked(
    tmp_path: Path, info: dict[str, str], blocks: int, expected: tuple[int, str]
) -> None:
    """One in progress is waited for; one that was stopped has a caveat, or nothing to size by."""
    RunBuilder(CELLS[:1], blocks=blocks, info=info).write(tmp_path)
    status, text, errors = wirebench("size", "--rate", 10, "--p99", "50ms", "--out", tmp_path)
    assert expected[0] == status
    assert expected[1] in text + errors


@pytest.mark.parametrize(("text", "latency_ms"), [("50ms", 50), ("0.5ms", 0.5), ("1.5s", 1500), (" 2s ", 2000)])
def test_latencies_have_a_unit(text: str, latency_ms: float) -> None:
    """Milliseconds and seconds."""
    assert latency_ms == parse_latency_ms(text)
