"""The certificates of a run: good for their services and clients, and kept from all other users."""

from __future__ import annotations

import contextlib
import socket
import ssl
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.waiting import TIMEOUT_S
from wirebench.system.paths import ROOT
from wirebench.targets.certificates import CertificateFolder
from wirebench.targets.kubernetes import values
from wirebench.targets.kubernetes.endpoints import find_pod_name
from wirebench.targets.kubernetes.secrets import list_server_names


@pytest.fixture
def certificates() -> Iterator[CertificateFolder]:
    """Return certificates, which go with the test."""
    made = CertificateFolder(["127.0.0.1", "localhost", *list_server_names("wirebench-run")])
    yield made
    made.remove()


def shake_hands(certificates: CertificateFolder, host: str, *, mutual: bool = True) -> str | None:
    """Return the version that both ends agree on, as a service and its client are told to connect. Raises OSError."""
    flags, client = (
        certificates.list_server_flags("mutual"),
        certificates.make_client_tls("mutual" if mutual else "server"),
    )
    inner = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    inner.load_cert_chain(flags["--tls-cert"], flags["--tls-key"])
    inner.load_verify_locations(flags["--tls-client-ca"])
    inner.verify_mode = ssl.CERT_REQUIRED
    outer = ssl.create_default_context(cafile=client.authority)
    outer.verify_flags |= ssl.VERIFY_X509_STRICT  # the default of later Pythons
    if client.certificate:
        outer.load_cert_chain(client.certificate, client.key)
    ours, theirs = socket.socketpair()
    for each in (ours, theirs):
        each.settimeout(TIMEOUT_S)

    def serve() -> None:
        with contextlib.suppress(OSError), inner.wrap_socket(ours, server_side=True) as server:
            server.sendall(b"x")

    serving = threading.Thread(target=serve)
    serving.start()
    try:
        with outer.wrap_socket(theirs, server_hostname=host) as connection:
            connection.recv(1)
            return connection.version()
    finally:
        theirs.close()
        serving.join(TIMEOUT_S)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "wirebench-grpc", "wirebench-rest-headless"])
def test_both_sides_accept_each_other(certificates: CertificateFolder, host: str) -> None:
    """By every name that a load goes to, with the strict rules for certificates."""
    assert "TLSv1.3" == shake_hands(certificates, host)


def test_pods_are_named_without_being_known(certificates: CertificateFolder) -> None:
    """One certificate is for all pods of the run's namespace, by the names that they have in DNS, and for no others."""
    assert "10-244-1-7.wirebench-run.pod" == find_pod_name("10.244.1.7", "wirebench-run")
    assert "TLSv1.3" == shake_hands(certificates, find_pod_name("10.244.1.7", "wirebench-run"))
    with pytest.raises(ssl.SSLCertVerificationError, match="not valid for"):
        shake_hands(certificates, find_pod_name("10.244.1.7", "another"))


def test_others_are_rejected(certificates: CertificateFolder) -> None:
    """A wrong host, and a client without a certificate."""
    with pytest.raises(ssl.SSLCertVerificationError, match=r"not valid for 'example\.com'"):
        shake_hands(certificates, "example.com")
    with pytest.raises(OSError, match=r"(?i)alert|EOF|reset"):
        shake_hands(certificates, "localhost", mutual=False)


def test_files_are_private_and_go(certificates: CertificateFolder) -> None:
    """Only this user may look into the folder and read its files, and nothing is left."""
    folder = certificates.list_server_flags("server")["--tls-key"].parent
    assert 0o700 == stat.S_IMODE(folder.stat().st_mode)
    assert {0o600} == {stat.S_IMODE(each.stat().st_mode) for each in folder.iterdir()}

    certificates.remove()
    certificates.remove()

    assert not folder.exists()


def test_a_client_shows_a_certificate_only_where_tls_is_mutual(certificates: CertificateFolder) -> None:
    """What services aren't asked to check isn't sent, and they aren't told whom to trust."""
    assert certificates.make_client_tls("server").certificate is None
    assert "--tls-client-ca" not in certificates.list_server_flags("server")
    assert isinstance(certificates.make_client_tls("mutual").key, Path)


def test_the_client_secret_is_mounted_where_load_pods_look() -> None:
    """The path stands in the chart, too."""
    template = ROOT / "charts/wirebench/templates/_load.tpl"
    assert f"mountPath: {values.CLIENT_TLS_FOLDER}\n" in template.read_text(encoding="utf-8")
