"""TLS on a service's sockets, and the settings that ask for it."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.platform import tls
from services.platform.settings import parse
from services.platform.tls import Tls
from services.rest.main import DEFAULTS
from tests import certificates
from tests.certificates import Certificate

TIMEOUT_S = 10


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """Return a certificate of this machine."""
    return certificates.make(tmp_path_factory.mktemp("certificates"), "service")


@pytest.fixture
def loaded(certificate: Certificate) -> Tls:
    """Return what a service makes of the certificate."""
    made = tls.load(str(certificate.cert), str(certificate.key), ())
    assert made is not None
    return made


@contextlib.contextmanager
def conversation(loaded: Tls, certificate: Certificate) -> Iterator[tuple[ssl.SSLSocket, ssl.SSLSocket]]:
    """Yield both ends of a connection, the server's first, after the handshake."""
    ours, theirs = socket.socketpair()
    server = loaded.wrap(ours)
    shaking = threading.Thread(target=server.do_handshake)
    shaking.start()
    client = certificate.trust().wrap_socket(theirs, server_hostname="localhost", suppress_ragged_eofs=False)
    shaking.join(TIMEOUT_S)
    with server, client:
        client.settimeout(TIMEOUT_S)
        server.settimeout(TIMEOUT_S)
        yield server, client


def test_plain_text_is_the_default() -> None:
    """Without a certificate there is no TLS, and an empty variable names none."""
    assert parse(DEFAULTS, [], {}).tls is None
    assert parse(DEFAULTS, [], {"WIREBENCH_TLS_CERT": "", "WIREBENCH_TLS_KEY": ""}).tls is None


def test_the_environment_names_a_certificate(certificate: Certificate) -> None:
    """As a chart sets it; the key stays out of what is printed of the settings."""
    environment = {"WIREBENCH_TLS_CERT": str(certificate.cert), "WIREBENCH_TLS_KEY": str(certificate.key)}
    settings = parse(DEFAULTS, [], environment)

    assert settings.tls is not None
    assert (certificate.cert.read_bytes(), certificate.key.read_bytes()) == (settings.tls.chain, settings.tls.key)
    assert "PRIVATE" not in repr(settings)


def test_a_key_of_another_kind(certificate: Certificate, tmp_path: Path) -> None:
    """OpenSSL has words of its own for it, which don't name the key."""
    other = tmp_path / "rsa.key"
    certificates.openssl("genpkey", "-algorithm", "RSA", "-out", other)

    with pytest.raises(tls.CertificateError, match=f"^--tls-key: {other} isn't the key of the first certificate in"):
        tls.load(str(certificate.cert), str(other), ())


def test_a_certificate_that_clients_would_not_accept(tmp_path: Path) -> None:
    """OpenSSL's reason is said."""
    weak = certificates.make(tmp_path, "weak", ("rsa:1024",))

    with pytest.raises(tls.CertificateError, match=r"^--tls-cert and --tls-key: .* can't be used: EE_KEY_TOO_SMALL"):
        tls.load(str(weak.cert), str(weak.key), ())


@pytest.mark.parametrize("end", ["close", "shutdown"])
def test_an_end_is_said(loaded: Tls, certificate: Certificate, end: str) -> None:
    """The client reads the last word and then close_notify, and isn't waited for."""
    with conversation(loaded, certificate) as (server, client):
        server.sendall(b"last")
        if end == "close":
            server.close()
        else:
            server.shutdown(socket.SHUT_WR)
        assert [b"last", b""] == [client.recv(100), client.recv(100)]


def test_to_end_reading_does_not_end_tls(loaded: Tls, certificate: Certificate) -> None:
    """The standard library would send the reply in plain text from then on."""
    with conversation(loaded, certificate) as (server, client):
        client.sendall(b"request")
        server.shutdown(socket.SHUT_RD)
        assert [b"request", b""] == [server.recv(100), server.recv(100)]
        server.sendall(b"reply")
        assert b"reply" == client.recv(100)
