"""What a client speaks TLS with: files, as every stage hands them on; and which addresses ask for it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ClientTls:
    """PEM files.

    `authority` are those whom the client trusts; without it, those of the system. `certificate` and `key` are its own,
    for services that ask for one.
    """

    authority: Path | None = None
    certificate: Path | None = None
    key: Path | None = None


#: What may stand before an address, and whether that asks for TLS.
SCHEMES = {"http": False, "https": True, "tls": True}


def split_scheme(address: str) -> tuple[str, str]:
    """Return the scheme of an address, empty if it has none that we know, and the rest."""
    scheme, mark, rest = address.partition("://")
    return (scheme, rest.removesuffix("/")) if mark and scheme in SCHEMES else ("", address)


def chosen_by(scheme: str, given: ClientTls | None) -> ClientTls | None:
    """Return what to connect with. A scheme decides; without one, TLS is spoken if something was given for it."""
    if not scheme:
        return given
    return (given or ClientTls()) if SCHEMES[scheme] else None
