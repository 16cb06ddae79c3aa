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
from wirebench_services.application.ledger import StreamQuery, stream_transactions
from wirebench_services.application.stores import Store, open_store
from wirebench_services.settings import SocketSettings, read_settings
from wirebench_services.socket.conversation import CANCELLED, STOPPING, Call, Conversation, describe_error
from wirebench_services.workers import run_workers

_READ_BYTES = 256 * 1024


class Server(socketserver.ThreadingTCPServer):
    """The connections of a worker."""

    daemon_threads = True
    allow_reuse_address = True
    allow_reuse_port = True
    # Clients that may wait to be accepted: the default, 5, is less than a load generator opens at once.
    request_queue_size = 1024

    def __init__(self, settings: SocketSettings, store: Store) -> None:
        self.settings = settings
        self.store = store
        self.connections: set[Connection] = set()
        self._tls = tls.make_context(settings)
        self.address_family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        super().__init__((settings.host, settings.port), Connection)

    def get_request(self) -> tuple[socket.socket, object]:
        """Accept a connection; its thread makes the handshake of TLS."""
        connection, address = super().get_request()
        if self._tls is not None:
            connection = self._tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return connection, address


class Connection(socketserver.StreamRequestHandler, Conversation):
    """A client's connection: its thread reads and answers requests, and each stream has a thread of its own."""

    server: Server
    connection: socket.socket
    disable_nagle_algorithm = True

    def setup(self) -> None:
        Conversation.__init__(self, self.server.settings, self.server.store)
        socketserver.StreamRequestHandler.setup(self)
        self._is_draining = False
        #: Guards the streams, and the connection, which TLS lets only one thread use at a time.
        self._lock = threading.RLock()
        self.server.connections.add(self)

    def handle(self) -> None:
        """Serve the client until it leaves, or its time is up."""
        with contextlib.suppress(OSError):
            if isinstance(self.connection, ssl.SSLSocket):
                self.connection.settimeout(self.server.settings.read_timeout_s)
                self.connection.do_handshake()
            self.connection.settimeout(self.server.settings.idle_timeout_s)
            while not self.has_ended and not (self._is_draining and self.is_between_requests):
                self.feed(self._receive())
                while (reply := self.answer_next()) is not None:
                    self.send(reply)

    def finish(self) -> None:
        self.end_streams(*(STOPPING if self._is_draining else CANCELLED))
        if isinstance(self.connection, ssl.SSLSocket):
            with contextlib.suppress(OSError):
                self.connection.settimeout(0)  # send close_notify, and don't wait for the client's
                self.connection.unwrap()
        self.server.connections.discard(self)
        socketserver.StreamRequestHandler.finish(self)

    def drain(self) -> None:
        """Close once no request is half-way; called by the main thread."""
        self._is_draining = True
        if self.is_between_requests:
            self._shut_down(socket.SHUT_RD)  # wakes the connection's thread; what has arrived can still be read

    def send(self, data: bytes) -> None:
        """Send bytes to the client, unless it has left or reads nothing."""
        try:
            with self._lock:
                self.connection.sendall(data)
        except OSError:
            self._shut_down(socket.SHUT_RDWR)

    def end_stream(self, call: Call, code: str = "ok", message: str = "") -> None:
        """Send the end mark of a stream, unless another thread has."""
        with self._lock:
            Conversation.end_stream(self, call, code, message)

    def start_stream(self, call: Call, query: StreamQuery) -> None:
        threading.Thread(target=self._stream, args=(call, query), daemon=True).start()

    def _stream(self, call: Call, query: StreamQuery) -> None:
        try:
            for transactions in stream_transactions(self.server.store, query):
                with self._lock:
                    if not self.is_open(call):
                        return
                    self.send(call.build_items(transactions))
            self.end_stream(call)
        except Exception as error:  # noqa: BLE001 - the client is told, and others are logged
            self.end_stream(call, *describe_error(error))

    def _receive(self) -> bytes:
        """Wait for the client to send something; return nothing at its end. Raises TimeoutError."""
        poll = select.poll()
        poll.register(self.connection, select.POLLIN)
        while not poll.poll(max(0.0, self.deadline_s - time.monotonic()) * 1000):
            if not (self._streams and self.is_between_requests):
                raise TimeoutError
            self.restart_clock()
        if self._is_draining and self.is_between_requests and isinstance(self.connection, ssl.SSLSocket):
            return b""  # reading the end that drain() made would be an error, and no close_notify could be sent
        with self._lock:
            return self.connection.recv(_READ_BYTES)

    def _shut_down(self, how: int) -> None:
        with contextlib.suppress(OSError):
            # The method of SSLSocket would end TLS without saying so to the client.
            socket.socket.shutdown(self.connection, how)


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
        for connection in list(server.connections):
            connection.drain()
        deadline_s = time.monotonic() + settings.drain_timeout_s
        while server.connections and time.monotonic() < deadline_s:
            time.sleep(0.01)
    store.close()


if __name__ == "__main__":
    settings = read_settings(SocketSettings)
    run_workers(settings.workers, lambda: _serve(settings))
