"""The other side of a client's connections: how they are opened, and what is said when they fail."""

from __future__ import annotations

import select
import socket
import ssl

from wirebench.clients import secure
from wirebench.clients.address import Address
from wirebench.clients.client import ClientError
from wirebench.tls import ClientTls


class Peer:
    """A service at an address, with TLS or without."""

    def __init__(self, address: Address, timeout_s: float, tls: ClientTls | None, *protocols: str) -> None:
        """Take how long connecting, and then each wait, may last, and what ALPN offers. Raises UsageError."""
        self.address = address
        self.timeout_s = timeout_s
        self.tls = tls
        self._context = secure.context_of(tls, *protocols) if tls else None

    def dial(self) -> socket.socket:
        """Connect; the time-out stays on the socket. Raises ClientError."""
        try:
            connection = socket.create_connection(self.address, self.timeout_s)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return secure.shake_hands(connection, self.address.host, self._context) if self._context else connection
        except OSError as error:
            raise self.failure(error) from error

    def failure(self, error: OSError) -> ClientError:
        """Say what went wrong with a connection."""
        address = self.address
        if isinstance(error, ConnectionRefusedError):
            return ClientError(f"nothing listens at {address}", "start the service, or correct the address")
        if isinstance(error, socket.gaierror | UnicodeError):
            return ClientError(f"unknown host {address.host!r}", "correct the address")
        if isinstance(error, TimeoutError):
            return ClientError(
                f"{address} did not answer within {self.timeout_s:g} s",
                "check the port, see whether the service is overloaded, or allow more time",
            )
        if isinstance(error, ConnectionError | ssl.SSLEOFError):
            return self.hang_up()
        if isinstance(error, ssl.SSLError) and self.tls:
            return secure.explain(error, str(address), self.tls)
        return ClientError(f"can't reach {address}: {error.strerror or error}", "check the address and the network")

    def hang_up(self) -> ClientError:
        """Say that the connection ended before the reply did."""
        if self.tls is None and secure.speaks_tls(self.address):
            return secure.wants_tls(str(self.address))
        hint = "see what the service's log says"
        if self.tls and self.tls.certificate is None:
            # Not all runtimes send the alert that would say so.
            hint = f"if it asks its clients for a certificate, give one with its key (--cert, --key); else {hint}"
        elif self.tls:
            hint = "see whether the service's --tls-client-ca has signed our certificate, and what its log says"
        return ClientError(f"{self.address} hung up before its reply was complete", hint)

    def not_spoken(self, protocol: str, received: bytes) -> ClientError:
        """Say that something else listens there, and what it sent."""
        if self.tls is None and secure.is_alert(received):
            return secure.wants_tls(str(self.address))
        return ClientError(
            f"what listens at {self.address} does not speak {protocol}: it sent {received[:24]!r}",
            "check the port: rest, grpc and socket have one each",
        )


def has_ended(connection: socket.socket) -> bool:
    """Return whether there is something to read on a connection where nothing is due: its end."""
    if not select.select([connection], [], [], 0)[0]:
        return False
    if not isinstance(connection, ssl.SSLSocket):
        return True
    timeout_s = connection.gettimeout()
    connection.settimeout(0)
    try:
        connection.recv(1)
    except ssl.SSLWantReadError:
        return False  # what there was is TLS's own, such as a ticket for another session
    except OSError:
        return True
    finally:
        connection.settimeout(timeout_s)
    return True
