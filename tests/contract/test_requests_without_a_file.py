"""Services that are compared by a request each, without any file: podinfo, which `make example-podinfo` installs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.runs import needs_tools, second_lane, wirebench
from wirebench.system import processes
from wirebench.system.paths import TOOLS
from wirebench.system.ports import LOOPBACK, accepts_connections, reserve_ports, wait_ready

pytestmark = [
    second_lane,
    needs_tools,
    pytest.mark.skipif(not (TOOLS / "podinfo").exists(), reason="podinfo is not installed: make example-podinfo"),
]
OPTIONS = ("--duration", "1s", "--blocks", "2", "--no-calibrate")


@pytest.fixture(scope="module")
def podinfo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Run podinfo, and yield its addresses for REST and gRPC."""
    with reserve_ports(2) as (rest, grpc):
        pass
    arguments: list[str | Path]
    arguments = [TOOLS / "podinfo", f"--host={LOOPBACK}", f"--port={rest}", f"--grpc-port={grpc}", "--level=error"]
    child = processes.start("podinfo", arguments, tmp_path_factory.mktemp("podinfo") / "podinfo.log")
    try:
        wait_ready(child, lambda: accepts_connections(LOOPBACK, rest) and accepts_connections(LOOPBACK, grpc))
        yield f"{LOOPBACK}:{rest}", f"{LOOPBACK}:{grpc}"
    finally:
        child.stop()


def test_a_reply_that_is_wrong_and_a_call_that_is_not_there(podinfo: tuple[str, str], tmp_path: Path) -> None:
    """Nothing is measured; the status and the closest name are said."""
    rest, grpc = podinfo
    echo = ("--rest", f"POST http://{rest}/echo hello", *OPTIONS, "--out", tmp_path / "results")
    done = wirebench("run", *echo)
    assert 1 == done.returncode
    assert "202" in done.stderr
    assert 0 == wirebench("run", *echo, "--status", "202").returncode
    done = wirebench(
        "run", "--grpc", f"{grpc} version.VersionService/Versions", *OPTIONS, "--out", tmp_path / "results"
    )
    assert 0 != done.returncode
    assert "did you mean version.VersionService/Version?" in done.stderr
