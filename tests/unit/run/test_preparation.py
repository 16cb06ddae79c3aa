"""What a run finds before it measures: tools, open files, the drivers' error, and a Prometheus."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from tests.support.command_line import reject
from tests.support.scenario_text import read
from wirebench.drivers import K6
from wirebench.drivers.oha import Oha
from wirebench.drivers.wireload import Wireload
from wirebench.errors import UsageError
from wirebench.model.contract import Driver
from wirebench.run import preparation
from wirebench.run.preparation import check_connections, check_replays, create_info, prepare
from wirebench.run.target_options import TargetOptions, plan_for_target
from wirebench.targets.external import ExternalTarget

CHECKED = "question: x\nfactors: {transport: rest}\ncross_check: {driver: k6}\n"
NAMED = "question: x\nfactors: {transport: rest, driver: oha}\n"
TARGET = ExternalTarget({"rest": "http://127.0.0.1:9"})
NOTE = "cross-check by k6 skipped: k6 is not installed; make setup-cross-check"


@pytest.mark.parametrize(
    ("version", "options", "installed", "expected"),
    [
        (None, TargetOptions(), None, {"wireload"}),
        ("2.2.0", TargetOptions(), None, {"wireload", "k6"}),
        # A resumed run has the cells that it began with, whatever has been installed since.
        ("2.2.0", TargetOptions(), ("wireload",), {"wireload"}),
        # Load pods have all tools, whatever is installed here.
        (None, TargetOptions("kubernetes"), None, {"wireload", "k6"}),
    ],
)
def test_a_missing_tool_checks_nothing(  # noqa: PLR0913, PLR0917 - fixtures
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    version: str | None,
    options: TargetOptions,
    installed: tuple[Driver, ...] | None,
    expected: set[str],
) -> None:
    """The run has no cell of it, and notes how to get it."""
    monkeypatch.setattr(K6, "read_version", lambda _: version)
    plan = plan_for_target(read(tmp_path, CHECKED), options, 1, installed=installed)
    assert expected == {cell.driver for cell in plan.cells}
    notes = create_info(plan, TARGET, "run", "wirebench run").notes
    assert ("k6" not in expected) == (NOTE in notes)


@pytest.mark.parametrize(
    ("missing", "next_step"), [(Oha, "run `make driver-oha`, or measure without it"), (Wireload, "make setup")]
)
def test_a_driver_that_is_asked_for_is_not_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: type[Oha | Wireload], next_step: str
) -> None:
    """The error names the make target that installs it; wireload renders what every other driver sends."""
    for driver in (Oha, Wireload):
        monkeypatch.setattr(driver, "read_version", lambda _: "1")
    monkeypatch.setattr(missing, "read_version", lambda _: None)
    plan = plan_for_target(read(tmp_path, NAMED), TargetOptions(), seed=1)
    with pytest.raises(UsageError, match=f"the driver {missing.name} is not at") as error:
        prepare(plan, TARGET)
    assert next_step in error.value.hint


def test_writes_that_are_too_many_to_be_rendered_are_rejected(tmp_path: Path) -> None:
    """Other drivers than wireload replay requests, each that writes once."""
    factors = "{transport: rest, operation: users.create, driver: k6, payload: profile, rate_per_s: 5000}"
    text = f"question: x\nfactors: {factors}\nload: {{model: open, window_s: 10}}\n"
    plan = plan_for_target(read(tmp_path, text), TargetOptions(), seed=1)
    with pytest.raises(UsageError, match=r"2: factors.rate_per_s: k6: 55251 requests take more than 64 MiB$"):
        check_replays(plan)


@pytest.mark.parametrize(
    ("rest", "on_loopback", "expected"),
    [
        ("  concurrency: [1, 300]\n", True, "4: factors.concurrency: connections take 300 ports"),
        (
            "  connection: reopen\n  rate_per_s: 10\nload: {model: open}\n",
            False,
            "5: factors.rate_per_s: .* 601 ports",
        ),
        ("  connection: reopen\n  rate_per_s: 10\nload: {model: open}\n", True, ""),
        ("  concurrency: 200\n", True, ""),
    ],
)
def test_connections_need_ports(tmp_path: Path, rest: str, on_loopback: bool, expected: str) -> None:  # noqa: FBT001
    """Those that are reopened keep theirs for a while; elsewhere for a minute."""
    plan = plan_for_target(read(tmp_path, f"question: x\nfactors:\n  transport: rest\n{rest}"), TargetOptions(), seed=1)
    with pytest.raises(UsageError, match=expected) if expected else contextlib.nullcontext():
        check_connections(plan, 1000, 200, on_loopback=on_loopback)


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("  concurrency: [1, 2000]\n", "4: factors.concurrency: 2,000 users take 2,000 open files"),
        ("  delay_ms: 5\n  concurrency: 1500\n", "5: factors.concurrency: 1,500 users take 3,000 open"),
        ("  rate_per_s: 10\nload: {model: open, concurrency_max: 2000}\n", "5: load.concurrency_max: 2,000 users take"),
    ],
)
def test_users_that_do_not_fit_are_rejected_with_how_many_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rest: str, expected: str
) -> None:
    """The message has the scenario's line, and nothing is started or written."""
    monkeypatch.setattr(preparation, "raise_open_files", lambda: 1024)
    path = tmp_path / "many.yaml"
    path.write_text(f"question: Do they fit?\nfactors:\n  transport: rest\n{rest}", encoding="utf-8")
    errors = reject("run", path, "--out", tmp_path / "results")
    assert f"error: {path}:{expected}" in errors
    assert f"and a process may have 1,024 (ulimit -Hn): {412 if 'delay_ms' in rest else 824} fit" in errors
    assert not (tmp_path / "results").exists()
