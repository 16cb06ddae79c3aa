"""`wirebench run` of a search for the capacity, of a service whose capacity is known."""

from __future__ import annotations

from pathlib import Path

from tests.support.runs import needs_tools, only_run, second_lane, wirebench
from wirebench.measure.truth import SERVER

pytestmark = [second_lane, needs_tools]

#: Each of eight connections has a reply every 50 ms.
CAPACITY_PER_S = 8 / 0.05
APPLICATION = f"""\
operations: {{get: {{rest: {{request: GET /api/users/1000001}}}}}}
variants: {{slow: {{transport: rest, start: "{SERVER} -listen 127.0.0.1:{{port}} -behaviour constant -latency 50ms"}}}}
"""
SCENARIO = """\
question: How much does it serve?
application: slow.yaml
factors: {operation: get, concurrency: 8}
load: {model: capacity, objective: {p99_ms: 200}, resolution: 0.3, warmup_s: 0.2, window_s: 2}
blocks: 1
"""


def test_a_search_finds_what_connections_and_latency_allow(tmp_path: Path) -> None:
    """It keeps no rate beyond it. On a machine that is busy with something else, sleeping takes longer, and it is less.

    The capacity lies between that rate and the next one that was tried, at most the resolution apart.
    All windows are in the record.
    """
    (tmp_path / "slow.yaml").write_text(APPLICATION, encoding="utf-8")
    (tmp_path / "search.yaml").write_text(SCENARIO, encoding="utf-8")
    done = wirebench("run", tmp_path / "search.yaml", "--no-calibrate", "--out", tmp_path / "results")
    assert 0 == done.returncode, done.stderr
    run = only_run(tmp_path / "results")
    (record,) = run.records
    search = record.search
    assert search is not None
    assert search.closed_rate_per_s is not None
    assert search.capacity_per_s is not None
    assert search.rate_kept_per_s is not None
    assert 0 < search.rate_kept_per_s < 1.05 * CAPACITY_PER_S, search.windows
    assert search.rate_kept_per_s < search.capacity_per_s < 1.3 * search.rate_kept_per_s, search.windows
    assert search.rate_kept_per_s == record.rate_asked_per_s
    assert record.response is not None
    assert record.response.p99_ms <= 200
    assert "capacity" == record.factors["shape"]
    assert record.factors["rate_per_s"] is None
    assert f"{search.capacity_per_s:,.0f}" in done.stdout
    assert "The capacity is the highest rate with a p99 of at most 200 ms and " in done.stdout
