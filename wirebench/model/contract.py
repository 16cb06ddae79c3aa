"""What can be chosen: transports, their runtimes, drivers and codecs. What is sent stands in the application file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

Transport = Literal["rest", "grpc", "socket"]
#: What the services are written in.
Implementation = Literal["python", "go"]
Driver = Literal["wireload", "k6", "ghz", "fortio", "oha", "locust", "grpcio"]
Codec = Literal["json", "protobuf"]
Connection = Literal["keep", "reopen"]
LoadModel = Literal["closed", "sweep", "calls", "open", "ramp", "replay", "capacity"]
#: The models whose rate isn't one that the cell names, which makes their figures mean something else.
Shape = Literal["ramp", "replay", "capacity"]
#: `server`: clients check the service's certificate; `mutual`: and the service theirs.
Tls = Literal["none", "server", "mutual"]
Store = Literal["memory", "sqlite", "postgres"]
#: Where the load comes from, seen from a pod of the service; and how connections reach the replicas.
Placement = Literal["same-pod", "same-node", "cross-node"]
Balancing = Literal["service", "headless", "pod"]
#: Which zones a Service sends a connection to: `spec.trafficDistribution`, left out or PreferClose.
TrafficDistribution = Literal["any", "prefer-close"]
#: What happens to the replicas in the middle of the window.
Disruption = Literal["none", "rolling-restart", "kill-pod"]
TargetName = Literal["local", "external", "kubernetes"]
#: The factors whose levels can be compared with each other.
Comparable = Literal[
    "transport", "runtime", "implementation", "variant", "driver", "workers", "threads", "store", "store_connections",
    "codec", "connection", "connections", "tls", "payload", "concurrency", "replicas", "replicas_max", "placement",
    "balancing", "traffic_distribution", "disruption", "cpu_limit_millicores", "memory_limit_mib", "delay_ms",
    "jitter_ms", "bandwidth_kib_s", "loss_percent",
]  # fmt: skip

COMPARABLE: tuple[Comparable, ...] = get_args(Comparable)

#: Parts that come with a factor's level: they don't have to be equal for two of its levels to be compared.
COMES_WITH: dict[str, tuple[str, ...]] = {
    "transport": ("variant", "runtime", "codec", "threads"),
    "variant": ("transport", "codec", "tls"),
    "implementation": ("runtime", "threads"),
    "runtime": ("implementation", "threads"),
}

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
        {"python": ("gunicorn-gthread", "gunicorn-sync", "uvicorn"), "go": ("net-http",)},
        ("wireload", "k6", "fortio", "oha", "locust"),
        ("json", "protobuf"),
    ),
    "grpc": TransportFacts(
        {"python": ("sync", "aio"), "go": ("grpc-go",)},
        ("wireload", "k6", "ghz", "fortio", "locust", "grpcio"),
        ("protobuf",),
    ),
    "socket": TransportFacts(
        {"python": ("asyncio", "threaded"), "go": ("goroutines",)}, ("wireload", "k6"), ("json", "protobuf")
    ),
}


#: What only a cluster can vary, and the levels there where a scenario doesn't name one: limits are always set.
CLUSTER_DEFAULTS: dict[str, str | int | None] = {
    "replicas": 1,
    # No autoscaler adds any.
    "replicas_max": None,
    "placement": "cross-node",
    "balancing": "service",
    # Replicas aren't spread over zones.
    "traffic_distribution": None,
    "disruption": "none",
    "cpu_limit_millicores": 500,
    "memory_limit_mib": 512,
}
#: Of these, what other targets don't have at all; of replicas they have one.
CLUSTER_ONLY = tuple(name for name in CLUSTER_DEFAULTS if name != "replicas")


def find_defaults(
    transport: Transport, implementation: Implementation | None = "python", target: TargetName = "local"
) -> dict[str, str | int | None]:
    """Return the level of each factor where a scenario doesn't name one; None is what the service or load chooses.

    An own variant has no implementation that is known here, and neither a runtime nor a store.
    """
    facts = TRANSPORTS[transport]
    return {
        "implementation": "python" if implementation else None,
        "runtime": facts.runtimes[implementation][0] if implementation else None,
        "driver": facts.drivers[0],
        "operation": "users.get",
        "payload": None,
        "stream_items": None,
        "stream_rate_limit_per_s": None,
        "concurrency": 1,
        "rate_per_s": None,
        "workers": 1,
        "threads": None,
        "store": "memory" if implementation else None,
        "store_connections": None,
        "codec": facts.codecs[0],
        "connection": "keep",
        "connections": None,
        "tls": "none",
        "delay_ms": None,
        "jitter_ms": None,
        "bandwidth_kib_s": None,
        "loss_percent": None,
        **(CLUSTER_DEFAULTS if target == "kubernetes" else {**dict.fromkeys(CLUSTER_ONLY), "replicas": 1}),
    }


#: Runtimes whose threads are a factor: those of a pool, or in Go those that run at once (GOMAXPROCS).
THREADED_RUNTIMES = frozenset({"gunicorn-gthread", "sync", "net-http", "grpc-go", "goroutines"})

#: Runtimes that close the connection after each reply, whatever the client asks for.
CLOSING_RUNTIMES = frozenset({"gunicorn-sync"})
