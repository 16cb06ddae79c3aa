"""TLS of the service's port: certificates are checked before the server starts."""

from __future__ import annotations

import ssl
from pathlib import Path

from wirebench_services.settings import Settings, SettingsError


def make_context(settings: Settings) -> ssl.SSLContext | None:
    """Return the context of a server, or None for plain text. Raises SettingsError, naming the flag."""
    if settings.tls_cert is None or settings.tls_key is None:
        return None
    for flag, path in (("tls-cert", settings.tls_cert), ("tls-key", settings.tls_key)):
        _check_readable(flag, path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    # After an end of TCP alone, a server can still say by close_notify that it has said all.
    context.options |= ssl.OP_IGNORE_UNEXPECTED_EOF
    try:
        context.load_cert_chain(settings.tls_cert, settings.tls_key, password=_reject_encrypted_key)
    except ssl.SSLError as error:
        raise SettingsError(
            f"--tls-cert and --tls-key: can't use {settings.tls_cert} with {settings.tls_key}: {error.reason}; "
            "name the PEM files of a certificate and its key"
        ) from None
    if settings.tls_client_ca is not None:
        _check_readable("tls-client-ca", settings.tls_client_ca)
        try:
            context.load_verify_locations(settings.tls_client_ca)
        except ssl.SSLError:
            raise SettingsError(
                f"--tls-client-ca: {settings.tls_client_ca} has no certificate in PEM form; name a file that has one"
            ) from None
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def _check_readable(flag: str, path: Path) -> None:
    try:
        path.read_bytes()
    except OSError as error:
        raise SettingsError(f"--{flag}: can't read {path}: {error.strerror}; name a readable PEM file") from None


def _reject_encrypted_key() -> str:
    raise SettingsError("--tls-key: the key is encrypted; name one that isn't (openssl pkey -in KEY -out PLAIN)")
