"""Services with TLS: the same as without, to clients that speak it, and firm with those that don't."""

from __future__ import annotations

import datetime as dt
import re
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from wirebench_services.client import CLIENTS, Client, ClientError

from tests.support import certificates
from tests.support.certificates import Certificate
from tests.support.services import (
    DEFAULT_KINDS,
    GTHREAD,
    NET_HTTP,
    RUNTIME_KINDS,
    Kind,
    Service,
    receive_all,
    run_to_the_end,
    started,
)
from tests.support.waiting import TIMEOUT_S

GET = b"GET /api/users/1000001 HTTP/1.1\r\nHost: test\r\n\r\n"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """Return a certificate for the services of this module."""
    return certificates.make(tmp_path_factory.mktemp("certificates"), "service")


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """Return a certificate that no service has."""
    return certificates.make(tmp_path_factory.mktemp("certificates"), "stranger")


@pytest.fixture(scope="module", params=RUNTIME_KINDS, ids=str)
def secure(request: pytest.FixtureRequest, certificate: Certificate, logs: Path) -> Iterator[Service]:
    """Return a running service with TLS."""
    with started(request.param, logs, *certificate.flags) as running:
        yield running


def connect_trusting(service: Service, certificate: Certificate) -> Client:
    """Return a client that trusts a certificate only."""
    return CLIENTS[service.kind.transport](service.address, TIMEOUT_S, tls=certificate.trust())


def test_clients_are_served(secure: Service, certificate: Certificate) -> None:
    """More than one request on a connection, and what takes many records; the admin port stays plain."""
    payload = bytes(range(256)) * 4 * 1024  # 1 MiB
    with connect_trusting(secure, certificate) as client:
        assert all(client.call("users.get", {"id": 1_000_001}).ok for _ in range(3))
        assert {"payload": payload} == client.call("echo.echo", {"payload": payload}).data

    assert (200, "ok\n") == secure.admin("/readyz")
    assert ", TLS); admin on" in secure.logged()


def test_a_wrong_authority_is_rejected(secure: Service, certificate: Certificate, stranger: Certificate) -> None:
    """A client that trusts another authority gets no reply, and the next client gets one."""
    with pytest.raises(ClientError, match="is not trusted"), connect_trusting(secure, stranger) as client:
        client.call("users.get", {"id": 1_000_001})

    assert is_served(secure, certificate)


@pytest.mark.parametrize("kind", DEFAULT_KINDS, ids=str)  # it is our client that says so
def test_certificates_that_have_expired_are_named(kind: Kind, tmp_path: Path) -> None:
    """Our client says that the service's has."""
    expired = certificates.make(tmp_path, "service", dt.datetime.now(dt.UTC) - dt.timedelta(hours=1))
    with started(kind, tmp_path, *expired.flags) as service:
        expected = f"{service.address}: its certificate is not trusted: certificate has expired"
        with connect_trusting(service, expired) as client, pytest.raises(ClientError, match=re.escape(expected)):
            client.call("users.get", {"id": 1_000_001})


@pytest.mark.parametrize("sent", [GET, b"\x00" * 100, b""])
def test_plain_text_is_rejected(secure: Service, certificate: Certificate, sent: bytes) -> None:
    """A client that doesn't speak TLS gets no reply of the application, and the next client is served."""
    with socket.create_connection(secure.address, TIMEOUT_S) as connection:
        connection.sendall(sent)
        if not sent:
            connection.shutdown(socket.SHUT_WR)
        received = receive_all(connection)

    # Nothing, an alert of TLS, or net/http's own answer to HTTP without TLS.
    assert b"" == received or received.startswith((b"\x15\x03", b"HTTP/1.0 400 "))
    assert is_served(secure, certificate)


def is_served(service: Service, certificate: Certificate) -> bool:
    """Return whether a new client gets its answer."""
    with connect_trusting(service, certificate) as client:
        return client.call("users.get", {"id": 1_000_001}).ok


@pytest.mark.parametrize("kind", [GTHREAD, NET_HTTP], ids=str)  # all transports of a language read them alike
def test_what_can_not_be_served_is_rejected(
    kind: Kind, certificate: Certificate, stranger: Certificate, tmp_path: Path
) -> None:
    """Status 2, and a last line that names the option or the file."""
    encrypted, missing = tmp_path / "encrypted.key", tmp_path / "missing"
    key = serialization.load_pem_private_key(certificate.key.read_bytes(), None)
    encryption = serialization.BestAvailableEncryption(b"secret")
    encrypted.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption))
    cases = {
        ("--tls-cert", certificate.cert): "--tls-key",
        ("--tls-cert", missing, "--tls-key", certificate.key): str(missing),
        ("--tls-cert", certificate.cert, "--tls-key", stranger.key): str(stranger.key),
        ("--tls-cert", certificate.cert, "--tls-key", encrypted): "encrypted",
    }
    with ThreadPoolExecutor(2) as pool:
        ends = list(pool.map(lambda flags: run_to_the_end(tmp_path, kind, "--port", 0, *flags), cases))

    for expected, (status, lines) in zip(cases.values(), ends, strict=True):
        assert 2 == status
        assert expected in lines[-1]
