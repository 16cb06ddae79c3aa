"""Certificates for tests, made by the openssl command for an hour or so; their clients trust nobody else."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path
from typing import NamedTuple

#: Kinds of keys, as `openssl req -newkey` takes them.
EC = ("ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")
RSA = ("rsa:2048",)


class Certificate(NamedTuple):
    """A certificate that is its own authority, and its key: PEM files."""

    cert: Path
    key: Path

    @property
    def flags(self) -> tuple[object, ...]:
        """What a service is started with."""
        return "--tls-cert", self.cert, "--tls-key", self.key

    def trust(self, *protocols: str, identity: Certificate | None = None) -> ssl.SSLContext:
        """Return what a client connects with that trusts only this certificate, and asks for these by ALPN.

        With an identity, it can show that as its own certificate.
        """
        context = ssl.create_default_context(cafile=str(self.cert))
        if protocols:
            context.set_alpn_protocols(list(protocols))
        if identity:
            context.load_cert_chain(identity.cert, identity.key)
        return context


def openssl(*arguments: object) -> None:
    """Run the openssl command."""
    done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stderr


def make(folder: Path, name: str, key: tuple[str, ...] = EC) -> Certificate:
    """Make a certificate for this machine's loopback."""
    made = Certificate(folder / f"{name}.crt", folder / f"{name}.key")
    openssl(
        "req", "-x509", "-newkey", *key, "-nodes", "-keyout", made.key, "-out", made.cert, "-days", 1,
        "-subj", f"/CN={name}", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
    )  # fmt: skip
    return made
