"""What a client speaks TLS with: files, as every stage hands them on; and which addresses ask for it."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

from wirebench.errors import UsageError


@dataclass(frozen=True, slots=True)
class ClientTls:
    """The PEM file of the authorities whom the client trusts; without it, those of the system."""

    authority: Path | None = None


#: What may stand before an address, and whether that asks for TLS.
_SCHEMES = {"http": False, "https": True, "tls": True}


def split_address(address: str, given: ClientTls | None = None) -> tuple[str, ClientTls | None]:
    """Return an address without its scheme, and what to connect with.

    A scheme decides. Without one that we know, TLS is spoken if something was given for it.
    """
    scheme, mark, rest = address.partition("://")
    if not mark or scheme not in _SCHEMES:
        return address, given
    return rest.removesuffix("/"), (given or ClientTls()) if _SCHEMES[scheme] else None


def make_context(tls: ClientTls) -> ssl.SSLContext:
    """Return the context of connections. Raises UsageError for an unusable file."""
    try:
        context = ssl.create_default_context(cafile=tls.authority)
    except ssl.SSLError:
        raise UsageError(f"{tls.authority} holds no certificate in PEM form", "name the file of an authority") from None
    except OSError as error:
        hint = "name a PEM file that this user may read"
        raise UsageError(f"can't read {tls.authority}: {error.strerror}", hint) from None
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context
