"""The socket server with a thread for each connection: python -m wirebench_services.socket.threaded_server."""

from __future__ import annotations

import contextlib
import select
import signal
import socket
import socketserver
import ssl
import threading
import time

from wirebench_services import metrics, tls
from wirebench_services.application.errors import InvalidArgument, Unavailable
from wirebench_services.application.ledger import StreamQuery, stream_transactions
from wirebench_services.application.stores import Store, open_store
from wirebench_services.settings import SocketSettings, read_settings
from wirebench_services.socket.calls import CANCEL, STREAM, STREAMS_MAX, Call, Cancelled
from wirebench_services.socket.frame import ResourceExhausted
from wirebench_services.socket.parser import Parser
from wirebench_services.workers import run_workers

_READ_BYTES = 256 * 1024


class Handler(socketserver.StreamRequestHandler):
    """A client's connection: this thread reads and answers requests, and each stream has a thread of its own."""

    server: Server
    connection: socket.socket
    # Replies are small and whole.
    disable_nagle_algorithm = True

    def setup(self) -> None:
        """Prepare the connection."""
        super().setup()
        self._parser = Parser(self.server.settings)
        #: Guards the connection, which TLS lets only one thread use at a time, and the streams.
        self._lock = threading.RLock()
        self._streams: dict[int, Call] = {}
        self._is_draining = False
        self.server.handlers.add(self)

    def handle(self) -> None:
        """Serve the client until it leaves, or its time is up."""
        with contextlib.suppress(OSError):
            if isinstance(self.connection, ssl.SSLSocket):
                self.connection.settimeout(self.server.settings.read_timeout_s)
                self.connection.do_handshake()
            # A client that reads nothing for so long is closed.
            self.connection.settimeout(self.server.settings.idle_timeout_s)
            while not self._parser.has_ended and not (self._is_draining and self._parser.is_between_requests):
                self._receive()
                while (call := self._parser.next_call()) is not None:
                    if reply := self._answer(call):
                        self._write(reply)

    def finish(self) -> None:
        """End the streams, and say with TLS that we close."""
        with contextlib.suppress(OSError):
            for call in list(self._streams.values()):
                self._end_stream(call, Unavailable("The service is stopping.") if self._is_draining else Cancelled())
            if isinstance(self.connection, ssl.SSLSocket):
                self.connection.settimeout(0)  # without waiting until the client closes, too
                self.connection.unwrap()
        self.server.handlers.discard(self)
        super().finish()

    def drain(self) -> None:
        """Close once no request is half-way; called by another thread."""
        self._is_draining = True
        if self._parser.is_between_requests:
            self._shut_down(socket.SHUT_RD)

    def _shut_down(self, how: int) -> None:
        """Wake the threads that wait for the client. What has arrived can still be read."""
        with contextlib.suppress(OSError):
            # The method of SSLSocket would end TLS without saying so to the client.
            socket.socket.shutdown(self.connection, how)

    def _receive(self) -> None:
        """Wait for the client to send something. Raises TimeoutError."""
        is_idle = self._parser.is_between_requests
        poll = select.poll()
        poll.register(self.connection, select.POLLIN)
        while not poll.poll(max(0.0, self._parser.deadline_s - time.monotonic()) * 1000):
            if not (self._streams and is_idle):
                raise TimeoutError
            self._parser.restart_clock()
        with self._lock:
            data = self.connection.recv(_READ_BYTES)
        if data:
            self._parser.feed(data)
        else:
            self._parser.end()

    def _answer(self, call: Call) -> bytes:
        """Return the reply, or nothing if there is none or it comes later."""
        try:
            if call.method == CANCEL:
                if call.id in self._streams:
                    self._end_stream(self._streams[call.id], Cancelled())
                return b""
            if call.id in self._streams:
                self._parser.stop()
                raise InvalidArgument(f"A stream with the id {call.id} is open.")
            if call.method == STREAM:
                self._open_stream(call)
                return b""
            return call.succeed(call.start(self.server.store))
        except Exception as error:  # noqa: BLE001 - the client is told, and others are logged
            return call.fail(error)

    def _open_stream(self, call: Call) -> None:
        query = call.parse_query()
        if len(self._streams) >= STREAMS_MAX:
            raise ResourceExhausted(f"{STREAMS_MAX} streams are open on this connection.")
        self._streams[call.id] = call
        threading.Thread(target=self._stream, args=(call, query), daemon=True).start()

    def _stream(self, call: Call, query: StreamQuery) -> None:
        error = None
        try:
            for transactions in stream_transactions(self.server.store, query):
                with self._lock:
                    if self._streams.get(call.id) is not call:
                        return
                    self._write(call.build_items(transactions))
        except Exception as failure:  # noqa: BLE001
            error = failure
        self._end_stream(call, error)
        self._parser.restart_clock()

    def _end_stream(self, call: Call, error: Exception | None) -> None:
        """Send the end mark of a stream, if it is still open."""
        with self._lock:
            if self._streams.get(call.id) is call:
                del self._streams[call.id]
                self._write(call.fail(error) if error else call.end_stream())

    def _write(self, data: bytes) -> None:
        try:
            with self._lock:
                self.connection.sendall(data)
        except OSError:  # the client has left, or reads nothing
            self._shut_down(socket.SHUT_RDWR)


class Server(socketserver.ThreadingTCPServer):
    """The connections of a worker."""

    daemon_threads = True
    allow_reuse_address = True
    allow_reuse_port = True
    # Clients that may wait to be accepted; the default of 5 is less than a load generator opens at once.
    request_queue_size = 1024

    def __init__(self, settings: SocketSettings, store: Store) -> None:
        self.settings = settings
        self.store = store
        self.handlers: set[Handler] = set()
        self._tls = tls.make_context(settings)
        self.address_family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        super().__init__((settings.host, settings.port), Handler)

    def get_request(self) -> tuple[socket.socket, object]:
        """Accept a connection; its thread makes the handshake of TLS."""
        connection, address = super().get_request()
        if self._tls is not None:
            connection = self._tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return connection, address

    def drain(self) -> None:
        """Wait until all connections have been closed between requests, or time is up."""
        for handler in list(self.handlers):
            handler.drain()
        deadline_s = time.monotonic() + self.settings.drain_timeout_s
        while self.handlers and time.monotonic() < deadline_s:
            time.sleep(0.01)


def _serve(settings: SocketSettings) -> None:
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    store = open_store(settings)
    with Server(settings, store) as server:
        threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True).start()
        metrics.WORKERS.set(1)
        stop.wait()
        server.shutdown()
        server.drain()
    store.close()


if __name__ == "__main__":
    settings = read_settings(SocketSettings)
    run_workers(settings.workers, lambda: _serve(settings))
