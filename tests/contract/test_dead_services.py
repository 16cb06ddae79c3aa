"""A shared service that dies ends its tests with one clear failure, and not with a slow one for each."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from tests.support.waiting import run_program
from wirebench.system.paths import ROOT

CASES = """
import psutil
import pytest
from tests.support.services import ASYNCIO

@pytest.mark.parametrize("number", range(20))
@pytest.mark.parametrize("service", [ASYNCIO], ids=str, indirect=True)
def test_call(service, number):
    if number == 1:
        for process in psutil.Process(service.process.pid).children(recursive=True):
            process.kill()
        service.stop(9)
    with service.connect() as client:
        assert client.call("echo.upper", {"text": "a"}).ok
"""


def test_a_service_that_dies_fails_once(tmp_path: Path) -> None:
    """The test that meets it fails, and the service with it; the rest is skipped."""
    (tmp_path / "conftest.py").write_text("from tests.contract.conftest import *\n")
    (tmp_path / "test_cases.py").write_text(CASES)
    done = run_program(
        [sys.executable, "-m", "pytest", "-q", "-rN", "--rootdir", str(tmp_path), "-c", "/dev/null", str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
        cwd=ROOT,
    )
    assert "asyncio-memory does not answer any more" in done.stdout, done.stdout
    found = re.search(r"(\d+) failed, (\d+) passed, (\d+) skipped, (\d+) error", done.stdout)
    assert found, done.stdout
    assert ("1", "1", "18", "1") == found.groups()
