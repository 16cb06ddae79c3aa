"""`wirebench resume` for real: a run that was stopped, however it was, is continued until it is complete."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.runs import WIREBENCH, needs_cross_check, only_run, running, second_lane, watched, wirebench
from tests.support.waiting import TIMEOUT_S
from wirebench.model.run_info import Run

pytestmark = [second_lane, needs_cross_check]

SMALL = """\
question: Is a run whole in the end?
factors: {transport: [grpc, socket], concurrency: 4, driver: {grpc: [wireload, ghz]}}
load: {warmup_s: 0.1, window_s: 0.5}
blocks: 2
"""
WINDOWS = 6


def contents(run: Run) -> dict[str, bytes]:
    """Return the records of a run and their histograms as they are on disk, by path."""
    paths = [f"records/{record.id}.json" for record in run.records] + [each.histogram_file for each in run.records]
    return {path: (run.folder / path).read_bytes() for path in paths}


@pytest.mark.slow
def test_a_stopped_run_goes_on_until_it_is_whole(scenario: Callable[[str], Path], tmp_path: Path) -> None:
    """Killed, resumed, interrupted and resumed: records stay to the byte, and nothing unfinished is in the way."""
    out = tmp_path / "results"
    with running(scenario(SMALL), out, 1) as (process, _):
        process.send_signal(signal.SIGSTOP)  # or else it may be done before it is asked for
        done = wirebench("resume", "--out", out)
        assert (2, True) == (done.returncode, "is still running" in done.stderr)
        process.kill()
    killed = only_run(out)
    before = contents(killed)
    # Both are left by drivers that were killed; ghz doesn't begin where the second is.
    for name in ("b002-unfinished.json", "b002-grpc-sync-protobuf-w1-memory-keep-ghz-users.get-c4.ghz-0"):
        (killed.folder / "histograms" / name).mkdir()

    with watched([WIREBENCH, "resume", killed.folder], out, len(killed.records) + 1) as (process, _):
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=TIMEOUT_S)
    assert (130, True) == (process.returncode, f"`wirebench resume {killed.folder}` measures the rest" in errors)
    interrupted = only_run(out)
    assert ("incomplete", "it was interrupted (SIGINT)") == (interrupted.info.status, interrupted.info.reason)
    before |= contents(interrupted)

    done = wirebench("resume", "--out", out, "--json")
    assert 0 == done.returncode, done.stderr
    whole = only_run(out)
    assert ("complete", WINDOWS, 2) == (whole.info.status, len(whole.records), len(whole.info.resumed_at))
    assert whole.info.conformance_requests > killed.info.conformance_requests > 0
    assert before == {path: content for path, content in contents(whole).items() if path in before}
    assert {f"{record.id}.json" for record in whole.records} == {
        path.name for path in (whole.folder / "histograms").iterdir()
    }
    assert whole.info.duration_s is not None
    assert whole.info.duration_s > sum(0.1 + record.window_s for record in whole.records)
    assert "it was stopped, and resumed at" in (whole.folder / "report.html").read_text()
    assert "is complete" in wirebench("resume", "--out", out).stderr
