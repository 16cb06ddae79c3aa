"""Certificates for the services and the clients of a run, by an authority that nobody can use again.

The authority's key is gone when `issue` returns; certificates are good for a week at most.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import os
import secrets
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from wirebench.errors import UsageError
from wirebench.scenario.contract import Tls
from wirebench.tls import ClientTls

#: Longer than any run should take; and how far clocks of a cluster's nodes may be apart.
_VALIDITY = dt.timedelta(days=7)
_CLOCKS_APART = dt.timedelta(minutes=5)
_MAY_SIGN = x509.KeyUsage(
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=False,
    encipher_only=False,
    decipher_only=False,
)


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key, as PEM."""

    certificate: bytes
    key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Certificates:
    """What one authority has signed, and its own certificate, as PEM."""

    authority: bytes
    server: Pair
    client: Pair


def issue(server_names: Sequence[str]) -> Certificates:
    """Return certificates for a server of these DNS names and IP addresses, and for its clients.

    All keys are EC on P-256: what Go, OpenSSL and gRPC's BoringSSL all have, and are quick with.
    """
    authority = _Authority()
    names = x509.SubjectAlternativeName([_general_name(each) for each in server_names])
    return Certificates(
        _pem(authority.certificate),
        authority.sign("wirebench service", ExtendedKeyUsageOID.SERVER_AUTH, names),
        authority.sign("wirebench client", ExtendedKeyUsageOID.CLIENT_AUTH),
    )


class _Authority:
    """Signs what it makes itself. What it is named is its own: clients tell it from those of other runs by that."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named(f"wirebench authority {secrets.token_hex(8)}")
        self.certificate = (
            self._unsigned(self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_MAY_SIGN, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )

    def sign(self, name: str, usage: x509.ObjectIdentifier, *more: x509.ExtensionType) -> Pair:
        """Return a new key with its certificate."""
        key = ec.generate_private_key(ec.SECP256R1())
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = self._unsigned(_named(name), key.public_key())
        for extension in (x509.ExtendedKeyUsage([usage]), issuer, *more):
            builder = builder.add_extension(extension, critical=False)
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return Pair(_pem(builder.sign(self._key, hashes.SHA256())), private)

    def _unsigned(self, name: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        now = dt.datetime.now(dt.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _CLOCKS_APART)
            .not_valid_after(now + _VALIDITY)
        )


def check_dates(path: Path) -> None:
    """Raise UsageError if the certificate in a PEM file isn't valid now: a service that refuses it need not say why."""
    certificate = x509.load_pem_x509_certificate(path.read_bytes())
    now = dt.datetime.now(dt.UTC)
    if now > certificate.not_valid_after_utc:
        said = f"expired at {certificate.not_valid_after_utc:%Y-%m-%d %H:%M} UTC"
    elif now < certificate.not_valid_before_utc:
        said = f"is not valid before {certificate.not_valid_before_utc:%Y-%m-%d %H:%M} UTC"
    else:
        return
    raise UsageError(f"our certificate {path} {said}", "renew it, or set this machine's clock")


class CertificateFolder:
    """Certificates as files that nobody but this user may read, until they are removed."""

    def __init__(self, server_names: Sequence[str]) -> None:
        """Issue certificates, and write them to a folder of their own."""
        issued = issue(server_names)
        self._folder = tempfile.TemporaryDirectory(prefix="wirebench-tls-")
        self._authority = self._write("ca.crt", issued.authority)
        self._server = (
            self._write("server.crt", issued.server.certificate),
            self._write("server.key", issued.server.key),
        )
        self._client = (
            self._write("client.crt", issued.client.certificate),
            self._write("client.key", issued.client.key),
        )

    def server_flags(self, tls: Tls) -> dict[str, Path]:
        """Return the flags of a service that speaks TLS."""
        certificate, key = self._server
        flags = {"--tls-cert": certificate, "--tls-key": key}
        return {**flags, "--tls-client-ca": self._authority} if tls == "mutual" else flags

    def client(self, tls: Tls) -> ClientTls:
        """Return what clients of such a service need."""
        return ClientTls(self._authority, *self._client) if tls == "mutual" else ClientTls(self._authority)

    def remove(self) -> None:
        """Remove the files; can be repeated."""
        self._folder.cleanup()

    def _write(self, name: str, content: bytes) -> Path:
        path = Path(self._folder.name) / name
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
        return path


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
