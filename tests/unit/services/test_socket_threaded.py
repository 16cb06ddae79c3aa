"""The threaded socket runtime: more clients than it can serve, and requests beside streams."""

from __future__ import annotations

import contextlib
import json
import logging
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from itertools import dropwhile, islice
from typing import cast

import pytest

from services.domain.application import Application
from services.domain.stores.memory import MemoryStore
from services.operations.stream import LOOK_INTERVAL_S
from services.platform import addresses
from services.platform import settings as settings_module
from services.platform.lifecycle import Worker
from services.platform.metrics import Recorder
from services.socket import threaded_runtime
from services.socket.main import DEFAULTS
from services.socket.session import Session
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
        try:
            yield lambda: clients.enter_context(socket.create_connection(address, TIMEOUT_S))
        finally:
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


def frame(request_id: int, method: bytes, body: bytes = b"{}") -> bytes:
    """Return a request."""
    return struct.pack(">IIB", 5 + len(method) + len(body), request_id, len(method)) + method + body


def replies(client: socket.socket) -> Iterator[int]:
    """Read replies until the service closes; yield their ids."""
    with client.makefile("rb") as stream:
        while head := stream.read(4):
            yield int.from_bytes(stream.read(int.from_bytes(head, "big"))[:4], "big")


def test_requests_that_arrive_while_a_stream_waits_for_its_reader() -> None:
    """They are all answered when the client reads, also those for which there was no room in one go."""
    users = [{"id": each, "name": "Ann", "email": "a@b", "bio": "a" * 1000} for each in range(1, 201)]
    with serving(1) as connect:
        client = connect()
        client.sendall(b"WB1J" + frame(1, b"users.create_batch", json.dumps({"users": users}).encode()))
        received = replies(client)
        next(received)
        client.sendall(frame(2, b"ledger.stream_transactions"))
        time.sleep(0.5)  # until nothing more can be sent
        client.sendall(frame(2, b"cancel") + b"".join(frame(each, b"users.list") for each in (3, 4, 5, 6)))
        time.sleep(LOOK_INTERVAL_S)  # until the service, which can't send, has looked for requests once
        after_stream = dropwhile(lambda request_id: request_id == 2, received)
        assert [3, 4, 5, 6] == list(islice(after_stream, 4))


def test_a_stream_that_ends_while_the_service_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its connection is closed, and not read from once more: no request would be answered any longer."""
    produce = Session.produce

    def produce_last(session: Session, now_s: float) -> bytes:
        frames = produce(session, now_s)
        if not session.streaming:
            session.drain()  # by a thread that has found the stream open
        return frames

    monkeypatch.setattr(Session, "produce", produce_last)
    with serving(1) as connect:
        client = connect()
        client.settimeout(2)
        client.sendall(b"WB1J" + frame(1, b"ledger.stream_transactions", b'{"limit":1}'))
        assert {1} == set(replies(client))


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
