"""Certificates for tests, made by the openssl command for a day; their clients trust no others."""

from __future__ import annotations

import datetime as dt
import ssl
from pathlib import Path
from typing import NamedTuple, cast

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.support.waiting import run_program


class Certificate(NamedTuple):
    """A certificate that is its own authority, and its key: PEM files."""

    cert: Path
    key: Path

    @property
    def flags(self) -> tuple[object, ...]:
        """What a service is started with."""
        return "--tls-cert", self.cert, "--tls-key", self.key

    def trust(self) -> ssl.SSLContext:
        """Return what a client connects with that trusts only this certificate."""
        return ssl.create_default_context(cafile=str(self.cert))


def openssl(*arguments: object) -> None:
    """Run the openssl command."""
    done = run_program(["openssl", *map(str, arguments)])
    assert 0 == done.returncode, done.stderr


def make(folder: Path, name: str) -> Certificate:
    """Make a certificate for this machine's loopback."""
    made = Certificate(folder / f"{name}.crt", folder / f"{name}.key")
    openssl(
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
        "-keyout", made.key, "-out", made.cert, "-days", 1,
        "-subj", f"/CN={name}", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
    )  # fmt: skip
    return made


def expired(folder: Path, name: str) -> Certificate:
    """Make a certificate that was good until an hour ago; openssl makes none of the past."""
    made, now = make(folder, name), dt.datetime.now(dt.UTC)
    good = x509.load_pem_x509_certificate(made.cert.read_bytes())
    builder = (
        x509.CertificateBuilder(extensions=list(good.extensions))
        .subject_name(good.subject)
        .issuer_name(good.issuer)
        .public_key(good.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + dt.timedelta(hours=-24))
        .not_valid_after(now + dt.timedelta(hours=-1))
    )
    key = cast("ec.EllipticCurvePrivateKey", serialization.load_pem_private_key(made.key.read_bytes(), None))
    made.cert.write_bytes(builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    return made
