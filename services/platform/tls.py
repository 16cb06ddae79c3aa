"""TLS of a service's port: what is offered, and a certificate that is checked before anything starts."""

from __future__ import annotations

import contextlib
import dataclasses
import socket
import ssl
from pathlib import Path
from typing import Any

#: With TLS 1.2 only what has forward secrecy and authenticated encryption (RFC 9325, 4.2); TLS 1.3 has nothing else.
_CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"
#: OpenSSL's words for a key that isn't the certificate's; the last two for one of another kind.
_MISMATCHES = {"KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH", "NO_CERTIFICATE_ASSIGNED"}


class CertificateError(Exception):
    """A certificate or a key that can't be used; the message names the option and the next step."""


@dataclasses.dataclass(frozen=True, slots=True)
class Tls:
    """What connections are made with. Read once, before processes fork: a renewed certificate needs a restart."""

    context: ssl.SSLContext
    #: The PEM files as they were read, for a runtime that has a TLS of its own.
    chain: bytes = dataclasses.field(repr=False)
    key: bytes = dataclasses.field(repr=False)

    def wrap(self, connected: socket.socket) -> ssl.SSLSocket:
        """Return the server's end of a connection, which takes over the socket; the handshake is still to be made.

        Raises OSError if the client has gone.
        """
        return self.context.wrap_socket(connected, server_side=True, do_handshake_on_connect=False)


def load(chain: str | None, key: str | None, protocols: tuple[str, ...]) -> Tls | None:
    """Return what two PEM files are good for, or None without them; ALPN may choose from `protocols`, if there are any.

    Raises CertificateError.
    """
    if not chain and not key:
        return None
    if not chain or not key:
        given, missing = ("--tls-cert", "--tls-key") if chain else ("--tls-key", "--tls-cert")
        raise CertificateError(f"{given} needs {missing}: name both, or none of them for plain text")
    chain_pem = _read("--tls-cert", chain)
    key_pem = _read("--tls-key", key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(_CIPHERS)
    # A client that closes without close_notify has closed; what it was about to send has a length of its own.
    context.options |= ssl.OP_IGNORE_UNEXPECTED_EOF
    context.sslsocket_class = _Socket
    if protocols:
        context.set_alpn_protocols(list(protocols))
    _load_pair(context, chain, key)
    return Tls(context, chain_pem, key_pem)


def asyncio_options(tls: Tls | None, timeout_s: float) -> dict[str, Any]:
    """Return what a loop's `create_server` takes; so long may a client take for a handshake, and to answer its end."""
    if tls is None:
        return {}
    return {"ssl": tls.context, "ssl_handshake_timeout": timeout_s, "ssl_shutdown_timeout": timeout_s}


def _read(option: str, path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise CertificateError(
            f"{option}: can't read {path}: {error.strerror}; name a PEM file that this user may read"
        ) from None


def _load_pair(context: ssl.SSLContext, chain: str, key: str) -> None:
    try:
        # Loading the pair says only that something is wrong with one of the two.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(cafile=chain)
    except ssl.SSLError:
        raise CertificateError(f"--tls-cert: {chain} holds no certificate in PEM form; name one that does") from None
    try:
        context.load_cert_chain(chain, key, password=_refuse_to_ask)
    except _EncryptedError:
        raise CertificateError(
            f"--tls-key: the key in {key} is encrypted; name one that isn't (openssl pkey -in {key} -out PLAIN.pem)"
        ) from None
    except ssl.SSLError as error:
        if error.reason in _MISMATCHES:
            problem = f"--tls-key: {key} isn't the key of the first certificate in {chain}; name its key"
        elif "PEM" in str(error):
            problem = f"--tls-key: {key} holds no private key in PEM form; name one that does"
        else:
            problem = f"--tls-cert and --tls-key: {chain} and {key} can't be used: {error.reason}; name another pair"
        raise CertificateError(problem) from None


class _EncryptedError(Exception):
    """A key that needs a passphrase."""


def _refuse_to_ask() -> str:
    raise _EncryptedError


class _Socket(ssl.SSLSocket):
    """A connection that ends as TLS asks for, with close_notify, but without waiting for the client to say it too."""

    def shutdown(self, how: int) -> None:
        """Close one or both directions."""
        if how == socket.SHUT_RD:
            # TLS knows nothing of it. The standard library would go on in plain text.
            socket.socket.shutdown(self, how)
            return
        self._say_goodbye()
        super().shutdown(how)

    def close(self) -> None:
        """Close the connection."""
        self._say_goodbye()
        super().close()

    def _say_goodbye(self) -> None:
        # What can't be sent at once isn't sent; nor is it before or after TLS is spoken.
        with contextlib.suppress(OSError, ValueError):
            self.settimeout(0.0)
            self.unwrap()
