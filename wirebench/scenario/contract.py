"""What the contract offers: transports, their runtimes, drivers and codecs, and the operations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Transport = Literal["rest", "grpc", "socket"]
Driver = Literal["k6", "ghz"]
Codec = Literal["json", "protobuf"]
Connection = Literal["keep", "reopen"]
Operation = Literal["users.get", "users.create", "echo.upper"]
Store = Literal["memory", "sqlite"]
#: The factors whose levels can be compared with each other.
Comparable = Literal["transport", "runtime", "driver", "workers", "threads", "store", "codec", "connection"]

COMPARABLE: tuple[Comparable, ...] = get_args(Comparable)

#: Parts that come with a factor's level: they don't have to be equal for two of its levels to be compared.
COMES_WITH: dict[str, tuple[str, ...]] = {
    "transport": ("runtime", "codec", "threads"),
    "runtime": ("threads",),
}

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


def defaults(transport: Transport) -> dict[str, str | int | None]:
    """Return the level of each factor where a scenario doesn't name one; None is what the service or load chooses."""
    facts = TRANSPORTS[transport]
    return {
        "runtime": facts.runtimes[0],
        "driver": facts.drivers[0],
        "operation": "users.get",
        "concurrency": 1,
        "rate_per_s": None,
        "workers": 1,
        "threads": None,
        "store": "memory",
        "codec": facts.codecs[0],
        "connection": "keep",
    }


#: Runtimes that serve requests from a pool of threads, whose size is a factor.
THREADED_RUNTIMES = frozenset({"gunicorn-gthread", "sync"})

#: Runtimes that close the connection after each reply, whatever the client asks for.
CLOSING_RUNTIMES = frozenset({"gunicorn-sync"})
