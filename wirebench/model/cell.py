"""A cell, one combination of factors, and the declaration of each factor: its levels, its default and the rest.

Scenarios, validation, plans, ids, names and the order of cells follow from the declarations.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BeforeValidator, Field, ValidationInfo

from wirebench.model import contract
from wirebench.model.factor import SORTED_GROUPS, Factor, Group, Level, Need
from wirebench.model.variant import CONNECTIONS_MAX, RATE_MAX

#: What a payload of base64 in JSON may come to under the services' limit of 4 MiB.
_PAYLOAD_BYTES_MAX = 3_000_000


def _check_payload(value: Any, info: ValidationInfo) -> Any:  # noqa: ANN401 - untrusted
    names = info.context.application.payloads if info.context else (value,)
    if value in names or (isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _PAYLOAD_BYTES_MAX):
        return value
    known = f"one of {', '.join(names)}, or " if names else ""
    raise ValueError(f"must be {known}a number of bytes or users up to {_PAYLOAD_BYTES_MAX:,}")


def _read_http_version(value: Any) -> Any:  # noqa: ANN401 - untrusted
    """Return None for HTTP/1.1, which records don't name."""
    if value in (1, 2) and not isinstance(value, bool | float):
        return None if value == 1 else value
    raise ValueError("must be 1 (HTTP/1.1) or 2 (HTTP/2)")


#: Factors of clusters, of the built-in application, and of loads that aren't compared with each other.
_InCluster = partial(Factor, group="service", targets=("kubernetes",))
_BuiltIn = partial(Factor, own_hint="write a variant for each level")
_Load = partial(Factor, group="load", is_comparable=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSpec:
    """The part of a cell that a running service embodies."""

    transport: Annotated[
        contract.Transport,
        Factor(
            group="implementation",
            always_marked=True,
            own_hint="choose variants by factors.variant: each has its transport",
            comes_with=("variant", "runtime", "http", "codec", "threads"),
        ),
    ]
    #: Its name in the application file; None of the built-in application.
    variant: Annotated[str | None, Factor(group="implementation", comes_with=("transport", "http", "codec", "tls"))] = (
        None
    )
    #: None, as the runtime and the store, of an own variant.
    implementation: Annotated[
        contract.Implementation | None,
        _BuiltIn(
            group="implementation",
            mark="",
            choices=lambda _, implementation: get_args(contract.Implementation) if implementation else (),
            comes_with=("runtime", "threads"),
            words={"python": ("in Python", "Python"), "go": ("in Go", "Go")},
        ),
    ] = "python"
    runtime: Annotated[
        str | None,
        _BuiltIn(
            group="implementation",
            choices=lambda facts, implementation: facts.runtimes[implementation] if implementation else (),
            comes_with=("implementation", "threads"),
            saying="on {}",
            noun="{}",
        ),
    ] = None
    threads: Annotated[
        int | None,
        Field(ge=1, le=1024),
        _BuiltIn(
            group="implementation",
            mark="t{}",
            needs=(Need("runtime", contract.THREADED_RUNTIMES, "others have no pool of threads"),),
            unit="thread",
        ),
    ] = None
    workers: Annotated[
        int,
        Field(ge=1, le=64),
        Factor(
            group="service",
            mark="w{}",
            always_marked=True,
            is_fixed_in_cluster=True,
            needs=(Need("implementation", ("python", None), "a service in Go is one process that uses as many cores"),),
            unit="worker",
        ),
    ] = 1
    store: Annotated[
        contract.Store | None,
        _BuiltIn(
            group="service",
            always_marked=True,
            choices=lambda _, implementation: get_args(contract.Store) if implementation else (),
            noun="{}",
            words={"memory": ("in memory", "memory")},
        ),
    ] = "memory"
    #: Of each worker; None is the service's own number.
    store_connections: Annotated[
        int | None,
        Field(ge=1, le=1000),
        _BuiltIn(
            group="service",
            mark="p{}",
            needs=(Need("store", ("postgres",), "memory has no connections"),),
            unit="store connection",
        ),
    ] = None
    tls: Annotated[
        contract.Tls,
        Factor(
            group="service",
            mark="{}-tls",
            own_hint="set tls of the variant in the application file",
            words={"none": ("plain text",), "server": ("TLS",)},
        ),
    ] = "none"
    #: None is what the service has: a run can't set it.
    replicas: Annotated[
        int | None,
        Field(ge=1, le=100),
        _InCluster(mark="x{}", cluster_default=1, is_fixed_in_cluster=True, unit="replica"),
    ] = 1
    #: Of each replica. A limit is always set in a cluster.
    cpu_limit_millicores: Annotated[
        int | None,
        Field(ge=10, le=256_000),
        _InCluster(
            mark="{}m", cluster_default=500, is_fixed_in_cluster=True, label="CPU limit, millicores", saying="{}m CPU"
        ),
    ] = None
    #: Where the load comes from. A service has it only if it is `same-pod`: then it has no pod of its own.
    placement: Annotated[
        contract.Placement | None,
        _InCluster(
            cluster_default="cross-node",
            needs=(
                Need("replicas", (1, None), "a load in the same pod has one service to go to", of=("same-pod",)),
                Need("balancing", ("service",), "in the same pod there is nothing to balance", of=("same-pod",)),
            ),
            words={
                "same-pod": ("load from the same pod",),
                "same-node": ("load from the same node",),
                "cross-node": ("load from another node",),
            },
        ),
    ] = None

    @property
    def beside_load(self) -> bool:
        """Whether it runs in the pod that its load comes from, and has no pod of its own."""
        return self.placement == "same-pod"

    def __str__(self) -> str:
        """Return its id: unique in a plan, and fit for a file."""
        own = {each.name: getattr(self, each.name) for each in dataclasses.fields(self)}
        return "-".join(filter(None, (_mark(name, own) for name in FACTORS if name in own)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell(ServiceSpec):
    """One combination of factors."""

    #: None is HTTP/1.1, or another transport than REST.
    http: Annotated[
        Literal[2] | None,
        Factor(
            group="implementation",
            mark="http{}",
            levels=Annotated[Literal[2] | None, BeforeValidator(_read_http_version)],
            needs=(
                Need("transport", ("rest",), "only REST has a choice of HTTP versions"),
                Need("runtime", (*contract.H2C_RUNTIMES, None), "other runtimes speak HTTP/1.1 only"),
                Need("tls", ("none",), "HTTP/2 is measured without TLS (h2c)"),
                Need("driver", ("wireload",), "other drivers don't send HTTP/2 without TLS (h2c)"),
            ),
            label="version of HTTP",
            none="HTTP/1.1",
            words={"2": ("over HTTP/2", "HTTP/2")},
        ),
    ] = None
    codec: Annotated[contract.Codec, _BuiltIn(group="implementation", choices=lambda facts, _: facts.codecs, noun="{}")]
    connection: Annotated[
        contract.Connection,
        Factor(
            group="service",
            always_marked=True,
            needs=(Need("driver", contract.REOPENING_DRIVERS, "other drivers keep their connections"),),
            words={"keep": ("connections kept",), "reopen": ("connections reopened",)},
        ),
    ] = "keep"
    balancing: Annotated[
        contract.Balancing | None,
        _InCluster(
            cluster_default="service",
            words={
                "service": ("balanced by the Service", "balancing by the Service"),
                "headless": ("balanced by the client", "balancing by the client"),
                "pod": ("on one of the pods", "one pod alone"),
            },
        ),
    ] = None
    driver: Annotated[
        contract.Driver,
        Factor(
            group="driver",
            always_marked=True,
            choices=lambda facts, _: facts.drivers,
            needs=(Need("codec", ("json",), "it sends REST as JSON", of=("k6", "oha", "locust")),),
            saying="by {}",
            noun="{}",
        ),
    ] = "wireload"
    #: None: the load goes straight to the service. Otherwise a proxy adds it to every round trip.
    delay_ms: Annotated[
        int | None,
        Field(ge=0, le=5_000),
        Factor(
            group="network",
            mark="d{}",
            label="delay of a round trip, ms",
            saying="{} ms away",
            noun="a delay of {} ms",
            none="no proxy",
        ),
    ] = None
    #: Of the packets of each direction. The kernel (netem) then does all that the network does, the delay, too.
    loss_percent: Annotated[
        float | None,
        Field(ge=0, le=50),
        Factor(
            group="network",
            mark="loss{:g}",
            needs=(
                Need("placement", (None,), "shaping packets needs a privileged container, and load pods have none"),
                Need("tls", ("none",), "certificates name this machine, not the load's address beyond the network"),
            ),
            label="packets lost, %",
            saying="losing {} % of packets",
            noun="a loss of {} % of packets",
            none="no loss of packets",
        ),
    ] = None
    #: One of the application's, or the name of a workload.
    operation: Annotated[str, _Load(always_marked=True, saying="{}")] = "users.get"
    #: None is the operation's own.
    payload: Annotated[
        str | int | None,
        Factor(
            group="load",
            levels=Annotated[str | int, BeforeValidator(_check_payload)],
            saying="a payload of {}",
            none="the payload that is usual",
        ),
    ] = None
    #: Of each stream, where the operation is one, or 0 where that isn't asked for.
    stream_items: Annotated[
        int | None, Field(ge=1, le=contract.STREAM_ITEMS_MAX), _Load(mark="i{}", label="items of a stream", unit="item")
    ] = None
    #: The rate that the items of each stream are asked for at; None for no limit.
    stream_rate_limit_per_s: Annotated[
        int | None,
        Field(ge=1, le=contract.STREAM_RATE_LIMIT_MAX),
        _Load(mark="l{}", label="items/s asked for of a stream", saying="{}/s each", none="no limit"),
    ] = None
    #: None of a load whose rate the cell names.
    shape: Annotated[
        contract.Shape | None,
        _Load(
            needs=(Need("driver", ("wireload",), "other drivers take no schedule of single requests"),),
            words={"replay": ("a recording",), "capacity": ("the capacity",)},
        ),
    ] = None
    #: None under other loads than an open one.
    rate_per_s: Annotated[
        int | None,
        Field(ge=1, le=RATE_MAX),
        _Load(
            mark="r{}",
            load_models=("open",),
            needs=(Need("driver", contract.OPEN_LOAD_DRIVERS, "others don't time requests from when they were due"),),
            label="requests/s asked for",
            saying="{} requests/s",
        ),
    ] = None
    concurrency: Annotated[
        int,
        Field(ge=1, le=CONNECTIONS_MAX),
        Factor(
            group="load",
            mark="c{}",
            always_marked=True,
            load_models=("closed", "calls", "open", "replay", "capacity"),
            label="connections",
            unit="connection",
        ),
    ] = 1
    #: None: each of the load's users has its own.
    connections: Annotated[
        int | None,
        Field(ge=1, le=CONNECTIONS_MAX),
        Factor(
            group="load",
            mark="n{}",
            needs=(Need("connection", ("keep",), "a connection for each request isn't shared"),),
            label="connections that users share",
            unit="connection",
            none="one connection a user",
        ),
    ] = None

    @property
    def service(self) -> ServiceSpec:
        own = {each.name: getattr(self, each.name) for each in dataclasses.fields(ServiceSpec)}
        if self.placement != "same-pod":
            own["placement"] = None
        return ServiceSpec(**own)

    def adopt(self, service: ServiceSpec) -> Cell:
        """Return the cell as it is on a service."""
        own = {each.name: getattr(service, each.name) for each in dataclasses.fields(service)}
        return dataclasses.replace(self, **{**own, "placement": self.placement})

    @property
    def id(self) -> str:
        return str(self)

    @property
    def is_stream(self) -> bool:
        return self.stream_items is not None

    @property
    def factors(self) -> dict[str, Level]:
        return {name: getattr(self, name) for name in FACTORS}


_HINTS = get_type_hints(Cell, globals(), include_extras=True)


def _find_declaration(name: str) -> Factor:
    return next(each for each in _HINTS[name].__metadata__ if isinstance(each, Factor))


def _sort_by_group(names: Mapping[str, Factor], groups: tuple[Group, ...]) -> dict[str, Factor]:
    return dict(sorted(names.items(), key=lambda item: groups.index(item[1].group)))


#: All of them, in the order in which a plan varies and names them.
FACTORS: Mapping[str, Factor] = _sort_by_group(
    {each.name: _find_declaration(each.name) for each in dataclasses.fields(Cell)}, get_args(Group)
)
#: The levels that not every record of a cell names.
DEFAULTS: Mapping[str, Any] = {
    each.name: each.default for each in dataclasses.fields(Cell) if each.default is not dataclasses.MISSING
}
COMPARABLE = tuple(name for name, factor in FACTORS.items() if factor.is_comparable)
if TYPE_CHECKING:
    Comparable = str
else:
    Comparable = Literal[COMPARABLE]
_SORTED = tuple(_sort_by_group(FACTORS, SORTED_GROUPS))


def make_level_type(name: str) -> Any:  # noqa: ANN401 - a type
    """Return the type of a factor's levels in a scenario: that of its field, without None unless it has a name."""
    factor = FACTORS[name]
    if factor.levels:
        return factor.levels
    allowed, limits = _HINTS[name].__origin__, list(_HINTS[name].__metadata__)
    if get_origin(allowed) in (Union, types.UnionType) and not factor.none:
        allowed = Union[tuple(each for each in get_args(allowed) if each is not types.NoneType)]  # noqa: UP007
    if factor.none:
        limits.append(BeforeValidator(lambda value: None if value == "none" else value))
    return Annotated[allowed, *limits]


def find_defaults(
    transport: contract.Transport,
    implementation: contract.Implementation | None = "python",
    target: contract.TargetName = "local",
) -> dict[str, Level]:
    """Return the level of each factor where a scenario doesn't name one; None is what the service or load chooses.

    An own variant has no implementation that is known here, and neither a runtime nor a store.
    """
    facts, defaults = contract.TRANSPORTS[transport], {}
    for name, factor in FACTORS.items():
        if factor.choices:
            defaults[name] = next(iter(factor.choices(facts, implementation)), None)
        elif target == "kubernetes" and factor.cluster_default is not None:
            defaults[name] = factor.cluster_default
        else:
            defaults[name] = DEFAULTS.get(name)
    return {**defaults, "transport": transport}


def sort_key(factors: Mapping[str, Level]) -> tuple[object, ...]:
    """Return what a cell is sorted by: its load, its setting and its transport."""
    return tuple(_rank_level(name, factors[name]) for name in _SORTED)


def _rank_level(name: str, level: Level) -> tuple[object, ...]:
    """Return where a level stands among those of its factor: in the order of its type, or by number or name.

    None comes first.
    """
    if level is None:
        return False, -1
    if places := _list_names(name):
        return False, places.index(level) if level in places else 0, str(level)
    return isinstance(level, str), level


def _list_names(name: str) -> tuple[Level, ...]:
    """Return the levels of a factor that are names known here, in their order; none of others."""
    declared = _HINTS[name].__origin__
    literals = [each for each in (declared, *get_args(declared)) if get_origin(each) is Literal]
    return get_args(literals[0]) if literals else ()


def _mark(name: str, levels: Mapping[str, Level]) -> str:
    """Return a factor's part of an id; empty for what other parts imply, and for most defaults."""
    factor, level = FACTORS[name], levels[name]
    is_implied = level is None or (name == "transport" and levels["variant"])
    if is_implied or (level == DEFAULTS.get(name) and not factor.always_marked):
        return ""
    return factor.mark.format(level)
