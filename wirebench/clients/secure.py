"""TLS of the clients: the context of their connections, and what is said when a handshake fails."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

from wirebench.clients.client import ClientError
from wirebench.errors import UsageError
from wirebench.tls import ClientTls

#: What OpenSSL calls the other side's alerts (RFC 8446, 6.2): it wants a certificate, or refuses ours.
_WANTS_CERTIFICATE = {"TLSV13_ALERT_CERTIFICATE_REQUIRED", "SSLV3_ALERT_HANDSHAKE_FAILURE"}
_REFUSES_CERTIFICATE = {
    "TLSV1_ALERT_UNKNOWN_CA": "its authority is not one that the service trusts",
    "TLSV1_ALERT_DECRYPT_ERROR": "its signature is wrong",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "it has expired",
    "SSLV3_ALERT_BAD_CERTIFICATE": "it is not as it should be",
    "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE": "it is of a kind that the service doesn't know, or not for clients",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "for a reason that the service doesn't tell",
}
#: What OpenSSL says when something else than TLS comes.
_NO_TLS = {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNEXPECTED_MESSAGE", "RECORD_LAYER_FAILURE"}
_NO_COMMON_VERSION = {"TLSV1_ALERT_PROTOCOL_VERSION", "UNSUPPORTED_PROTOCOL"}
#: Why a certificate isn't trusted, and what to do: X509_V_ERR_… of OpenSSL's x509_vfy.h.
_WRONG_HOST = {62, 64}
_WRONG_TIME = {9, 10}
_ALERT = 21
#: How long to wait for a sign that TLS is spoken.
_TRIAL_TIMEOUT_S = 2.0


def context_of(tls: ClientTls, *protocols: str) -> ssl.SSLContext:
    """Return the context of connections that offer these protocols by ALPN. Raises UsageError for unusable files."""
    for path in filter(None, (tls.authority, tls.certificate, tls.key)):
        _check_readable(path)
    context = _trusting(tls.authority)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if tls.certificate and tls.key:
        try:
            context.load_cert_chain(tls.certificate, tls.key, password=_refuse_to_ask)
        except (ssl.SSLError, _EncryptedError):
            raise UsageError(
                f"{tls.certificate} and {tls.key} aren't a certificate and its key",
                "name both as PEM files, the key not encrypted",
            ) from None
    if protocols:
        context.set_alpn_protocols(list(protocols))
    return context


def shake_hands(connection: socket.socket, host: str, context: ssl.SSLContext) -> ssl.SSLSocket:
    """Make the handshake; the socket goes with it, also where it fails. Raises OSError."""
    try:
        return context.wrap_socket(connection, server_hostname=host)
    except BaseException:
        connection.close()
        raise


def explain(error: ssl.SSLError, where: str, tls: ClientTls) -> ClientError:
    """Say why TLS with the service at an address failed, and what to do next."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return _explain_distrust(error, where)
    reason = error.reason or ""
    if reason in _WANTS_CERTIFICATE and tls.certificate is None:
        return ClientError(f"{where} asks its clients for a certificate", "give one with its key (--cert, --key)")
    if reason in _REFUSES_CERTIFICATE:
        return ClientError(
            f"{where} refuses our certificate: {_REFUSES_CERTIFICATE[reason]}",
            "give one that the service's --tls-client-ca has signed (--cert, --key)",
        )
    if reason in _NO_TLS:
        return ClientError(f"{where} doesn't speak TLS", "start the service with TLS, or connect in plain text")
    if reason in _NO_COMMON_VERSION:
        return ClientError(f"{where} speaks neither TLS 1.2 nor TLS 1.3", "update it")
    said = reason.replace("_", " ").lower()
    return ClientError(f"TLS with {where} failed: {said}", "see the service's log, and whether its certificate is good")


def speaks_tls(address: tuple[str, int]) -> bool:
    """Return whether TLS is spoken where a client in plain text got no answer."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # nothing is sent: the question is whether there is TLS at all
    try:
        with (
            socket.create_connection(address, _TRIAL_TIMEOUT_S) as connection,
            context.wrap_socket(connection, server_hostname=address[0]),
        ):
            return True
    except ssl.SSLError as error:
        return (error.reason or "") in {*_WANTS_CERTIFICATE, *_REFUSES_CERTIFICATE, *_NO_COMMON_VERSION}
    except OSError:
        return False


def is_alert(received: bytes) -> bool:
    """Return whether what came is an alert of TLS: what answers plain text where TLS is spoken."""
    return len(received) > 1 and received[0] == _ALERT and received[1] == 3  # noqa: PLR2004 - of all versions


def wants_tls(where: str) -> ClientError:
    """Say that TLS is spoken there."""
    return ClientError(
        f"{where} speaks TLS, and this was plain text", "write https:// or tls:// before the address, or give --cacert"
    )


def _explain_distrust(error: ssl.SSLCertVerificationError, where: str) -> ClientError:
    said = f"{where}: its certificate is not to be trusted: {error.verify_message.rstrip('.')}"
    if error.verify_code in _WRONG_HOST:
        return ClientError(said, "use a host that the certificate names, or a certificate for this one")
    if error.verify_code in _WRONG_TIME:
        return ClientError(said, "renew it, or set this machine's clock")
    return ClientError(said, "name the authority that signed it (--cacert)")


def _trusting(authority: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=authority)
    except ssl.SSLError:
        raise UsageError(f"{authority} holds no certificate in PEM form", "name the file of an authority") from None


def _check_readable(path: Path) -> None:
    try:
        path.open("rb").close()
    except OSError as error:
        raise UsageError(f"can't read {path}: {error.strerror}", "name a PEM file that this user may read") from None


class _EncryptedError(Exception):
    """A key that needs a passphrase."""


def _refuse_to_ask() -> str:
    raise _EncryptedError
