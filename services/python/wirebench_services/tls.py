"""TLS of the service's port: certificates are checked before the server starts."""

import ssl

from wirebench_services.settings import Settings, SettingsError


def make_context(settings: Settings) -> ssl.SSLContext | None:
    """Return the context of a server, or None for plain text. Raises SettingsError, naming the flag."""
    cert, key = settings.tls_cert, settings.tls_key
    if cert is None or key is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    # A client may close TCP without close_notify: the server can still send its own.
    context.options |= ssl.OP_IGNORE_UNEXPECTED_EOF
    try:
        context.load_cert_chain(cert, key, password=_reject_encrypted_key)
    except OSError as error:  # among them ssl.SSLError
        raise SettingsError(
            f"--tls-cert and --tls-key: can't use {cert} with {key}: {error.strerror}; "
            "name the PEM files of a certificate and its key"
        ) from None
    return context


def _reject_encrypted_key() -> str:
    raise SettingsError("--tls-key: the key is encrypted; name one that isn't (openssl pkey -in KEY -out PLAIN)")
