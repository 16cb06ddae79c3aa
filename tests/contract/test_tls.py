"""Services with TLS: the same as without, to clients that speak it, and firm with those that don't."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import re
import socket
import ssl
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from wirebench_proto.echo_pb2 import EchoRequest
from wirebench_proto.echo_pb2_grpc import EchoServiceStub

from tests.support import certificates
from tests.support.certificates import Certificate
from tests.support.services import (
    DEFAULT_KINDS,
    GO_KINDS,
    GTHREAD,
    HOST,
    NET_HTTP,
    RUNTIME_KINDS,
    SOCKET_KINDS,
    Kind,
    Service,
    locked,
    mark_slow,
    receive_all,
    run_to_the_end,
    started,
)
from tests.support.tls_clients import REPLY, SEEDED_ID, connected, frame, secured
from tests.support.waiting import TIMEOUT_S, wait_until
from wirebench.drivers.clients import ClientError, connect
from wirebench.system.tls import ClientTls

#: The beginning of a handshake: a record of 200 bytes, a ClientHello, of which no more comes.
HALF_A_HELLO = bytes.fromhex("160301 00c8 010000c4 0303".replace(" ", "")) + bytes(20)
GET = f"GET /api/users/{SEEDED_ID} HTTP/1.1\r\nHost: test\r\n\r\n".encode()

every_runtime = pytest.mark.parametrize("kind", mark_slow(RUNTIME_KINDS, *DEFAULT_KINDS, NET_HTTP), ids=str)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """Return a certificate for the services of this module."""
    return certificates.make(tmp_path_factory.mktemp("certificates"), "service")


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """Return a certificate that no service has."""
    return certificates.make(tmp_path_factory.mktemp("certificates"), "stranger")


@pytest.fixture(scope="module", params=mark_slow(RUNTIME_KINDS, *DEFAULT_KINDS, NET_HTTP), ids=str)
def secure(request: pytest.FixtureRequest, certificate: Certificate, logs: Path) -> Iterator[Service]:
    """Return a running service with TLS."""
    with started(request.param, logs, *certificate.flags) as running:
        yield running


def test_real_clients_are_served(secure: Service, certificate: Certificate) -> None:
    """Each transport's usual client gets its replies, more than one on a connection, and the admin port stays plain."""
    with connected(secure, certificate) as calls:
        assert [SEEDED_ID] * 3 == [calls.get() for _ in range(3)]

    assert (200, "ok\n") == secure.admin("/readyz")
    assert ", TLS); admin on" in secure.logged()


@pytest.mark.slow
@pytest.mark.parametrize("key", [certificates.EC, certificates.RSA], ids=["ec", "rsa"])
@every_runtime
def test_kinds_of_keys(kind: Kind, key: tuple[str, ...], tmp_path: Path) -> None:
    """The keys that authorities sign are all served, by several workers too."""
    certificate = certificates.make(tmp_path, "service", key)
    with started(kind, tmp_path, *certificate.flags, *kind.doubled) as service:
        for _ in range(3):
            with connected(service, certificate) as calls:
                assert SEEDED_ID == calls.get()


def test_versions(secure: Service, certificate: Certificate) -> None:
    """Clients get TLS 1.3, those without it TLS 1.2, and older ones nothing."""
    protocols = ("h2",) if secure.kind.transport == "grpc" else ()
    with secured(secure.address, certificate.trust(*protocols)) as newest:
        assert "TLSv1.3" == newest.version()

    context = certificate.trust(*protocols)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with secured(secure.address, context) as older:
        assert "TLSv1.2" == older.version()

    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises(OSError, match=r"(?i)version|handshake failure|reset|EOF"):
        secured(secure.address, context)


def test_a_wrong_authority_is_rejected(secure: Service, certificate: Certificate, stranger: Certificate) -> None:
    """A client that trusts another authority gets no reply, and the next client gets one."""
    with (
        pytest.raises((OSError, grpc.RpcError), match=r"(?i)certificate.verify|handshake"),
        connected(secure, stranger) as calls,
    ):
        calls.get()

    with connected(secure, certificate) as calls:
        assert SEEDED_ID == calls.get()


@pytest.mark.parametrize("kind", DEFAULT_KINDS, ids=str)  # it is our client that says so
def test_a_certificate_that_has_expired_is_named(kind: Kind, tmp_path: Path) -> None:
    """Our client says so, and what to do."""
    theirs = certificates.expired(tmp_path, "service")
    with started(kind, tmp_path, *theirs.flags) as service:
        expected = f"{service.address}: its certificate is not to be trusted: certificate has expired"
        with pytest.raises(ClientError, match=re.escape(expected)) as caught:
            connect(kind.transport, str(service.address), tls=ClientTls(theirs.cert))
        assert "renew it, or set this machine's clock" == caught.value.hint


@pytest.mark.parametrize("sent", [GET, b"WB1J\x00\x00\x00\x01", b"hello\n", b"\x00" * 100, b""])
def test_plain_text_is_rejected(secure: Service, certificate: Certificate, sent: bytes) -> None:
    """A client that doesn't speak TLS gets no reply of the application, and the next client is served."""
    with socket.create_connection(secure.address, TIMEOUT_S) as connection:
        connection.sendall(sent)
        if not sent:
            connection.shutdown(socket.SHUT_WR)
        received = receive_all(connection)

    # Nothing, an alert of TLS, or net/http's own answer to HTTP without TLS.
    assert b"" == received or received.startswith((b"\x15\x03", b"HTTP/1.0 400 "))
    with connected(secure, certificate) as calls:
        assert SEEDED_ID == calls.get()


@pytest.mark.slow
@pytest.mark.parametrize("kind", mark_slow(RUNTIME_KINDS, *DEFAULT_KINDS), ids=str)
def test_requests_in_flight_are_finished(kind: Kind, certificate: Certificate, tmp_path: Path) -> None:
    """A request that has begun when the service is told to stop still gets its reply, as without TLS."""
    database = tmp_path / "users.sqlite"
    with (
        started(
            kind._replace(store=f"sqlite:{database}"), tmp_path, *certificate.flags, "--store-timeout-s", 30
        ) as service,
        connected(service, certificate) as calls,
        ThreadPoolExecutor(1) as pool,
    ):
        with locked(database):
            created = pool.submit(calls.create, 1)
            time.sleep(2)  # nothing shows that the request has arrived
            service.process.terminate()
            wait_until(lambda: "stopping" in service.logged(), "the service begins to stop")
            time.sleep(0.3)  # what does not wait for the request would be gone by now
            assert not created.done()

        assert 1 == created.result(TIMEOUT_S)
        assert 0 == service.process.wait(TIMEOUT_S)


def careful(service: Service, certificate: Certificate) -> ssl.SSLSocket:
    """Return a connection that takes a mere end of TCP for the error that it is."""
    opened = socket.create_connection(service.address, TIMEOUT_S)
    return certificate.trust().wrap_socket(opened, server_hostname=HOST, suppress_ragged_eofs=False)


def test_long_requests_and_replies(secure: Service, certificate: Certificate) -> None:
    """What takes many records comes back whole."""
    payload = bytes(range(256)) * 4 * 1024  # 1 MiB
    encoded = base64.b64encode(payload).decode()
    if secure.kind.transport == "grpc":
        trust = grpc.ssl_channel_credentials(certificate.cert.read_bytes())
        with grpc.secure_channel(str(secure.address), trust, [("grpc.enable_http_proxy", 0)]) as channel:
            stub: Any = EchoServiceStub(channel)
            assert payload == stub.Echo(EchoRequest(payload=payload), timeout=TIMEOUT_S).data.payload
    elif secure.kind.transport == "rest":
        connection = http.client.HTTPSConnection(*secure.address, timeout=TIMEOUT_S, context=certificate.trust())
        with contextlib.closing(connection):
            body = json.dumps({"payload": encoded})
            connection.request("POST", "/echo", body, {"Content-Type": "application/json"})
            assert encoded == json.loads(connection.getresponse().read())["data"]["payload"]
    else:
        with careful(secure, certificate) as opened, opened.makefile("rb") as replies:
            opened.sendall(b"WB1J" + frame(b"echo.echo", {"payload": encoded}))
            length, _, _, _, message_length = REPLY.unpack(replies.read(REPLY.size))
            assert encoded == json.loads(replies.read(length - REPLY.size + 4)[message_length:])["payload"]


def say_at_once(service: Service, certificate: Certificate, text: bytes) -> bytes:
    """Send text and close_notify together, and return the reply; a socket of TLS would wait or read in between."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    session = certificate.trust().wrap_bio(incoming, outgoing, server_hostname=HOST)
    with socket.create_connection(service.address, TIMEOUT_S) as connection:
        while session.version() is None or outgoing.pending:
            with contextlib.suppress(ssl.SSLWantReadError):
                session.do_handshake()
            connection.sendall(outgoing.read())
            if session.version() is None:
                incoming.write(connection.recv(65_536))
        session.write(text)
        with contextlib.suppress(ssl.SSLWantReadError):
            session.unwrap()
        connection.sendall(outgoing.read())
        incoming.write(receive_all(connection))
    reply = bytearray()
    with contextlib.suppress(ssl.SSLZeroReturnError):  # close_notify, without which there would be more to come
        while True:
            reply += session.read(65_536)
    return bytes(reply)


@pytest.mark.parametrize("secure", SOCKET_KINDS, ids=str, indirect=True)
def test_line_mode(secure: Service, certificate: Certificate) -> None:
    """A line needs no preface, and the last one no end, if the client says with close_notify that it is the last."""
    with careful(secure, certificate) as connection:
        for line in (b"one\n", b"WB2\n"):
            connection.sendall(line)
            assert line.upper() == connection.recv(100)

    assert b"HELLO\nLAST\n" == say_at_once(secure, certificate, b"hello\nlast")


@pytest.mark.parametrize("secure", SOCKET_KINDS, ids=str, indirect=True)
def test_the_preface_in_any_pieces(secure: Service, certificate: Certificate) -> None:
    """Records aren't frames: where one ends means nothing."""
    asked = b"WB1J" + frame(b"users.get", {"id": SEEDED_ID})
    with careful(secure, certificate) as connection, connection.makefile("rb") as replies:
        for byte in asked:
            connection.sendall(bytes([byte]))
        assert 0 == REPLY.unpack(replies.read(REPLY.size))[2]


@pytest.mark.parametrize("kind", mark_slow([*DEFAULT_KINDS, *GO_KINDS], GTHREAD, NET_HTTP), ids=str)
def test_what_can_not_be_served_is_rejected(
    kind: Kind, certificate: Certificate, stranger: Certificate, tmp_path: Path
) -> None:
    """Status 2, and a last line that names the option or the file."""
    encrypted, empty, missing = tmp_path / "encrypted.key", tmp_path / "empty", tmp_path / "missing"
    certificates.openssl("pkey", "-in", certificate.key, "-aes256", "-passout", "pass:secret", "-out", encrypted)
    empty.touch()
    cases = {
        ("--tls-cert", certificate.cert): "--tls-key",
        ("--tls-key", certificate.key): "--tls-cert",
        ("--tls-cert", missing, "--tls-key", certificate.key): str(missing),
        ("--tls-cert", certificate.cert, "--tls-key", tmp_path): str(tmp_path),
        ("--tls-cert", empty, "--tls-key", certificate.key): str(empty),
        ("--tls-cert", certificate.cert, "--tls-key", empty): str(empty),
        ("--tls-cert", certificate.cert, "--tls-key", stranger.key): str(stranger.key),
        ("--tls-cert", certificate.cert, "--tls-key", encrypted): "encrypted",
    }
    with ThreadPoolExecutor(2) as pool:
        ends = list(pool.map(lambda flags: run_to_the_end(tmp_path, kind, "--port", 0, *flags), cases))

    for expected, (status, lines) in zip(cases.values(), ends, strict=True):
        assert 2 == status
        assert expected in lines[-1]
