"""Cross-checks by tools that aren't installed: skipped in a line, where a driver that is asked for is an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.scenario_text import read
from wirebench.drivers import DRIVERS, K6
from wirebench.errors import UsageError
from wirebench.run.preparation import create_info, prepare
from wirebench.run.target_options import TargetOptions, plan_for_target
from wirebench.targets.external import ExternalTarget

CHECKED = "question: x\nfactors: {transport: rest}\ncross_check: {driver: k6}\n"
NAMED = "question: x\nfactors: {transport: rest, driver: k6}\n"
NOTE = "cross-check by k6 skipped: k6 is not installed; make setup-cross-check"


@pytest.fixture
def target() -> ExternalTarget:
    """Return a target that starts nothing."""
    return ExternalTarget({"rest": "http://127.0.0.1:9"})


@pytest.mark.parametrize(("version", "drivers", "notes"), [(None, {"wireload"}, 1), ("2.2.0", {"wireload", "k6"}, 0)])
def test_a_missing_tool_is_noted(  # noqa: PLR0913, PLR0917 - fixtures
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    target: ExternalTarget,
    version: str | None,
    drivers: set[str],
    notes: int,
) -> None:
    """The run has no cell of it, and says how to get it."""
    monkeypatch.setattr(K6, "read_version", lambda _: version)
    plan = plan_for_target(read(tmp_path, CHECKED), TargetOptions(), seed=1)
    assert drivers == {cell.driver for cell in plan.cells}
    assert notes == create_info(plan, target, "run", "wirebench run").notes.count(NOTE)


def test_a_resumed_run_has_the_cells_that_it_began_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever has been installed since."""
    monkeypatch.setattr(K6, "read_version", lambda _: "2.2.0")
    plan = plan_for_target(read(tmp_path, CHECKED), TargetOptions(), 1, installed=("wireload",))
    assert {"wireload"} == {cell.driver for cell in plan.cells}


def test_load_pods_have_all_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is installed here."""
    monkeypatch.setattr(K6, "read_version", lambda _: None)
    plan = plan_for_target(read(tmp_path, CHECKED), TargetOptions("kubernetes"), seed=1)
    assert {"wireload", "k6"} == {cell.driver for cell in plan.cells}


def test_a_driver_that_is_asked_for_is_not_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: ExternalTarget
) -> None:
    """The error says which make target installs it."""
    for driver in DRIVERS.values():
        monkeypatch.setattr(type(driver), "read_version", lambda _: None)
    plan = plan_for_target(read(tmp_path, NAMED), TargetOptions(), seed=1)
    with pytest.raises(UsageError, match="the driver k6 is not at") as error:
        prepare(plan, target)
    assert "make setup-cross-check" in error.value.hint
