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
from functools import partial

from wirebench_services import metrics, tls
from wirebench_services.application.errors import Cancelled, Stopping
from wirebench_services.application.ledger import stream_transactions
from wirebench_services.application.stores import Store, open_store
from wirebench_services.contract import STREAM
from wirebench_services.settings import STOP_SIGNALS, SocketSettings, read_settings
from wirebench_services.socket.conversation import CANCEL, Call, Conversation

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
    """A client's connection: its thread answers one call after another, streams too."""

    server: Server
    request: socket.socket

    def setup(self) -> None:
        Conversation.__init__(self, self.server.settings)
        #: A call that has come during a stream.
        self._following: Call | None = None
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.server.connections.add(self)

    def handle(self) -> None:
        """Serve the client until it leaves or is over a timeout."""
        with contextlib.suppress(OSError):
            if isinstance(self.request, ssl.SSLSocket):
                self.request.settimeout(self.server.settings.read_timeout_s)
                self.request.do_handshake()
            while call := self._wait_for_call():
                self._answer(call)

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
        call, self._following = self._following, None
        while not (call := call or self.next_call()):
            if self.has_ended or (self.server.is_draining and self.is_between_requests):
                return None
            self._receive()
        return call

    def _answer(self, call: Call) -> None:
        if call.method == STREAM:
            self._stream(call)
        elif call.method != CANCEL:  # of a stream that has ended
            try:
                reply = call.succeed(call.handle(self.server.store))
            except Exception as error:  # noqa: BLE001 - the client is told, and others are logged
                reply = call.fail(error)
            self._send(reply)

    def _stream(self, call: Call) -> None:
        try:
            wait = partial(self._watch, call)
            for transactions in stream_transactions(self.server.store.list_transactions, call.parse_stream(), wait):
                self._send(call.build_items(transactions))
            end = call.finish("ok", "")
        except OSError:
            call.fail(Cancelled())
            raise
        except Exception as error:  # noqa: BLE001
            end = call.fail(error)
        self._send(end)
        self.restart_clock()

    def _watch(self, stream: Call, wait_s: float) -> None:
        """Wait until a stream's next batch is due. Raises Cancelled, or Stopping."""
        due_s = time.monotonic() + wait_s
        poll = select.poll()
        poll.register(self.request, select.POLLIN)
        while True:
            call = self._following = self._following or self.next_call()
            if self.server.is_draining:
                raise Stopping
            if self.has_ended or (call and call.method == CANCEL and call.id == stream.id):
                raise Cancelled
            wait_ms = max(0.0, due_s - time.monotonic()) * 1000
            if call:  # nothing more is read before the stream's end
                time.sleep(wait_ms / 1000)
                return
            if not poll.poll(wait_ms):
                return
            self.restart_clock()
            self._receive()

    def _receive(self) -> None:
        """Wait for the client to send something. Raises TimeoutError."""
        self.request.settimeout(max(0.001, self.deadline_s - time.perf_counter()))
        self.feed(self.request.recv(_READ_BYTES))

    def _send(self, data: bytes) -> None:
        """Wait for the client to read. Raises TimeoutError."""
        self.request.settimeout(self.server.settings.idle_timeout_s)
        self.request.sendall(data)


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
