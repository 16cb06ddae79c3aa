"""What gunicorn's threaded worker says when it takes no more clients."""

from __future__ import annotations

import logging

import pytest

from services.platform.limits import CONNECTIONS_MAX, Notice
from services.rest.gunicorn_gthread import Worker


@pytest.mark.parametrize(("alive", "notices"), [(True, 1), (False, 0)])
def test_a_full_house_is_said_once(
    alive: bool,  # noqa: FBT001
    notices: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The operator learns why clients wait; a worker that stops takes none anyway."""
    monkeypatch.setattr(Worker, "_full", Notice())
    worker = object.__new__(Worker)
    vars(worker).update(alive=alive, sockets=[], _accepting=True, nr_conns=CONNECTIONS_MAX)
    with caplog.at_level(logging.WARNING):
        for enabled in (False, True, False):
            worker.set_accept_enabled(enabled)

    expected = (
        f"{CONNECTIONS_MAX} connections are open, as many as a worker serves: further clients wait until one leaves"
    )
    assert [expected] * notices == [record.message for record in caplog.records]
