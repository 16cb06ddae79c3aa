"""Health watches of the sync runtime, and how they end."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

from services.grpc.health import SyncHealth

Sent = list[HealthCheckResponse | None]

SERVING = HealthCheckResponse(status=HealthCheckResponse.SERVING)
NOT_SERVING = HealthCheckResponse(status=HealthCheckResponse.NOT_SERVING)


class Context:
    """Stands in for a call's context; nothing ends the call from outside."""

    def add_callback(self, _callback: Callable[[], None]) -> bool:
        """Take what would be called at the end."""
        return True


def watch(states: SyncHealth) -> Sent:
    """Begin to watch, and return what is sent, now and later."""
    sent: Sent = []
    states.Watch(HealthCheckRequest(), Context(), sent.append)
    return sent


def test_a_stop_ends_watches_with_a_last_word() -> None:
    """Who watches learns that nothing is served any more, and that nothing else will be said."""
    states = SyncHealth()
    sent = watch(states)

    states.enter_graceful_shutdown()

    assert [SERVING, NOT_SERVING, None] == sent


def test_a_watch_that_begins_while_the_service_stops_ends_too() -> None:
    """Nobody comes by again to end it, and the service would wait for it as long as for a request."""
    states = SyncHealth()
    states.enter_graceful_shutdown()

    assert [NOT_SERVING, None] == watch(states)


def test_a_watch_that_begins_in_the_midst_of_a_stop_ends_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However far the stop has got in another thread when it begins, it says all that there is to say."""
    states = SyncHealth()
    watches: list[Sent] = []
    turn_off = states.set

    def set_state(service: str, status: int) -> None:
        watches.append(watch(states))
        turn_off(service, status)
        watches.append(watch(states))

    monkeypatch.setattr(states, "set", set_state)
    states.enter_graceful_shutdown()

    assert [[SERVING, NOT_SERVING, None], [NOT_SERVING, None]] == watches
