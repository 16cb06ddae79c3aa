"""A cell whose load pod is lost is measured once more, where that is on fresh services."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.support.jobs import CELL
from wirebench.errors import WirebenchError
from wirebench.plan.plan import PlannedCell
from wirebench.run.execution import TimeSpent, _Execution, _run_blocks
from wirebench.targets.target import Endpoint, LoadLostError

BLOCK = (PlannedCell(1, 0, CELL),)


class Stage:
    """A run of one cell, whose load pod is lost so many times: what it starts, notes and measures."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, lost: int, *, restarts_services: bool = True) -> None:
        """Begin with nothing."""
        self.started: list[Any] = []
        self.notes: list[str] = []
        self.measured: list[object] = []
        self.left = lost
        target = SimpleNamespace(
            runs_all_services=False, restarts_services=restarts_services, start=self.start, stop=lambda: None
        )
        writer = SimpleNamespace(note=self.notes.append)
        progress = SimpleNamespace(
            step=lambda _: None, begin_cell=lambda *_: None, end_cell=lambda record, *_: self.measured.append(record)
        )
        plan = SimpleNamespace(list_cells_left=tuple, describe_block=lambda _: "block 1", cells_total=1)
        parts: dict[str, Any] = dict.fromkeys(("ids", "description", "before"))
        parts |= {"target": target, "writer": writer, "progress": progress, "plan": plan}
        self.execution = _Execution(**parts, verifier=cast("Any", SimpleNamespace(is_done=True)), done=0)
        monkeypatch.setattr(_Execution, "_measure_cell", self.measure)

    def start(self, services: tuple[Any, ...]) -> dict[Any, Endpoint]:
        """Start services."""
        self.started += services
        return {service: Endpoint(service, "127.0.0.1:1") for service in services}

    def measure(self, *_: object) -> object:
        """Lose the pod, or measure."""
        self.left -= 1
        if self.left >= 0:
            raise LoadLostError("the load's Job has failed")
        return "a record"


def test_a_cell_whose_load_pod_is_lost_is_measured_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """On services that were started again, and noted."""
    stage = Stage(monkeypatch, lost=1)
    stage.execution.run_block(BLOCK)
    assert [CELL.service] * 2 == stage.started
    assert ["a record"] == stage.measured
    (note,) = stage.notes
    assert f"{BLOCK[0].id} was measured twice" in note


@pytest.mark.parametrize(("lost", "restarts_services", "starts"), [(2, True, 2), (1, False, 1)])
def test_a_run_ends_where_its_load_pod_is_lost_again(
    monkeypatch: pytest.MonkeyPatch, lost: int, *, restarts_services: bool, starts: int
) -> None:
    """Or at once, if the same services would get the same requests again."""
    stage = Stage(monkeypatch, lost, restarts_services=restarts_services)
    with pytest.raises(LoadLostError):
        stage.execution.run_block(BLOCK)
    assert starts == len(stage.started)
    assert [] == stage.measured


def test_a_target_that_fails_to_stop_is_cleaned_up_all_the_same() -> None:
    """Or it would keep the cores that it has claimed."""
    done: list[str] = []

    def fail() -> None:
        raise WirebenchError("the database has gone")

    target = SimpleNamespace(stop=fail, clean_up=lambda: done.append("cleaned up"))
    info = SimpleNamespace(calibrate=False)
    writer = SimpleNamespace(info=info, update=lambda **changes: done.append(changes["status"]))
    parts: dict[str, Any] = dict.fromkeys(("ids", "description", "progress", "verifier"))
    parts |= {"target": target, "writer": writer, "plan": SimpleNamespace(blocks=()), "before": TimeSpent()}
    with pytest.raises(WirebenchError, match="the database has gone"):
        _run_blocks(_Execution(**parts, done=0))
    assert ["cleaned up", "complete"] == done
