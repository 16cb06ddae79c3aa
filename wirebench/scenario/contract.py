"""What the contract offers: transports, their runtimes, drivers and codecs, and the operations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Transport = Literal["rest", "grpc", "socket"]
Driver = Literal["k6", "ghz"]
Codec = Literal["json", "protobuf"]
Connection = Literal["keep", "reopen"]
Operation = Literal["users.get", "users.create", "echo.upper"]
Store = Literal["memory", "sqlite"]

WRITING_OPERATIONS = frozenset({"users.create"})


@dataclass(frozen=True, slots=True)
class TransportFacts:
    """What can be chosen for a transport; the first of each is the default."""

    runtimes: tuple[str, ...]
    drivers: tuple[Driver, ...]
    codecs: tuple[Codec, ...]


TRANSPORTS: dict[Transport, TransportFacts] = {
    "rest": TransportFacts(("gunicorn-gthread", "gunicorn-sync", "uvicorn"), ("k6",), ("json",)),
    "grpc": TransportFacts(("sync", "aio"), ("k6", "ghz"), ("protobuf",)),
    "socket": TransportFacts(("asyncio", "threaded"), ("k6",), ("json", "protobuf")),
}

#: Runtimes that serve requests from a pool of threads, whose size is a factor.
THREADED_RUNTIMES = frozenset({"gunicorn-gthread", "sync"})
