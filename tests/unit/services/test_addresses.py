"""Where services listen, and how that is printed."""

from __future__ import annotations

import contextlib
import socket

import pytest

from services.platform import addresses


def has(host: str) -> bool:
    """Return whether this machine has the address."""
    try:
        addresses.bind(host, 0, shared=False).close()
    except OSError:
        return False
    return True


needs_ipv6 = pytest.mark.skipif(not has("::1"), reason="there is no IPv6")


@pytest.mark.parametrize(
    ("host", "expected"), [("127.0.0.1", "127.0.0.1:80"), ("localhost", "localhost:80"), ("::1", "[::1]:80")]
)
def test_text(host: str, expected: str) -> None:
    """IPv6 addresses are in brackets, so that they can be told from the port."""
    assert expected == addresses.text(host, 80)


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", pytest.param("::1", marks=needs_ipv6)])  # noqa: S104
def test_bind(host: str) -> None:
    """A socket is bound to the address, at a port that is free."""
    with addresses.bind(host, 0, shared=False) as bound:
        bound_host, port = addresses.numeric(bound)

    assert host == bound_host
    assert port > 0


@needs_ipv6
def test_the_ipv6_wildcard_takes_ipv4_too() -> None:
    """`::` is every address of the machine, whatever the system's default."""
    with addresses.bind("::", 0, shared=True) as bound:
        bound.listen()
        port = bound.getsockname()[1]
        for host in ("127.0.0.1", "::1"):
            socket.create_connection((host, port), timeout=10).close()


def test_little_waits_in_the_kernel() -> None:
    """A client that doesn't read is noticed before megabytes are on their way to it."""
    sent_bytes = 0
    with addresses.bind("127.0.0.1", 0, shared=False) as listener, socket.socket() as client:
        listener.listen()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)
        client.connect(addresses.numeric(listener))
        accepted, _ = listener.accept()
        with accepted, contextlib.suppress(BlockingIOError):
            accepted.settimeout(0.0)
            while sent_bytes < 16_000_000:
                sent_bytes += accepted.send(bytes(100_000))

    assert 0 < sent_bytes < 500_000


def test_sharing_is_by_consent() -> None:
    """A port that is shared can be bound once more by who shares it, and by nobody else."""
    with addresses.bind("127.0.0.1", 0, shared=True) as first:
        _, port = addresses.numeric(first)
        addresses.bind("127.0.0.1", port, shared=True).close()
        first.listen()
        with pytest.raises(OSError, match="in use"):
            addresses.bind("127.0.0.1", port, shared=False)
