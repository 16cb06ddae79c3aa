"""The benchmark of what wireload takes: what it reads of a machine and of a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from benchmarks.resources import explain_port_shortfall, read_peak_memory_kib


@pytest.mark.parametrize(("connections", "is_enough"), [(1_000, True), (1_001, False)])
def test_too_few_ports_are_named_with_what_to_do(tmp_path: Path, connections: int, is_enough: bool) -> None:  # noqa: FBT001
    """Without ports the load would fail as if wireload did."""
    ports = tmp_path / "ip_local_port_range"
    ports.write_text("40000\t40999\n", encoding="ascii")
    problem = explain_port_shortfall(connections, ports)
    if is_enough:
        assert problem == ""
    else:
        assert problem.startswith("1,000 ports are for clients")
        assert "sysctl -w" in problem


def test_where_the_range_of_ports_cant_be_read_it_is_no_limit(tmp_path: Path) -> None:
    """Only Linux tells it."""
    assert explain_port_shortfall(10_000, tmp_path / "missing") == ""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_peak_memory_is_at_least_what_is_resident() -> None:
    """It is read of a running process; one that has ended has none."""
    resident_kib = psutil.Process().memory_info().rss // 1024
    assert (read_peak_memory_kib(os.getpid()) or 0) >= resident_kib > 0
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    assert read_peak_memory_kib(child.pid) is None
