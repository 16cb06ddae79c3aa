"""The factors: what a cell is a combination of, with the levels, the default and the words of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo

from wirebench.model import contract
from wirebench.model.variant import CONNECTIONS_MAX, RATE_MAX

Level = str | int | float | None

#: What a payload of base64 in JSON may come to under the services' limit of 4 MiB.
_PAYLOAD_BYTES_MAX = 3_000_000


def _check_payload(value: Any, info: ValidationInfo) -> Any:  # noqa: ANN401 - untrusted
    names = info.context.application.payloads if info.context else (value,)
    if value in names or (isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _PAYLOAD_BYTES_MAX):
        return value
    known = f"one of {', '.join(names)}, or " if names else ""
    raise ValueError(f"must be {known}a number of bytes or users up to {_PAYLOAD_BYTES_MAX:,}")


def _allow_none(levels: Any) -> Any:  # noqa: ANN401 - a type
    """Return the type of levels that may be `none` as well."""
    return Annotated[levels | None, BeforeValidator(lambda value: None if value == "none" else value)]


def _read_http_version(value: Any) -> Any:  # noqa: ANN401 - untrusted
    """Return None for HTTP/1.1, which records don't name."""
    if value in (1, 2) and not isinstance(value, bool | float):
        return None if value == 1 else value
    raise ValueError("must be 1 (HTTP/1.1) or 2 (HTTP/2)")


def _allow_numbers(least: float, most: float, kind: type = int) -> Any:  # noqa: ANN401 - a type
    return Annotated[kind, Field(ge=least, le=most)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """A dimension that a scenario may vary.

    Words are to follow a cell's transport, such as `2 workers`, or nouns, such as `a delay of 5 ms`.
    """

    #: The type of the levels that a scenario may name for each transport; None where it can't.
    levels: Any = None
    #: What a scenario has that doesn't name it; in a cluster, where that is another one.
    default: Level = None
    cluster_default: Level = None
    is_for_clusters: bool = False
    #: Whether its levels can be compared with each other, and what may differ then as it comes with a level.
    is_comparable: bool = True
    comes_with: tuple[str, ...] = ()
    #: Whether it stands in `factors.network`.
    is_of_network: bool = False
    #: What stands below a plot over its levels, where it isn't its name.
    label: str = ""
    #: What is counted, if it is a number of things.
    unit: str = ""
    saying: str = "with {}"
    noun: str = ""
    #: What it is as a noun where there is none.
    none: str = ""
    #: The words, and the noun if it is another, of levels that have their own.
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


#: All of them, in the order in which a plan varies them.
FACTORS: Mapping[str, Factor] = {
    "transport": Factor(comes_with=("variant", "runtime", "http", "codec", "threads")),
    "variant": Factor(comes_with=("transport", "http", "codec", "tls")),
    "shape": Factor(is_comparable=False),
    "implementation": Factor(
        levels=contract.Implementation,
        default="python",
        comes_with=("runtime", "threads"),
        words={"python": ("in Python", "Python"), "go": ("in Go", "Go")},
    ),
    "runtime": Factor(levels=str, comes_with=("implementation", "threads"), saying="on {}", noun="{}"),
    "driver": Factor(levels=contract.Driver, saying="by {}", noun="{}"),
    "operation": Factor(levels=str, default="users.get", is_comparable=False),
    "payload": Factor(levels=Annotated[str | int, BeforeValidator(_check_payload)]),
    "stream_items": Factor(
        levels=_allow_numbers(1, contract.STREAM_ITEMS_MAX), is_comparable=False, label="items of a stream"
    ),
    "stream_rate_limit_per_s": Factor(
        levels=_allow_none(_allow_numbers(1, contract.STREAM_RATE_LIMIT_MAX)),
        is_comparable=False,
        label="items/s asked for of a stream",
    ),
    "concurrency": Factor(levels=_allow_numbers(1, CONNECTIONS_MAX), default=1, label="connections", unit="connection"),
    "rate_per_s": Factor(levels=_allow_numbers(1, RATE_MAX), is_comparable=False, label="requests/s asked for"),
    "workers": Factor(levels=_allow_numbers(1, 64), default=1, unit="worker"),
    "threads": Factor(levels=_allow_numbers(1, 1024), unit="thread"),
    "store": Factor(levels=contract.Store, default="memory", noun="{}", words={"memory": ("in memory", "memory")}),
    "store_connections": Factor(levels=_allow_numbers(1, 1000), unit="store connection"),
    "http": Factor(
        levels=Annotated[Literal[2] | None, BeforeValidator(_read_http_version)],
        label="version of HTTP",
        none="HTTP/1.1",
        words={"2": ("over HTTP/2", "HTTP/2")},
    ),
    "codec": Factor(levels=contract.Codec, noun="{}"),
    "connection": Factor(
        levels=contract.Connection,
        default="keep",
        words={"keep": ("connections kept",), "reopen": ("connections reopened",)},
    ),
    "connections": Factor(
        levels=_allow_none(_allow_numbers(1, CONNECTIONS_MAX)),
        label="connections that users share",
        unit="connection",
        none="one connection a user",
    ),
    "tls": Factor(
        levels=contract.Tls,
        default="none",
        words={"none": ("plain text",), "server": ("TLS",)},
    ),
    "delay_ms": Factor(
        levels=_allow_none(_allow_numbers(0, 5_000)),
        is_of_network=True,
        label="delay of a round trip, ms",
        saying="{} ms away",
        noun="a delay of {} ms",
        none="no proxy",
    ),
    "loss_percent": Factor(
        levels=_allow_none(_allow_numbers(0, 50, float)),
        is_of_network=True,
        label="packets lost, %",
        saying="losing {} % of packets",
        noun="a loss of {} % of packets",
        none="no loss of packets",
    ),
    "replicas": Factor(
        levels=_allow_numbers(1, 100), default=1, cluster_default=1, is_for_clusters=True, unit="replica"
    ),
    "placement": Factor(
        levels=contract.Placement,
        cluster_default="cross-node",
        is_for_clusters=True,
        words={
            "same-pod": ("load from the same pod",),
            "same-node": ("load from the same node",),
            "cross-node": ("load from another node",),
        },
    ),
    "balancing": Factor(
        levels=contract.Balancing,
        cluster_default="service",
        is_for_clusters=True,
        words={
            "service": ("balanced by the Service", "balancing by the Service"),
            "headless": ("balanced by the client", "balancing by the client"),
            "pod": ("on one of the pods", "one pod alone"),
        },
    ),
    # A limit is always set in a cluster.
    "cpu_limit_millicores": Factor(
        levels=_allow_numbers(10, 256_000),
        cluster_default=500,
        is_for_clusters=True,
        label="CPU limit, millicores",
        saying="{}m CPU",
    ),
}

#: Those that are named after a cell's transport where they aren't the default. The load is named separately.
WITH_TRANSPORT = (
    "implementation", "runtime", "http", "codec", "threads", "workers", "store", "store_connections", "connection",
    "tls",
    "replicas", "cpu_limit_millicores", "placement", "balancing", "driver",
    "delay_ms", "loss_percent",
)  # fmt: skip
#: What cells are sorted by, one after the other.
SORTED_BY = (
    "operation", "payload", "stream_rate_limit_per_s", "stream_items",
    "rate_per_s", "concurrency", "connections", "replicas", "cpu_limit_millicores",
    "workers", "threads", "store", "store_connections", "connection",
    "loss_percent", "delay_ms",
    "transport", "variant", "tls", "placement", "balancing", "implementation",
    "runtime", "http", "codec", "driver",
)  # fmt: skip

COMPARABLE = tuple(name for name, factor in FACTORS.items() if factor.is_comparable)
if TYPE_CHECKING:
    Comparable = str
else:
    Comparable = Literal[COMPARABLE]
#: The levels in a cluster, where a scenario doesn't name one, of what only a cluster can vary.
CLUSTER_DEFAULTS = {name: factor.cluster_default for name, factor in FACTORS.items() if factor.is_for_clusters}
#: Of these, what other targets don't have at all; of replicas they have one.
CLUSTER_ONLY = tuple(name for name in CLUSTER_DEFAULTS if name != "replicas")


def find_defaults(
    transport: contract.Transport,
    implementation: contract.Implementation | None = "python",
    target: contract.TargetName = "local",
) -> dict[str, Level]:
    """Return the level of each factor where a scenario doesn't name one; None is what the service or load chooses.

    An own variant has no implementation that is known here, and neither a runtime nor a store.
    """
    facts = contract.TRANSPORTS[transport]
    defaults = {name: each.default for name, each in FACTORS.items() if name not in ("transport", "variant", "shape")}
    defaults |= {"driver": facts.drivers[0], "codec": facts.codecs[0]}
    defaults["runtime"] = facts.runtimes[implementation][0] if implementation else None
    if not implementation:
        defaults |= {"implementation": None, "store": None}
    return defaults | (CLUSTER_DEFAULTS if target == "kubernetes" else {})
