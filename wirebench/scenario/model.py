"""The scenario file as typed data: what may be written in it, with limits and defaults."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, model_validator

from wirebench.model.application import builtin
from wirebench.model.source import FieldPath, Source, dotted
from wirebench.scenario.contract import (
    STREAM_ITEMS_MAX,
    STREAM_RATE_LIMIT_MAX,
    TRANSPORTS,
    Balancing,
    Codec,
    Comparable,
    Connection,
    Disruption,
    Driver,
    Implementation,
    LoadModel,
    Placement,
    Shape,
    Store,
    Tls,
    Transport,
)
from wirebench.scenario.payload import Payload
from wirebench.scenario.workload import Workload, Workloads
from wirebench.timing import Recording

CONCURRENCY_MAX = 10_000
SWEEP_MAX = 4096
CALLS_MAX = 100_000
#: How long a number of calls may take in all, in seconds, where a scenario doesn't say.
CALLS_LIMIT_S = 60.0
#: Histograms go no further.
TIMEOUT_S_MAX = 60.0
DELAY_MS_MAX = 5_000
#: Between these the proxy keeps a bandwidth within a few per cent: docs/method.md.
BANDWIDTH_KIB_S_MIN = 8
BANDWIDTH_KIB_S_MAX = 16_384
RATE_MAX = 1_000_000
WINDOW_S_MIN = 0.5
WINDOW_S_MAX = 3600
BLOCKS_MAX = 1000
QUESTION_CHARACTERS_MAX = 500
EVERY_TRANSPORT: Final = "*"

T = TypeVar("T")


def _as_tuple(value: Any) -> Any:  # noqa: ANN401 - untrusted, checked next
    if value in ([], None):
        raise ValueError("needs at least one level")
    return tuple(value) if isinstance(value, list) else (value,)


def _by_transport(value: Any) -> Any:  # noqa: ANN401 - untrusted, checked next
    if not isinstance(value, dict):
        return {EVERY_TRANSPORT: _as_tuple(value)}
    for key in value:
        if key not in TRANSPORTS:
            raise ValueError(f"no transport {key!r}; levels by transport are for {', '.join(TRANSPORTS)}")
    if not value:
        raise ValueError("needs at least one level")
    return {key: _as_tuple(levels) for key, levels in value.items()}


def _none_in_words(value: Any) -> Any:  # noqa: ANN401 - untrusted, checked next
    return None if value == "none" else value


#: A factor's levels: written as one value, as a list, or as either for each transport by name.
Levels = Annotated[dict[Literal["*", "rest", "grpc", "socket"], tuple[T, ...]], BeforeValidator(_by_transport)]
_LEFT_OUT: Any = Field(default={})


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Network(_Strict):
    """What lies between generator and server; `wirebench.scenario.cell.Link` says what the keys mean.

    A `delay_ms` of `none` goes straight to the service, and not through the proxy that does all this.
    """

    delay_ms: Levels[
        Annotated[Annotated[int, Field(ge=0, le=DELAY_MS_MAX)] | None, BeforeValidator(_none_in_words)]
    ] = _LEFT_OUT
    jitter_ms: Levels[Annotated[int, Field(ge=0, le=DELAY_MS_MAX)]] = _LEFT_OUT
    bandwidth_kib_s: Levels[
        Annotated[
            Annotated[int, Field(ge=BANDWIDTH_KIB_S_MIN, le=BANDWIDTH_KIB_S_MAX)] | None,
            BeforeValidator(_none_in_words),
        ]
    ] = _LEFT_OUT


class Factors(_Strict):
    """The dimensions of the question; one with several levels is varied.

    A factor that is left out has no levels here: `contract.defaults` has them.
    """

    transport: Annotated[tuple[Transport, ...], BeforeValidator(_as_tuple)]
    operation: Levels[str] = _LEFT_OUT
    payload: Levels[Payload] = _LEFT_OUT
    stream_items: Levels[Annotated[int, Field(ge=1, le=STREAM_ITEMS_MAX)]] = _LEFT_OUT
    stream_rate_limit_per_s: Levels[
        Annotated[Annotated[int, Field(ge=1, le=STREAM_RATE_LIMIT_MAX)] | None, BeforeValidator(_none_in_words)]
    ] = _LEFT_OUT
    concurrency: Levels[Annotated[int, Field(ge=1, le=CONCURRENCY_MAX)]] = _LEFT_OUT
    rate_per_s: Levels[Annotated[int, Field(ge=1, le=RATE_MAX)]] = _LEFT_OUT
    implementation: Levels[Implementation] = _LEFT_OUT
    runtime: Levels[str] = _LEFT_OUT
    driver: Levels[Driver] = _LEFT_OUT
    workers: Levels[Annotated[int, Field(ge=1, le=64)]] = _LEFT_OUT
    threads: Levels[Annotated[int, Field(ge=1, le=1024)]] = _LEFT_OUT
    store: Levels[Store] = _LEFT_OUT
    store_connections: Levels[Annotated[int, Field(ge=1, le=1000)]] = _LEFT_OUT
    codec: Levels[Codec] = _LEFT_OUT
    connection: Levels[Connection] = _LEFT_OUT
    connections: Levels[Annotated[int, Field(ge=1, le=CONCURRENCY_MAX)]] = _LEFT_OUT
    tls: Levels[Tls] = _LEFT_OUT
    replicas: Levels[Annotated[int, Field(ge=1, le=100)]] = _LEFT_OUT
    placement: Levels[Placement] = _LEFT_OUT
    balancing: Levels[Balancing] = _LEFT_OUT
    disruption: Levels[Disruption] = _LEFT_OUT
    cpu_limit_millicores: Levels[Annotated[int, Field(ge=10, le=256_000)]] = _LEFT_OUT
    memory_limit_mib: Levels[Annotated[int, Field(ge=64, le=1_048_576)]] = _LEFT_OUT
    network: Network = Network()

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of all factors, those in `network` among them."""
        return tuple(name for name in (*cls.model_fields, *Network.model_fields) if name != "network")

    def levels(self, name: str) -> Mapping[str, tuple[Any, ...]]:
        """Return the levels of a factor by transport, whether it stands by itself or in `network`."""
        section = self.network if name in Network.model_fields else self
        levels: Mapping[str, tuple[Any, ...]] = getattr(section, name)
        return levels

    def implementations(self, transport: Transport) -> tuple[Implementation, ...]:
        """Return those of a transport, whose runtimes and defaults differ."""
        return self.implementation.get(transport) or self.implementation.get(EVERY_TRANSPORT) or ("python",)


def field_of(factor: str) -> FieldPath:
    """Return where a factor is written."""
    return ("factors", "network", factor) if factor in Network.model_fields else ("factors", factor)


class Load(_Strict):
    """How requests are sent.

    `closed`: each connection sends when it has its reply. `sweep`: the same, with 1, 2, 4 … connections. `calls`: the
    same, until each has sent so many requests; the window is as long as that takes. `open`: at a fixed rate. `ramp`: at
    a rate that grows over the window. `replay`: when a recording says.
    """

    model: LoadModel = "closed"
    #: What each connection sends under `calls`.
    calls: Annotated[int, Field(ge=10, le=CALLS_MAX)] | None = None
    #: What each sends before them; these don't count.
    warmup_calls: Annotated[int, Field(ge=1, le=CALLS_MAX)] | None = None
    #: The last number of connections of a sweep.
    concurrency_max: Annotated[int, Field(ge=2, le=CONCURRENCY_MAX)] | None = None
    #: How many users of a closed load start in a second of the warm-up. None: all start at once.
    spawn_rate_per_s: Annotated[float, Field(gt=0, le=RATE_MAX)] | None = None
    warmup_s: Annotated[float, Field(ge=0, le=3600)] = 1.0
    window_s: Annotated[float, Field(ge=WINDOW_S_MIN, le=WINDOW_S_MAX)] = 5.0
    #: A request that takes longer has failed. None is the driver's own: 10 s, and 20 s of ghz.
    timeout_s: Annotated[float, Field(ge=0.001, le=TIMEOUT_S_MAX)] | None = None
    #: Pods that share the load, in a cluster.
    generators: Annotated[int, Field(ge=1, le=64)] = 1
    #: Compositions of operations, by the names that they have as levels of `operation`.
    workloads: Workloads = {}
    #: The rate that a ramp begins with.
    from_rate_per_s: Annotated[int, Field(ge=1, le=RATE_MAX)] | None = None
    #: The timing file of a replay, relative to the scenario's folder, and how much faster it goes.
    timing: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    speedup: Annotated[float, Field(gt=0, le=1_000_000)] = 1.0
    _recording: Recording | None = PrivateAttr(default=None)
    _timing_path: Path | None = PrivateAttr(default=None)

    @property
    def shape(self) -> Shape | None:
        """How the rate changes in the window; None if it doesn't."""
        return self.model if self.model in ("ramp", "replay") else None

    @property
    def recording(self) -> Recording | None:
        """What the timing file holds, once it has been read."""
        return self._recording

    @property
    def timing_path(self) -> Path | None:
        """Where the timing file was read."""
        return self._timing_path

    def spawn_s(self, users: int) -> float:
        """Return how long after the first user the last one starts."""
        return (users - 1) / self.spawn_rate_per_s if self.spawn_rate_per_s else 0.0

    def replaying(self, recording: Recording | None, timing_path: Path | None = None) -> Load:
        """Return this load with what its timing file holds, and where that is."""
        made = self.model_copy()
        # pydantic's way to keep what no file says
        made._recording, made._timing_path = recording, timing_path  # noqa: SLF001
        return made

    @model_validator(mode="before")
    @classmethod
    def _count_every_call(cls, given: Any) -> Any:  # noqa: ANN401 - untrusted, checked next
        """Have a number of calls begin without a warm-up, and give it time."""
        if isinstance(given, dict) and given.get("model") == "calls":
            return {"warmup_s": 0, "window_s": CALLS_LIMIT_S, **given}
        return given

    @property
    def swept(self) -> tuple[int, ...]:
        """The numbers of connections of a sweep: powers of two, and the last one; empty of other loads."""
        if self.model != "sweep":
            return ()
        last = self.concurrency_max or SWEEP_MAX
        return (*(2**power for power in range((last - 1).bit_length())), last)

    def workload(self, operation: str) -> Workload:
        """Return what a level of `operation` stands for. Raises KeyError for one that stands for nothing."""
        if operation in builtin().operations:
            return Workload.model_construct(sequence=(operation,))
        return self.workloads[operation]


class CrossCheck(_Strict):
    """Other drivers that measure some of the cells as well: those of these operations and concurrencies, or all."""

    driver: Levels[Driver]
    operation: Annotated[tuple[str, ...], BeforeValidator(_as_tuple)] = ()
    concurrency: Annotated[tuple[int, ...], BeforeValidator(_as_tuple)] = ()


class Scenario(_Strict):
    """A question, and what is measured to answer it."""

    question: Annotated[str, Field(min_length=1, max_length=QUESTION_CHARACTERS_MAX)]
    factors: Factors
    load: Load = Load()
    cross_check: CrossCheck | None = None
    blocks: Annotated[int, Field(ge=1, le=BLOCKS_MAX)] = 5
    #: The factor whose levels are compared with each other.
    compare: Comparable = "transport"
    #: Ratios this close to 1 make no difference to the asker: 0.05 is 5 %.
    equivalence_margin: Annotated[float, Field(gt=0, lt=1)] = 0.05
    _source: Source | None = PrivateAttr(default=None)

    def model_post_init(self, context: Source | None, /) -> None:
        """Keep the source that it is read from, given as the validation's context, so that errors name its lines."""
        self._source = context

    @property
    def drivers(self) -> dict[FieldPath, Driver]:
        """The drivers that the scenario names, by where it does so."""
        sections = {"factors": self.factors.driver, "cross_check": self.cross_check.driver if self.cross_check else {}}
        return {
            (section, "driver", *(() if transport == EVERY_TRANSPORT else (transport,)), place): driver
            for section, by_transport in sections.items()
            for transport, levels in by_transport.items()
            for place, driver in enumerate(levels)
        }

    def driven_by(self, driver: Driver) -> Scenario:
        """Return this scenario with all its cells by one driver, and without a cross-check."""
        factors = self.factors.model_copy(update={"driver": {EVERY_TRANSPORT: (driver,)}})
        return self.model_copy(update={"factors": factors, "cross_check": None})

    def where(self, field: FieldPath) -> str:
        """Return a field's name, and before it the file and line, if it was read from a file."""
        return self._source.where(field) if self._source else dotted(field)
