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

from pydantic import AfterValidator, BeforeValidator, Field

from wirebench.model import contract
from wirebench.model.factor import SORTED_GROUPS, Factor, Group, Level, declare
from wirebench.model.variant import CONNECTIONS_MAX, RATE_MAX

#: Factors of clusters, of the built-in application, and of loads that aren't compared with each other.
_in_cluster = partial(declare, group="service", targets=("kubernetes",))
_built_in = partial(declare, is_built_in_only=True)
_load = partial(declare, group="load", is_comparable=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSpec:
    """The part of a cell that a running service embodies."""

    transport: contract.Transport = _built_in(
        dataclasses.MISSING,
        "implementation",
        comes_with=("variant", "runtime", "http", "codec", "threads", "connections"),
    )
    #: Its name in the application file; None of the built-in application.
    variant: str | None = declare(None, "implementation", comes_with=("transport", "http", "codec", "tls"))
    #: None, as the runtime and the store, of an own variant.
    implementation: contract.Implementation | None = _built_in(
        "python",
        "implementation",
        mark="",
        choices=lambda _, implementation: get_args(contract.Implementation) if implementation else (),
        comes_with=("runtime", "threads"),
        nouns={"python": "Python", "go": "Go"},
    )
    runtime: str | None = _built_in(
        None,
        "implementation",
        choices=lambda facts, implementation: facts.runtimes[implementation] if implementation else (),
        comes_with=("implementation", "threads"),
    )
    threads: int | None = _built_in(
        None,
        "implementation",
        mark="t{}",
        limits=(1, 1024),
        needs={"runtime": contract.THREADED_RUNTIMES},
        unit="thread",
    )
    #: A service in Go is one process that uses as many cores.
    workers: int = declare(
        1,
        "service",
        mark="w{}",
        limits=(1, 64),
        is_fixed_in_cluster=True,
        needs={"implementation": ("python", None)},
        unit="worker",
    )
    store: contract.Store | None = _built_in(
        "memory", "service", choices=lambda _, implementation: get_args(contract.Store) if implementation else ()
    )
    #: Of each worker; None is the service's own number.
    store_connections: int | None = _built_in(
        None, "service", mark="p{}", limits=(1, 1000), needs={"store": ("postgres",)}, unit="store connection"
    )
    tls: contract.Tls = _built_in(
        "none", "service", mark="{}-tls", marks_default=False, nouns={"none": "plain text", "server": "TLS"}
    )
    #: None: the service has half of this machine's cores, and the load the other half.
    cores: Literal["shared"] | None = declare(
        None,
        "service",
        mark="{}-cores",
        levels=Annotated[Literal["own", "shared"], AfterValidator(lambda level: None if level == "own" else level)],
        targets=("local",),
        noun="{} cores",
        none="cores of its own",
    )
    #: None is what the service has: a run can't set it.
    replicas: int | None = _in_cluster(
        1, mark="x{}", marks_default=False, limits=(1, 100), cluster_default=1, is_fixed_in_cluster=True, unit="replica"
    )
    #: Of each replica. A limit is always set in a cluster.
    cpu_limit_millicores: int | None = _in_cluster(
        None, mark="{}m", limits=(10, 256_000), cluster_default=500, is_fixed_in_cluster=True, noun="{}m CPU"
    )
    #: Where the load comes from. A service has it only if it is `same-pod`: then it has no pod of its own.
    placement: contract.Placement | None = _in_cluster(
        None,
        cluster_default="cross-node",
        needs={"replicas": (1, None), "balancing": ("service",)},
        needed_by=("same-pod",),
        nouns={"same-pod": "load in its pod", "same-node": "load on its node", "cross-node": "load on another node"},
    )

    def __str__(self) -> str:
        """Return its id: unique in a plan, and fit for a file."""
        own = dataclasses.asdict(self)
        return "-".join(filter(None, (_mark(name, own) for name in FACTORS if name in own)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell(ServiceSpec):
    """One combination of factors."""

    #: None is HTTP/1.1, or another transport than REST. HTTP/2 is measured without TLS (h2c).
    http: Literal[2] | None = declare(
        None,
        "implementation",
        mark="http{}",
        levels=Annotated[Literal[1, 2], AfterValidator(lambda version: None if version == 1 else version)],
        needs={"transport": ("rest",), "runtime": ("net-http", None), "tls": ("none",), "driver": ("wireload",)},
        noun="HTTP/{}",
        none="HTTP/1.1",
    )
    codec: contract.Codec = _built_in(dataclasses.MISSING, "implementation", choices=lambda facts, _: facts.codecs)
    connection: contract.Connection = declare(
        "keep",
        "service",
        needs={"driver": contract.REOPENING_DRIVERS},
        nouns={"keep": "kept connections", "reopen": "reopened connections"},
    )
    balancing: contract.Balancing | None = _in_cluster(
        None,
        cluster_default="service",
        nouns={"service": "balancing by the Service", "headless": "balancing by the client", "pod": "one pod alone"},
    )
    #: Some send REST as JSON only.
    driver: contract.Driver = declare(
        "wireload",
        "driver",
        choices=lambda facts, _: facts.drivers,
        needs={"codec": ("json",)},
        needed_by=("k6", "oha", "locust"),
    )
    #: None: the load goes straight to the service. Otherwise a proxy adds it to every round trip.
    delay_ms: int | None = declare(
        None, "network", mark="d{}", limits=(0, 5_000), noun="a delay of {} ms", none="no proxy"
    )
    #: One of the application's, or the name of a workload.
    operation: str = _load("users.get")
    #: None is the operation's own.
    payload: str | int | None = declare(
        None, "load", levels=Annotated[str | int, Field()], noun="a payload of {}", none="the usual payload"
    )
    #: Of each stream, where the operation is one, or 0 where that isn't asked for.
    stream_items: int | None = _load(None, mark="i{}", limits=(1, contract.STREAM_ITEMS_MAX), unit="item")
    #: The rate that the items of each stream are asked for at; None for no limit.
    stream_rate_limit_per_s: int | None = _load(
        None, mark="l{}", limits=(1, contract.STREAM_RATE_LIMIT_MAX), noun="{}/s each", none="no limit"
    )
    #: None of a load whose rate the cell names.
    shape: contract.Shape | None = _load(
        None, needs={"driver": ("wireload",)}, nouns={"replay": "a recording", "capacity": "the capacity"}
    )
    #: None under other loads than an open one. Drivers are to time requests from when they were due.
    rate_per_s: int | None = _load(
        None,
        mark="r{}",
        limits=(1, RATE_MAX),
        load_models=("open",),
        needs={"driver": contract.OPEN_LOAD_DRIVERS},
        noun="{} requests/s",
    )
    concurrency: int = declare(
        1,
        "load",
        mark="c{}",
        limits=(1, CONNECTIONS_MAX),
        load_models=("closed", "calls", "open", "replay", "capacity"),
        unit="connection",
    )
    #: None: each of the load's users has its own.
    connections: int | None = declare(
        None,
        "load",
        mark="n{}",
        limits=(1, CONNECTIONS_MAX),
        needs={"connection": ("keep",)},
        unit="connection",
        none="one connection a user",
    )

    @property
    def service(self) -> ServiceSpec:
        own = {each.name: getattr(self, each.name) for each in dataclasses.fields(ServiceSpec)}
        if self.placement != "same-pod":
            own["placement"] = None
        return ServiceSpec(**own)

    @property
    def id(self) -> str:
        return str(self)

    @property
    def factors(self) -> dict[str, Level]:
        return {name: getattr(self, name) for name in FACTORS}


_HINTS = get_type_hints(Cell)
_DECLARED: Mapping[str, Factor] = {each.name: each.metadata["factor"] for each in dataclasses.fields(Cell)}


def _sort_by_group(groups: tuple[Group, ...]) -> tuple[str, ...]:
    return tuple(sorted(_DECLARED, key=lambda name: groups.index(_DECLARED[name].group)))


#: All of them, in the order in which a plan varies and names them.
FACTORS: Mapping[str, Factor] = {name: _DECLARED[name] for name in _sort_by_group(get_args(Group))}
#: The levels that not every record of a cell names.
DEFAULTS: Mapping[str, Any] = {
    each.name: each.default for each in dataclasses.fields(Cell) if each.default is not dataclasses.MISSING
}
COMPARABLE = tuple(name for name, factor in FACTORS.items() if factor.is_comparable)
if TYPE_CHECKING:
    Comparable = str
else:
    Comparable = Literal[COMPARABLE]
_SORTED = _sort_by_group(SORTED_GROUPS)


def make_level_type(name: str) -> Any:  # noqa: ANN401 - a type
    """Return the type of a factor's levels in a scenario: that of its field, without None unless it has a name."""
    factor, allowed = FACTORS[name], _HINTS[name]
    if factor.levels:
        return factor.levels
    if get_origin(allowed) in (Union, types.UnionType) and not factor.none:
        allowed = Union[tuple(each for each in get_args(allowed) if each is not types.NoneType)]  # noqa: UP007
    least, greatest = factor.limits or (None, None)
    read = BeforeValidator(lambda value: None if value == "none" and factor.none else value)
    return Annotated[allowed, Field(ge=least, le=greatest), read]


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
    """Return where a level stands among those of its factor: None, the names known here in order, numbers, texts."""
    declared = _HINTS[name]
    known = next((get_args(each) for each in (declared, *get_args(declared)) if get_origin(each) is Literal), ())
    place = known.index(level) if level in known else -1
    return level is not None, place, isinstance(level, str), level if place < 0 and level is not None else 0


def _mark(name: str, levels: Mapping[str, Level]) -> str:
    """Return a factor's part of an id; empty for what other parts imply."""
    factor, level = FACTORS[name], levels[name]
    is_implied = level is None or (name == "transport" and levels["variant"])
    if is_implied or (level == DEFAULTS.get(name) and not factor.marks_default):
        return ""
    return factor.mark.format(level)
