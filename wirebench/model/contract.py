"""What can be chosen: transports, their runtimes, drivers and codecs. What is sent stands in the application file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Transport = Literal["rest", "grpc", "socket"]
#: What the services are written in.
Implementation = Literal["python", "go"]
Driver = Literal["wireload", "k6", "ghz", "oha", "locust"]
Codec = Literal["json", "protobuf"]
Connection = Literal["keep", "reopen"]
LoadModel = Literal["closed", "sweep", "calls", "open", "replay", "capacity"]
#: The models whose rate isn't one that the cell names, which makes their figures mean something else.
Shape = Literal["replay", "capacity"]
#: `server`: clients check the service's certificate.
Tls = Literal["none", "server"]
Store = Literal["memory", "postgres"]
#: Where the load comes from, seen from a pod of the service; and how connections reach the replicas.
Placement = Literal["same-pod", "same-node", "cross-node"]
Balancing = Literal["service", "headless", "pod"]
TargetName = Literal["local", "external", "kubernetes"]

#: Codes of outcomes that failed, by HTTP status; wireload has the same table.
HTTP_CODES = {
    400: "invalid_argument",
    404: "not_found",
    405: "unimplemented",
    409: "already_exists",
    413: "resource_exhausted",
    415: "invalid_argument",
    500: "internal",
    503: "unavailable",
}
BLOCKS_MAX = 1000
#: Each block adds its number to the seed.
SEED_MAX = 2**31 - 1 - BLOCKS_MAX
#: How many items a stream has by default, and at most.
STREAM_ITEMS = 1000
STREAM_ITEMS_MAX = 100_000
STREAM_RATE_LIMIT_MAX = 1_000_000


@dataclass(frozen=True, slots=True)
class TransportFacts:
    """What can be chosen for a transport; the first of each is the default."""

    runtimes: Mapping[Implementation, tuple[str, ...]]
    drivers: tuple[Driver, ...]
    codecs: tuple[Codec, ...]


TRANSPORTS: dict[Transport, TransportFacts] = {
    "rest": TransportFacts(
        {"python": ("gunicorn-gthread", "uvicorn"), "go": ("net-http",)},
        ("wireload", "k6", "oha", "locust"),
        ("json", "protobuf"),
    ),
    "grpc": TransportFacts(
        {"python": ("sync", "aio"), "go": ("grpc-go",)},
        ("wireload", "ghz"),
        ("protobuf",),
    ),
    "socket": TransportFacts(
        {"python": ("asyncio", "threaded"), "go": ("goroutines",)}, ("wireload",), ("json", "protobuf")
    ),
}


#: Runtimes whose threads are a factor: those of a pool, or in Go those that run at once (GOMAXPROCS).
THREADED_RUNTIMES = ("gunicorn-gthread", "sync", "net-http", "grpc-go", "goroutines")
#: Drivers that send requests at their times, and measure from then on.
OPEN_LOAD_DRIVERS: tuple[Driver, ...] = ("wireload", "k6")
#: Drivers that can open a connection for each request.
REOPENING_DRIVERS: tuple[Driver, ...] = ("wireload", "k6", "oha")
#: Drivers in the image of a cluster's load pods.
CLUSTER_DRIVERS: tuple[Driver, ...] = ("wireload", "k6", "ghz")
