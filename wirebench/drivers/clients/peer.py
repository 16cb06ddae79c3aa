"""The other side of a client's connections: opened with TLS or without, and explained when they fail."""

from __future__ import annotations

import select
import socket
import ssl

from wirebench.drivers.clients.client import ClientError
from wirebench.model.address import Address
from wirebench.system.tls import ClientTls, make_context

#: What OpenSSL says when something else than TLS comes.
_NO_TLS = {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNEXPECTED_MESSAGE", "RECORD_LAYER_FAILURE"}
_NO_COMMON_VERSION = {"TLSV1_ALERT_PROTOCOL_VERSION", "UNSUPPORTED_PROTOCOL"}
#: What to do about a certificate that isn't trusted, by the reason: X509_V_ERR_… of OpenSSL's x509_vfy.h.
_DISTRUST_HINTS = {
    **dict.fromkeys((62, 64), "use a host that the certificate names, or a certificate for this one"),
    **dict.fromkeys((9, 10), "renew it, or set this machine's clock"),
}
#: How an alert of TLS of any version begins: what answers plain text where TLS is spoken.
_ALERT = b"\x15\x03"
#: How long to wait for a sign that TLS is spoken.
_TRIAL_TIMEOUT_S = 2.0


class Peer:
    """A service at an address, with TLS or without."""

    def __init__(self, address: Address, timeout_s: float, tls: ClientTls | None, *protocols: str) -> None:
        """Take how long connecting, and then each wait, may last, and what ALPN offers. Raises UsageError."""
        self.address = address
        self.timeout_s = timeout_s
        self.tls = tls
        self._context = make_context(tls, *protocols) if tls else None

    def dial(self) -> socket.socket:
        """Connect; the time-out stays on the socket. Raises ClientError."""
        try:
            connection = socket.create_connection(self.address, self.timeout_s)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._context is None:
                return connection
            try:
                return self._context.wrap_socket(connection, server_hostname=self.address.host)
            except BaseException:
                connection.close()
                raise
        except OSError as error:
            raise self.explain_failure(error) from error

    def explain_failure(self, error: OSError) -> ClientError:
        address = self.address
        match error:
            case ConnectionRefusedError():
                return ClientError(f"nothing listens at {address}", "start the service, or correct the address")
            case socket.gaierror() | UnicodeError():
                return ClientError(f"unknown host {address.host!r}", "correct the address")
            case TimeoutError():
                return ClientError(
                    f"{address} did not answer within {self.timeout_s:g} s",
                    "check the port, see whether the service is overloaded, or allow more time",
                )
            case ConnectionError() | ssl.SSLEOFError():
                return self.explain_hang_up()
            case ssl.SSLError() if self.tls:
                return self._explain_tls(error)
        return ClientError(f"can't reach {address}: {error.strerror or error}", "check the address and the network")

    def explain_hang_up(self) -> ClientError:
        """Return that the connection ended before the reply did."""
        if self.tls is None and _speaks_tls(self.address):
            return self._explain_plain_text()
        return ClientError(f"{self.address} hung up before its reply was complete", "see what the service's log says")

    def explain_wrong_protocol(self, protocol: str, received: bytes) -> ClientError:
        """Return that something else listens there, and what it sent."""
        if self.tls is None and received.startswith(_ALERT):
            return self._explain_plain_text()
        return ClientError(
            f"what listens at {self.address} does not speak {protocol}: it sent {received[:24]!r}",
            "check the port: rest, grpc and socket have one each",
        )

    def _explain_plain_text(self) -> ClientError:
        hint = "write https:// or tls:// before the address, or give --cacert"
        return ClientError(f"{self.address} speaks TLS, and this was plain text", hint)

    def _explain_tls(self, error: ssl.SSLError) -> ClientError:
        where, reason = self.address, error.reason or ""
        if isinstance(error, ssl.SSLCertVerificationError):
            hint = _DISTRUST_HINTS.get(error.verify_code, "name the authority that signed it (--cacert)")
            said = error.verify_message.rstrip(".")
            return ClientError(f"{where}: its certificate is not to be trusted: {said}", hint)
        if reason in _NO_TLS:
            return ClientError(f"{where} doesn't speak TLS", "start the service with TLS, or connect in plain text")
        if reason in _NO_COMMON_VERSION:
            return ClientError(f"{where} speaks neither TLS 1.2 nor TLS 1.3", "update it")
        hint = "see the service's log, and whether its certificate is good"
        return ClientError(f"TLS with {where} failed: {reason.replace('_', ' ').lower()}", hint)


def _speaks_tls(address: Address) -> bool:
    """Return whether TLS is spoken where a client in plain text got no answer."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # nothing is sent: the question is whether there is TLS at all
    try:
        with (
            socket.create_connection(address, _TRIAL_TIMEOUT_S) as connection,
            context.wrap_socket(connection, server_hostname=address.host),
        ):
            return True
    except ssl.SSLError as error:
        return (error.reason or "") in _NO_COMMON_VERSION
    except OSError:
        return False


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
