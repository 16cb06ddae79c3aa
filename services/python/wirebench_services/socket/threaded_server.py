"""The socket server with a thread for each connection: python -m wirebench_services.socket.threaded_server."""

from __future__ import annotations

import contextlib
import signal
import socket
import socketserver
import ssl
import threading
import time

from wirebench_services import metrics, tls
from wirebench_services.application.stores import Store, open_store
from wirebench_services.settings import STOP_SIGNALS, SocketSettings, read_settings
from wirebench_services.socket.conversation import Call, Conversation

_READ_BYTES = 64 * 1024


class Server(socketserver.ThreadingTCPServer):
    """The connections of a worker."""

    daemon_threads = True
    allow_reuse_address = True
    # Clients that may wait to be accepted: the default, 5, is less than a load generator opens at once.
    request_queue_size = 1024

    def __init__(self, settings: SocketSettings, store: Store) -> None:
        self.settings = settings
        self.store = store
        self.connections: set[Connection] = set()
        self.is_draining = False
        self._tls = tls.make_context(settings)
        self.allow_reuse_port = settings.workers > 1  # else it is alone on its port
        self.address_family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        super().__init__((settings.host, settings.port), Connection)

    def get_request(self) -> tuple[socket.socket, object]:
        """Accept a connection; its thread does the TLS handshake."""
        connection, address = super().get_request()
        if self._tls is not None:
            connection = self._tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return connection, address

    def drain(self, timeout_s: float) -> None:
        """Close connections once no request is partly received, and wait for that."""
        self.is_draining = True
        for connection in list(self.connections):
            connection.drain()
        end_s = time.monotonic() + timeout_s
        while self.connections and time.monotonic() < end_s:
            time.sleep(0.01)


class Connection(socketserver.BaseRequestHandler, Conversation):
    """A client's connection: its thread answers one call after another."""

    server: Server
    request: socket.socket

    def setup(self) -> None:
        Conversation.__init__(self, self.server.settings)
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.server.connections.add(self)

    def handle(self) -> None:
        """Serve the client until it leaves or is over a timeout."""
        with contextlib.suppress(OSError):
            if isinstance(self.request, ssl.SSLSocket):
                self.request.settimeout(self.server.settings.read_timeout_s)
                self.request.do_handshake()
            while call := self._wait_for_call():
                try:
                    reply = call.succeed(call.handle(self.server.store))
                except Exception as error:  # noqa: BLE001 - every error is answered, and an unexpected one is logged
                    reply = call.fail(error)
                # The client has time to read it.
                self.request.settimeout(self.server.settings.idle_timeout_s)
                self.request.sendall(reply)

    def finish(self) -> None:
        if isinstance(self.request, ssl.SSLSocket):
            with contextlib.suppress(OSError):
                self.request.settimeout(0)  # send close_notify, and don't wait for the client's
                self.request.unwrap()
        self.server.connections.discard(self)

    def drain(self) -> None:
        """Wake the thread if it waits for a request; what has arrived can still be read."""
        if self.is_between_requests:
            with contextlib.suppress(OSError):
                # SSLSocket.shutdown would drop TLS without a close_notify.
                socket.socket.shutdown(self.request, socket.SHUT_RD)

    def _wait_for_call(self) -> Call | None:
        """Return the next call, or None at the end."""
        while not (call := self.next_call()):
            if self.has_ended or (self.server.is_draining and self.is_between_requests):
                return None
            self.request.settimeout(max(0.001, self.deadline_s - time.perf_counter()))
            self.feed(self.request.recv(_READ_BYTES))
        return call


def _serve(settings: SocketSettings) -> None:
    # All threads inherit this, so that the signals wait for sigwait.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    store = open_store(settings)
    with Server(settings, store) as server:
        threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True).start()
        metrics.WORKERS.set(1)
        signal.sigwait(STOP_SIGNALS)
        server.shutdown()
        server.drain(settings.drain_timeout_s)
    store.close()


if __name__ == "__main__":
    _serve(read_settings(SocketSettings))
