"""`wirebench run` of a replay, over TLS, and with the optional drivers."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.runs import needs_tools, only_run, second_lane, wirebench
from tests.support.slow_service import write_application
from wirebench.drivers import DRIVERS

pytestmark = [second_lane, needs_tools]


OTHERS = [name for name in ("oha", "locust") if DRIVERS[name].read_version()]


@pytest.mark.slow
@pytest.mark.skipif("locust" not in OTHERS, reason="locust is not installed: make driver-locust")
@pytest.mark.parametrize("tls", ["none", "server"])
def test_other_drivers_send_what_the_services_count(tls: str, scenario: Callable[[str], Path], tmp_path: Path) -> None:
    """They are compared with wireload on the same service, which has counted each request and found none wrong."""
    text = f"""\
question: Do others measure what wireload does?
factors:
  transport: rest
  driver: [wireload, {", ".join(OTHERS)}]
  concurrency: 2
  tls: {tls}
load: {{warmup_s: 0.4, window_s: 0.6}}
blocks: 1
compare: driver
"""
    done = wirebench("run", scenario(text), "--out", tmp_path / "results")
    assert 0 == done.returncode, done.stderr
    run = only_run(tmp_path / "results")
    assert 1 + len(OTHERS) == len(run.records)
    for record in run.records:
        assert {} == record.errors, record.error_texts
        assert [] == [gate.name for gate in record.gates if gate.name in {"counts", "conformance"} and not gate.passed]
        assert str(record.factors["driver"]) in run.info.versions
    others = "|".join(OTHERS)
    agreement = re.findall(rf"^(?:{others}) / wireload", done.stdout, re.MULTILINE)
    assert len(OTHERS) == len(agreement), done.stdout


def test_an_open_load_opens_connections_when_all_are_busy(scenario: Callable[[str], Path], tmp_path: Path) -> None:
    """Replies take 50 ms, so its one connection would have 20 a second, and requests would wait ever longer."""
    write_application(tmp_path / "slow.yaml")
    text = """\
question: Does a load wait for its own connections?
application: slow.yaml
factors: {operation: get, rate_per_s: 100}
load: {model: open, concurrency_max: 100, warmup_s: 0.2, window_s: 1}
blocks: 1
"""
    done = wirebench("run", scenario(text), "--no-calibrate", "--out", tmp_path / "results")
    assert 0 == done.returncode, done.stderr
    (record,) = only_run(tmp_path / "results").records
    assert record.service
    assert record.response
    assert 1 == record.factors["concurrency"]
    assert 50 <= record.service.p50_ms
    assert record.response.p50_ms < 2 * record.service.p50_ms
    assert 2 * 20 < record.rate_achieved_per_s
    assert 0 == record.dropped_iterations
