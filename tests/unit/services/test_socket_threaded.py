"""What the threaded socket runtime does when there are more clients than it can serve."""

from __future__ import annotations

import contextlib
import logging
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from typing import cast

import pytest

from services.domain.application import Application
from services.domain.stores.memory import MemoryStore
from services.platform import addresses
from services.platform import settings as settings_module
from services.platform.lifecycle import Worker
from services.platform.metrics import Recorder
from services.socket import threaded_runtime
from services.socket.main import DEFAULTS
from services.socket.threaded_runtime import Server

TIMEOUT_S = 10


class Recording:
    """Stands in for the recorder."""

    def started(self) -> float:
        """Count nothing."""
        return 0.0

    def finished(self, *_figures: object) -> None:
        """Count nothing."""


@contextlib.contextmanager
def serving(connections_max: int) -> Iterator[Callable[[], socket.socket]]:
    """Serve in a thread; yield what connects a client."""
    settings = settings_module.parse(DEFAULTS, ["--drain-timeout-s", "0"], {})
    store = MemoryStore()
    worker = Worker(0, settings, Application.over(store), store, cast(Recorder, Recording()), lambda: None)
    stop, stopper = socket.socketpair()
    with stop, stopper, addresses.bind("127.0.0.1", 0, shared=False) as listener, contextlib.ExitStack() as clients:
        listener.listen()
        listener.settimeout(0.0)
        server = Server(worker, connections_max)
        thread = threading.Thread(target=server.accept_until, args=(stop, listener))
        thread.start()
        address = addresses.numeric(listener)
        yield lambda: clients.enter_context(socket.create_connection(address, TIMEOUT_S))
        stopper.send(b"x")
        thread.join(TIMEOUT_S)
        assert not thread.is_alive()


def upper(client: socket.socket) -> bytes:
    """Ask in line mode."""
    client.sendall(b"a\n")
    return client.recv(100)


def test_a_full_house_is_said_once_and_clients_wait(caplog: pytest.LogCaptureFixture) -> None:
    """Further clients are served when one leaves, and the operator learns why they waited."""
    with caplog.at_level(logging.WARNING), serving(2) as connect:
        first, second, third = connect(), connect(), connect()
        assert [b"A\n", b"A\n"] == [upper(first), upper(second)]
        third.sendall(b"a\n")
        third.settimeout(0.5)
        with pytest.raises(TimeoutError):
            third.recv(100)
        first.close()
        third.settimeout(TIMEOUT_S)
        assert b"A\n" == third.recv(100)

    expected = "2 connections are open, as many as a worker serves: further clients wait until one leaves"
    assert [expected] == [record.message for record in caplog.records]


def test_many_threads_take_turns_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """With every interval each waiting thread asks for its turn: the more there are, the longer it has to be."""
    monkeypatch.setattr(threaded_runtime, "_SWITCH_INTERVAL_PER_CONNECTION_S", 0.01)
    before_s = sys.getswitchinterval()
    try:
        with serving(10) as connect:
            for count in (1, 2, 3):
                assert b"A\n" == upper(connect())
                assert max(0.005, 0.01 * count) == pytest.approx(sys.getswitchinterval())
    finally:
        sys.setswitchinterval(before_s)


def test_a_system_without_a_thread_to_spare(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """A client that no thread can be started for is hung up on, with the reason in the log; others are served."""
    with caplog.at_level(logging.WARNING), serving(10) as connect:
        first = connect()
        assert b"A\n" == upper(first)
        with monkeypatch.context() as patched:

            def start(_thread: threading.Thread) -> None:
                raise RuntimeError("can't start new thread")

            patched.setattr(threading.Thread, "start", start)
            assert b"" == connect().recv(100)
            assert b"" == connect().recv(100)
        assert b"A\n" == upper(first)
        assert b"A\n" == upper(connect())

    expected = "can't serve another connection beside 1: can't start new thread"
    assert [expected] == [record.message for record in caplog.records]
