"""Ids for the users that loads create: each its own, none that is taken, none over int32."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace

import pytest
from wirebench_services.client import Reply

from tests.support.scenario_text import read
from wirebench.errors import UsageError, WirebenchError
from wirebench.model.cell import ServiceSpec
from wirebench.plan.plan import Plan, make_plan
from wirebench.run.ids import CREATED_FIRST_ID, ID_STEP, find_free, lay_out
from wirebench.targets.endpoint import Endpoint

INT32_MAX = 2**31 - 1
CREATING = """\
question: Do ids collide?
factors:
  transport: [rest, socket]
  operation: [users.get, users.create]
  concurrency: [1, 2]
load: {{warmup_s: 1, window_s: {window_s}}}
blocks: {blocks}
"""
ENDPOINTS = [Endpoint(ServiceSpec(transport="rest", runtime="uvicorn"), "127.0.0.1:1")]


@pytest.fixture
def plan(tmp_path: Path) -> Callable[..., Plan]:
    """Return a function that plans eight cells, of which four create users."""

    def make(window_s: int = 5, blocks: int = 3) -> Plan:
        return make_plan(read(tmp_path, CREATING.format(window_s=window_s, blocks=blocks)), seed=1)

    return make


@pytest.fixture
def serve_ids(monkeypatch: pytest.MonkeyPatch) -> Callable[[Iterable[int]], None]:
    """Return a function that puts users of these ids into the service that is connected to."""

    def serve(ids: Iterable[int]) -> None:
        taken = sorted(ids)

        def call(operation: str, fields: dict[str, int]) -> Reply:
            assert "users.list" == operation
            after = [{"id": each} for each in taken if each > fields["after_id"]]
            return Reply("ok", "", after[: fields["limit"]])

        service = contextlib.nullcontext(SimpleNamespace(transport="rest", call=call))
        monkeypatch.setattr("wirebench.run.ids.connect", lambda *_, **__: service)

    return serve


def test_loads_on_services_that_stay_never_share_an_id(plan: Callable[..., Plan]) -> None:
    """Every creating load of every block has its own, whichever service it loads: services may share a store."""
    layout = lay_out(plan(), restarts_services=False)
    assert 12 == len(layout.offsets)
    assert list(range(0, layout.count, ID_STEP)) == sorted(layout.offsets.values())


def test_loads_on_fresh_services_share_ids_with_other_blocks_only(plan: Callable[..., Plan]) -> None:
    """A service that is restarted has forgotten: each block takes the same ids again."""
    offsets = defaultdict[object, set[int]](set)
    for planned, offset in lay_out(plan(), restarts_services=True).offsets.items():
        offsets[planned.block, planned.cell.transport].add(offset)
    assert [{0, ID_STEP}] * 6 == list(offsets.values())


def test_a_run_that_would_leave_int32_is_rejected(plan: Callable[..., Plan]) -> None:
    """An id over int32 would fail in the middle of a load: what may need one isn't begun."""
    assert lay_out(plan(3600, blocks=1), restarts_services=False).count <= INT32_MAX - CREATED_FIRST_ID
    with pytest.raises(UsageError, match="int32"):
        lay_out(plan(3600, blocks=3), restarts_services=False)


def test_ids_that_are_taken_are_avoided(serve_ids: Callable[[Iterable[int]], None]) -> None:
    """What earlier runs left is never met again, wherever the draw falls."""
    taken = range(CREATED_FIRST_ID, CREATED_FIRST_ID + 1000 * ID_STEP, ID_STEP)
    serve_ids(taken)
    for _ in range(50):
        first_id = find_free(12 * ID_STEP, ENDPOINTS)
        assert taken[-1] < first_id <= INT32_MAX - 12 * ID_STEP
        assert 0 == first_id % ID_STEP


def test_no_free_ids_are_a_clear_rejection(serve_ids: Callable[[Iterable[int]], None]) -> None:
    """A service that is full of users is said to be, with what to do, before any load."""
    serve_ids(range(CREATED_FIRST_ID, INT32_MAX, ID_STEP))
    with pytest.raises(WirebenchError, match="no 12,000,000 free ids") as error:
        find_free(12 * ID_STEP, ENDPOINTS)
    assert "delete the users" in error.value.hint
