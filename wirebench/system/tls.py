"""What a client speaks TLS with: files, as every stage hands them on; and which addresses ask for it."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wirebench.errors import UsageError

if TYPE_CHECKING:
    import grpc


@dataclass(frozen=True, slots=True)
class ClientTls:
    """The PEM file of the authorities whom the client trusts; without it, those of the system."""

    authority: Path | None = None


#: What may stand before an address, and whether that asks for TLS.
SCHEMES = {"http": False, "https": True, "tls": True}


def split_scheme(address: str) -> tuple[str, str]:
    """Return the scheme of an address, empty if it has none that we know, and the rest."""
    scheme, mark, rest = address.partition("://")
    return (scheme, rest.removesuffix("/")) if mark and scheme in SCHEMES else ("", address)


def choose_tls(scheme: str, given: ClientTls | None) -> ClientTls | None:
    """Return what to connect with. A scheme decides; without one, TLS is spoken if something was given for it."""
    if not scheme:
        return given
    return (given or ClientTls()) if SCHEMES[scheme] else None


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


def open_grpc_channel(address: str, tls: ClientTls | None, options: Sequence[tuple[str, int]]) -> grpc.Channel:
    import grpc

    if tls is None:
        return grpc.insecure_channel(address, options)
    # Without an authority grpc would take one of the lists that come with it, and not the system's.
    authority = tls.authority or ssl.get_default_verify_paths().cafile
    trusted = Path(authority).read_bytes() if authority else None
    return grpc.secure_channel(address, grpc.ssl_channel_credentials(trusted), options)
