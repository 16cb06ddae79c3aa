"""TLS of a service's port: what is offered, and certificates that are checked before anything starts."""

from __future__ import annotations

import contextlib
import dataclasses
import re
import socket
import ssl
from pathlib import Path
from typing import Any

#: With TLS 1.2 only what has forward secrecy and authenticated encryption (RFC 9325, 4.2); TLS 1.3 has nothing else.
_CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"
#: OpenSSL's words for a key that isn't the certificate's; the last two for one of another kind.
_MISMATCHES = {"KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH", "NO_CERTIFICATE_ASSIGNED"}
_PEM_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
#: How a certificate names the kind of its key, in DER (RFC 3279, 2.3.1; RFC 5480, 2.1.1), for the kinds that all
#: runtimes and drivers can use: OpenSSL has more, with which gRPC would not start, or fail in every handshake.
_KINDS_OF_KEYS = tuple(
    bytes.fromhex(identifiers)
    for identifiers in (
        "06092a864886f70d010101",  # rsaEncryption
        "06072a8648ce3d0201 06082a8648ce3d030107",  # ecPublicKey, P-256
        "06072a8648ce3d0201 06052b81040022",  # ecPublicKey, P-384
    )
)


class CertificateError(Exception):
    """A certificate or a key that can't be used; the message names the option and the next step."""


@dataclasses.dataclass(frozen=True, slots=True)
class Tls:
    """What connections are made with. Read once, before processes fork: a renewed certificate needs a restart."""

    context: ssl.SSLContext
    #: The PEM files as they were read, for a runtime that has a TLS of its own.
    chain: bytes = dataclasses.field(repr=False)
    key: bytes = dataclasses.field(repr=False)
    #: The authorities that sign clients' certificates; None lets clients come without one.
    client_authorities: bytes | None = dataclasses.field(repr=False)

    def __str__(self) -> str:
        """Name it."""
        return "TLS" if self.client_authorities is None else "mutual TLS"

    def wrap(self, connected: socket.socket) -> ssl.SSLSocket:
        """Return the server's end of a connection, which takes over the socket; the handshake is still to be made.

        Raises OSError if the client has gone.
        """
        return self.context.wrap_socket(connected, server_side=True, do_handshake_on_connect=False)


def load(
    chain: str | None, key: str | None, protocols: tuple[str, ...], client_authorities: str | None = None
) -> Tls | None:
    """Return what PEM files are good for, or None without them; ALPN may choose from `protocols`, if there are any.

    With `client_authorities`, clients need a certificate that one of them has signed. Raises CertificateError.
    """
    if not chain and not key:
        if client_authorities:
            raise CertificateError("--tls-client-ca needs --tls-cert and --tls-key: name all three")
        return None
    if not chain or not key:
        given, missing = ("--tls-cert", "--tls-key") if chain else ("--tls-key", "--tls-cert")
        raise CertificateError(f"{given} needs {missing}: name both, or none of them for plain text")
    chain_pem = _read("--tls-cert", chain)
    key_pem = _read("--tls-key", key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(_CIPHERS)
    # The client chooses among these, by what its processor is good at. gRPC's TLS leaves it the choice as well: so the
    # same client comes to the same cipher on all transports.
    context.options &= ~ssl.OP_CIPHER_SERVER_PREFERENCE
    # A client that closes without close_notify has closed; what it was about to send has a length of its own.
    context.options |= ssl.OP_IGNORE_UNEXPECTED_EOF
    context.sslsocket_class = _Socket
    if protocols:
        context.set_alpn_protocols(list(protocols))
    _load_pair(context, chain, key)
    _check_kind(chain, chain_pem)
    authorities_pem = _ask_clients(context, client_authorities) if client_authorities else None
    return Tls(context, chain_pem, key_pem, authorities_pem)


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


def _check_kind(path: str, chain: bytes) -> None:
    """Raise CertificateError if the first certificate's key is of a kind that not all runtimes can use."""
    first = _PEM_CERTIFICATE.search(chain.decode(errors="replace"))
    certificate = ssl.PEM_cert_to_DER_cert(first[0]) if first else b""
    if not any(kind in certificate for kind in _KINDS_OF_KEYS):
        raise CertificateError(
            f"--tls-cert: the key of the first certificate in {path} is neither RSA nor EC on P-256 or P-384; "
            "name a certificate with such a key, which all transports can use"
        )


def _ask_clients(context: ssl.SSLContext, authorities: str) -> bytes:
    """Refuse clients without a certificate of these authorities."""
    pem = _read("--tls-client-ca", authorities)
    try:
        context.load_verify_locations(cafile=authorities)
    except ssl.SSLError:
        raise CertificateError(
            f"--tls-client-ca: {authorities} holds no certificate in PEM form; name one that does"
        ) from None
    context.verify_mode = ssl.CERT_REQUIRED
    return pem


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
