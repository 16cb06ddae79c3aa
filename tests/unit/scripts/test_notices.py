"""`scripts/write-notices`: the licences of the Go programs that images and the wheel contain."""

from __future__ import annotations

import pytest

from tests.support.waiting import run_program
from wirebench.system.paths import ROOT, TOOLS

SCRIPT = ROOT / "scripts/write-notices"


@pytest.mark.skipif(not (TOOLS / "wireload").exists(), reason="wireload is not built: make setup")
def test_each_module_of_a_program_has_its_licence() -> None:
    """Those of Go and of published modules, and not our own."""
    program = TOOLS / "wireload"
    built = run_program(["go", "version", "-m", program], check=True).stdout
    modules = [line.split()[1] for line in built.splitlines() if line.startswith("\tdep\t")]
    notices = run_program([SCRIPT, program], check=True).stdout
    titles = [line.split()[0] for line in notices.splitlines() if line.startswith(("Go 1.", *modules))]
    assert ["Go", *modules] == titles
    assert "Copyright" in notices
