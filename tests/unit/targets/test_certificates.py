"""The certificates of a run: good for their services, and kept from all other users."""

from __future__ import annotations

import contextlib
import socket
import ssl
import stat
import threading
from collections.abc import Iterator

import pytest

from tests.support.waiting import TIMEOUT_S
from wirebench.targets.certificates import CertificateFolder
from wirebench.targets.cluster.pods import Pod
from wirebench.targets.cluster.release import list_server_names


@pytest.fixture
def certificates() -> Iterator[CertificateFolder]:
    """Return certificates, which go with the test."""
    made = CertificateFolder(["127.0.0.1", "localhost", *list_server_names("wirebench-run")])
    yield made
    made.remove()


def shake_hands(certificates: CertificateFolder, host: str) -> str | None:
    """Return the version that both ends agree on, as a service and its client are told to connect. Raises OSError."""
    flags = certificates.server_flags
    inner = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    inner.load_cert_chain(flags["--tls-cert"], flags["--tls-key"])
    outer = ssl.create_default_context(cafile=certificates.client_tls.authority)
    outer.verify_flags |= ssl.VERIFY_X509_STRICT  # the default of later Pythons
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
def test_clients_accept_the_service(certificates: CertificateFolder, host: str) -> None:
    """By every name that a load goes to, with the strict rules for certificates."""
    assert "TLSv1.3" == shake_hands(certificates, host)


def test_pods_are_named_without_being_known(certificates: CertificateFolder) -> None:
    """One certificate is for all pods of the run's namespace, by the names that they have in DNS, and for no others."""
    pod = Pod.read({"metadata": {"name": "rest-1"}, "spec": {}, "status": {"podIP": "10.244.1.7"}})
    assert "10-244-1-7.wirebench-run.pod" == pod.find_host("wirebench-run")
    assert "TLSv1.3" == shake_hands(certificates, pod.find_host("wirebench-run"))
    with pytest.raises(ssl.SSLCertVerificationError, match="not valid for"):
        shake_hands(certificates, pod.find_host("another"))


def test_files_are_private_and_go(certificates: CertificateFolder) -> None:
    """Only this user may enter the folder, and nothing is left."""
    folder = certificates.server_flags["--tls-key"].parent
    assert 0o700 == stat.S_IMODE(folder.stat().st_mode)

    certificates.remove()
    certificates.remove()

    assert not folder.exists()
