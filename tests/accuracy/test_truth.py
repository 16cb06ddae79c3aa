"""The server of known latency under real drivers, and `make accuracy` when it is interrupted."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from benchmarks.accuracy.conditions import Case
from benchmarks.accuracy.measure import measure
from tests.support.driver_cases import CASES
from tests.support.waiting import TIMEOUT_S, wait_until
from wirebench.model.contract import Driver, Transport
from wirebench.system.paths import ROOT, TOOLS
from wirebench.targets import divide_cores

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timing,
    pytest.mark.skipif(not (TOOLS / "truth").exists(), reason="make .tools/bin/truth"),
]


@pytest.mark.parametrize(("transport", "driver"), CASES)
def test_drivers_and_server_mean_the_same_window(transport: Transport, driver: Driver) -> None:
    """They count the same requests, whose replies are right, and neither sees one that took less than its delay."""
    case = Case("constant", "closed-8", transport, driver)
    measured = measure(case, seed=1, window_s=2.0, cores=divide_cores())
    service = measured.file.merge_histograms("service")
    assert {"ok": service.count} == measured.file.count_by_code()
    assert 0 == measured.file.mismatches
    # At each edge of the window a request of each connection may be on its way back; oha's window is a little early.
    assert measured.truth.count == pytest.approx(service.count, rel=0.1 if driver == "oha" else 0, abs=2 * 8)
    assert min(measured.truth.compute_quantiles_ns(0)[0], service.compute_quantiles_ns(0)[0]) >= 4.99e6
    # No driver is faster than the server, but for a core that was taken from the server after it had replied.
    assert measured.truth.compute_quantiles_ns(0.5)[0] <= 1.1 * service.compute_quantiles_ns(0.5)[0]


def test_ctrl_c_leaves_no_process(tmp_path: Path) -> None:
    """Neither server nor driver, nor half a page."""
    output = tmp_path / "accuracy.md"
    command = [sys.executable, "-m", "benchmarks.accuracy", "--drivers", "k6", "--output", str(output)]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        for line in process.stderr:
            if line.startswith("1/"):
                break
        ours = psutil.Process(process.pid)
        wait_until(lambda: len(ours.children(recursive=True)) >= 2, "server and driver run", ours.children)
        children = ours.children(recursive=True)
        process.send_signal(signal.SIGINT)
        assert "interrupted: no page was written" in process.stderr.read()
    assert 130 == process.returncode
    _, left = psutil.wait_procs(children, timeout=TIMEOUT_S)
    assert not left
    assert not output.exists()
