"""`wirebench run` and what belongs to it, for real: real services and a real wireload."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.runs import TINY, all_cores, needs_tools, only_run, wirebench
from wirebench.model.run_info import Run

pytestmark = [all_cores, needs_tools]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, dict[str, Any]]:
    """Run the tiny scenario once; return it as it is on disk, and as it was printed."""
    folder = tmp_path_factory.mktemp("tiny")
    path = folder / "tiny.yaml"
    path.write_text(TINY, encoding="utf-8")
    done = wirebench("run", path, "--out", folder / "results", "--seed", "7", "--json")
    assert 0 == done.returncode, done.stderr
    return only_run(folder / "results"), json.loads(done.stdout)


def test_a_run_is_complete_and_holds_every_cell_of_every_block(tiny: tuple[Run, dict[str, Any]]) -> None:
    """Three cells in two blocks are six records, with a histogram file each, and a report."""
    run, printed = tiny
    assert "complete" == run.info.status
    assert 6 == len(run.records) == len({record.id for record in run.records}) == len(printed["records"])
    assert all((run.folder / record.histogram_file).is_file() for record in run.records)
    assert (run.folder / "report.html").read_text().startswith("<!doctype html>")
    assert run.info.conformance_requests > 0
    assert () == run.info.conformance_mismatches


def test_figures_are_plausible(tiny: tuple[Run, dict[str, Any]]) -> None:
    """Rates, latencies, CPU and bytes fit together in every record."""
    for record in tiny[0].records:
        assert {} == record.errors, record.error_texts
        assert record.requests / record.window_s == pytest.approx(record.rate_achieved_per_s)
        assert record.service is not None
        assert record.requests == record.service.count
        assert 0 < record.service.min_ms <= record.service.p50_ms <= record.service.p99_ms <= record.service.max_ms
        # Little's law of a closed load: four requests are on the way, or less where the generator thinks between them.
        # Those that end in the window may have begun before it.
        longest_s = 1.001 * record.service.max_ms / 1000
        in_flight_max = 4 * (1 + longest_s / record.window_s)
        assert record.rate_achieved_per_s * record.service.mean_ms / 1000 <= in_flight_max, record.id
        assert record.response is None
        assert record.server.cpu_us_per_request is not None
        assert 0 < record.server.cpu_us_per_request < 200_000  # which would be nanoseconds
        assert record.server.memory_bytes is not None
        assert record.server.memory_bytes > 10_000_000
        assert record.server.throttled_periods is None
        if record.factors["driver"] == "wireload":
            assert record.bytes_sent_per_request is not None
            assert record.bytes_received_per_request is not None
            assert 10 < record.bytes_sent_per_request < 1000
            assert 30 < record.bytes_received_per_request < 1000
