"""Certificates for the services and clients of a run, valid for a week.

The key of their authority is discarded when `issue` returns.
"""

from __future__ import annotations

import datetime as dt
import secrets
import tempfile
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from trustme import CA, KeyType

from wirebench.errors import UsageError
from wirebench.model.contract import Tls
from wirebench.system.tls import ClientTls

#: Longer than any run should take; and how far clocks of a cluster's nodes may be apart.
_VALIDITY = dt.timedelta(days=7)
_CLOCKS_APART = dt.timedelta(minutes=5)


def issue(server_names: Sequence[str]) -> dict[str, bytes]:
    """Return certificates for a server of these DNS names and IP addresses, and for its clients, as PEM files by name.

    All keys are EC on P-256: what Go, OpenSSL and gRPC's BoringSSL all have, and are quick with.
    """
    # A name of its own: clients tell it from the authorities of other runs by that.
    authority = CA(organization_name="wirebench", organization_unit_name=secrets.token_hex(8), key_type=KeyType.ECDSA)
    now = dt.datetime.now(dt.UTC)
    files = {"ca.crt": authority.cert_pem.bytes()}
    for side, common_name, names in (("server", "wirebench service", server_names), ("client", "wirebench client", ())):
        leaf = authority.issue_cert(
            *names,
            common_name=common_name,
            not_before=now - _CLOCKS_APART,
            not_after=now + _VALIDITY,
            key_type=KeyType.ECDSA,
        )
        files |= {f"{side}.crt": leaf.cert_chain_pems[0].bytes(), f"{side}.key": leaf.private_key_pem.bytes()}
    return files


def check_dates(path: Path) -> None:
    """Raise UsageError if the certificate in a PEM file isn't valid now: a service that rejects it need not say why."""
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
    """Certificates as files that only this user may read, until they are removed."""

    def __init__(self, server_names: Sequence[str]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="wirebench-tls-")
        self._path = Path(self._folder.name)
        for name, content in issue(server_names).items():
            (self._path / name).touch(0o600)
            (self._path / name).write_bytes(content)

    def list_server_flags(self, tls: Tls) -> dict[str, Path]:
        flags = {"--tls-cert": self._path / "server.crt", "--tls-key": self._path / "server.key"}
        return {**flags, "--tls-client-ca": self._path / "ca.crt"} if tls == "mutual" else flags

    def make_client_tls(self, tls: Tls) -> ClientTls:
        own = (self._path / "client.crt", self._path / "client.key") if tls == "mutual" else ()
        return ClientTls(self._path / "ca.crt", *own)

    def remove(self) -> None:
        self._folder.cleanup()
