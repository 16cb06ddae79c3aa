"""Certificates for the services of a run, valid for a week.

The key of their authority is discarded when `issue` returns.
"""

from __future__ import annotations

import datetime as dt
import secrets
import tempfile
from collections.abc import Sequence
from pathlib import Path

from trustme import CA, KeyType

from wirebench.system.files import name_temporary
from wirebench.system.tls import ClientTls

#: Longer than any run should take; and how far clocks of a cluster's nodes may be apart.
_VALIDITY = dt.timedelta(days=7)
_CLOCKS_APART = dt.timedelta(minutes=5)


def issue(server_names: Sequence[str]) -> dict[str, bytes]:
    """Return a certificate for a server of these DNS names and IP addresses, and its authority, as PEM files by name.

    All keys are EC on P-256: what Go, OpenSSL and gRPC's BoringSSL all have, and are quick with.
    """
    # A name of its own: clients tell it from the authorities of other runs by that.
    authority = CA(organization_name="wirebench", organization_unit_name=secrets.token_hex(8), key_type=KeyType.ECDSA)
    now = dt.datetime.now(dt.UTC)
    leaf = authority.issue_cert(
        *server_names,
        common_name="wirebench service",
        not_before=now - _CLOCKS_APART,
        not_after=now + _VALIDITY,
        key_type=KeyType.ECDSA,
    )
    return {
        "ca.crt": authority.cert_pem.bytes(),
        "tls.crt": leaf.cert_chain_pems[0].bytes(),
        "tls.key": leaf.private_key_pem.bytes(),
    }


class CertificateFolder:
    """Certificates as files in a folder that only this user may enter, until they are removed."""

    def __init__(self, server_names: Sequence[str]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix=name_temporary())
        path = Path(self._folder.name)
        for name, content in issue(server_names).items():
            (path / name).write_bytes(content)
        self.server_flags = {"--tls-cert": path / "tls.crt", "--tls-key": path / "tls.key"}
        self.client_tls = ClientTls(path / "ca.crt")

    def remove(self) -> None:
        self._folder.cleanup()
