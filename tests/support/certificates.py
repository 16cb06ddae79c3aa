"""Certificates for tests, each with an authority of its own."""

from __future__ import annotations

import datetime as dt
import ssl
from pathlib import Path
from typing import NamedTuple

import trustme


class Certificate(NamedTuple):
    """A certificate of a service, its key, and the authority that signed it: PEM files."""

    cert: Path
    key: Path
    authority: Path

    @property
    def flags(self) -> tuple[object, ...]:
        """What a service is started with."""
        return "--tls-cert", self.cert, "--tls-key", self.key

    def trust(self) -> ssl.SSLContext:
        """Return what a client connects with that trusts only this certificate."""
        return ssl.create_default_context(cafile=str(self.authority))


def make(folder: Path, name: str, not_after: dt.datetime | None = None) -> Certificate:
    """Make a certificate for this machine's loopback."""
    made = Certificate(*(folder / f"{name}.{suffix}" for suffix in ("crt", "key", "ca")))
    authority = trustme.CA()
    issued = authority.issue_cert("localhost", "127.0.0.1", not_after=not_after)
    made.cert.write_bytes(b"".join(each.bytes() for each in issued.cert_chain_pems))
    issued.private_key_pem.write_to_path(str(made.key))
    authority.cert_pem.write_to_path(str(made.authority))
    return made
