"""A thread for each connection, on blocking sockets."""

from __future__ import annotations

import contextlib
import selectors
import socket
import ssl
import sys
import threading
import time

from services.operations.stream import LOOK_INTERVAL_S
from services.platform import addresses
from services.platform.lifecycle import Runtime, Worker
from services.platform.limits import CONNECTIONS_FULL, CONNECTIONS_MAX, Notice
from services.platform.signals import stop_signals
from services.socket.calls import Calls
from services.socket.session import LINGER_BYTES_MAX, Session
from services.socket.streams import Streams

#: Of address space, for each connection's thread: the usual 8 MiB would be 80 GB of it, which container limits
#: and strict overcommitment refuse. Requests nest no deeper than the JSON reader allows, which this is enough for.
_STACK_BYTES = 512 * 1024
#: A thread that waits for the interpreter's lock asks for it after each interval. Were that 5 ms, Python's default, for
#: thousands of threads, they would do little else.
_SWITCH_INTERVAL_S = 0.005
_SWITCH_INTERVAL_PER_CONNECTION_S = 50e-6
_READ_BYTES = 256 * 1024
#: So many bytes may wait for a client that doesn't read; then it isn't listened to either.
_LISTEN_BYTES_MAX = 1024 * 1024
_ACCEPT_PAUSE_S = 0.1


def run(worker: Worker) -> None:
    """Serve until SIGTERM, then finish what is in flight."""
    threading.stack_size(_STACK_BYTES)
    server = Server(worker)
    with (
        stop_signals() as stop,
        addresses.bind(worker.settings.host, worker.settings.port, shared=True) as listener,
    ):
        listener.listen(addresses.BACKLOG)
        listener.settimeout(0.0)
        worker.ready()
        server.accept_until(stop, listener)
    server.drain()


class Server:
    """The connections of a worker."""

    def __init__(self, worker: Worker, connections_max: int = CONNECTIONS_MAX) -> None:
        self.worker = worker
        self.settings = worker.settings
        self.calls = Calls(worker)
        self._connections_max = connections_max
        self._room = threading.BoundedSemaphore(connections_max)
        self._full = Notice()
        self._failing = Notice()
        self._connections: set[_Connection] = set()

    def accept_until(self, stop: socket.socket, listener: socket.socket) -> None:
        """Start a thread for each client that comes before `stop` has something to read."""
        with selectors.DefaultSelector() as selector:
            selector.register(stop, selectors.EVENT_READ)
            selector.register(listener, selectors.EVENT_READ)
            while True:
                ready = {key.fileobj for key, _ in selector.select()}
                if stop in ready:
                    return
                if not self._room.acquire(timeout=_ACCEPT_PAUSE_S):
                    self._full.give(CONNECTIONS_FULL, self._connections_max)
                    continue
                if not self._accept(listener):
                    self._room.release()

    def _accept(self, listener: socket.socket) -> bool:
        try:
            connected, _ = listener.accept()
        except BlockingIOError:
            return False  # the client has left, or another one was quicker
        except OSError as error:
            return self._fail(error)
        try:
            connection = _Connection(self, connected)
        except OSError:
            return False  # the client has left
        self._connections.add(connection)
        sys.setswitchinterval(max(_SWITCH_INTERVAL_S, _SWITCH_INTERVAL_PER_CONNECTION_S * len(self._connections)))
        try:
            threading.Thread(target=connection.run, name="connection", daemon=True).start()
        except RuntimeError as error:  # the system allows no more threads
            self._connections.discard(connection)
            connected.close()
            return self._fail(error)
        return True

    def _fail(self, error: Exception) -> bool:
        """Say why a client can't be served, and give others the time to leave."""
        self._failing.give("can't serve another connection beside %d: %s", len(self._connections), error)
        time.sleep(_ACCEPT_PAUSE_S)
        return False

    def forget(self, connection: _Connection) -> None:
        """Note that a connection has ended."""
        self._connections.discard(connection)
        self._room.release()

    def drain(self) -> None:
        """Close all connections between frames, or when time is up."""
        for connection in list(self._connections):
            connection.drain()
        deadline_s = time.monotonic() + self.settings.drain_timeout_s
        while self._connections and time.monotonic() < deadline_s:
            time.sleep(0.01)


class _Connection:
    """Carries bytes between a socket and a session."""

    def __init__(self, server: Server, connected: socket.socket) -> None:
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._server = server
        self._settings = server.settings
        self._socket = server.settings.tls.wrap(connected) if server.settings.tls else connected
        self._session = Session(
            server.settings, server.calls, server.calls.answer, Streams(server.worker), time.monotonic()
        )

    def run(self) -> None:
        """Serve the client until it or the session ends."""
        try:
            with self._socket, contextlib.suppress(OSError):  # among them TimeoutError: the client's time is up
                self._converse()
        finally:
            self._session.leave()
            self._server.forget(self)

    def drain(self) -> None:
        """Have the connection closed between frames; called from another thread."""
        self._session.drain()
        if self._session.at_rest:
            # Wakes the thread if it waits for a request; what has arrived can still be read.
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RD)

    def _converse(self) -> None:
        session = self._session
        if isinstance(self._socket, ssl.SSLSocket):
            self._socket.settimeout(max(0.001, session.deadline_s - time.monotonic()))
            self._socket.do_handshake()
        while not session.closing:
            self._write(self._take(self._next_data()))
            while session.backlog:
                self._write(session.receive(b"", time.monotonic()))
            if session.streaming:
                self._write_stream(session.produce(time.monotonic()))
        self._linger()

    def _next_data(self) -> bytes | None:
        """Wait for what the client sends, unless the session can go on, or end, without it. Raises TimeoutError."""
        if self._session.backlog or self._session.drained:
            return None
        return self._listen() if self._session.streaming else self._read(self._session.deadline_s)

    def _read(self, deadline_s: float) -> bytes:
        """Wait for what the client sends; return nothing at its end. Raises TimeoutError."""
        self._socket.settimeout(max(0.001, deadline_s - time.monotonic()))
        return self._socket.recv(_READ_BYTES)

    def _listen(self) -> bytes | None:
        """Wait as long as streams have nothing to send; return None if the client doesn't send either."""
        wait_s = self._session.wait_s(time.monotonic()) or 0.0
        self._socket.settimeout(min(wait_s, LOOK_INTERVAL_S))
        try:
            return self._socket.recv(_READ_BYTES)
        except (TimeoutError, BlockingIOError, ssl.SSLWantReadError):
            return None

    def _take(self, data: bytes | None) -> bytes:
        """Return the replies to what the client sent, if anything."""
        if data == b"":
            return self._session.end()
        return self._session.receive(data or b"", time.monotonic())

    def _write_stream(self, frames: bytes) -> None:
        """Send what a stream has, and listen to a client that doesn't read: it may cancel."""
        left = frames
        deadline_s = time.monotonic() + self._settings.idle_timeout_s
        while left:
            self._socket.settimeout(LOOK_INTERVAL_S)
            try:
                left = left[self._socket.send(left) :]
            except TimeoutError:
                if time.monotonic() > deadline_s:
                    raise
                if len(left) < _LISTEN_BYTES_MAX and not self._session.closing:
                    data = self._listen()
                    if data == b"":
                        raise ConnectionAbortedError("the client left in the middle of a stream") from None
                    left += self._take(data)

    def _write(self, replies: bytes) -> None:
        if replies:
            self._socket.settimeout(self._settings.idle_timeout_s)
            self._socket.sendall(replies)
            self._session.restart_clock(time.monotonic())

    def _linger(self) -> None:
        """Let the client read the last reply: closing on unread bytes would reset the connection."""
        self._socket.shutdown(socket.SHUT_WR)
        deadline_s = time.monotonic() + self._session.linger_s
        discarded_bytes = 0
        while discarded_bytes <= LINGER_BYTES_MAX:
            self._socket.settimeout(max(0.001, deadline_s - time.monotonic()))
            data = self._socket.recv(_READ_BYTES)
            if not data:
                return
            discarded_bytes += len(data)


RUNTIME = Runtime("threaded", run=run)
