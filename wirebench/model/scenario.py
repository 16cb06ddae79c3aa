"""The scenario file as typed data: what may be written in it, with limits and defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeVar, get_args

from pydantic import BeforeValidator, Field, create_model, model_validator

from wirebench.model.application import Application, load_builtin
from wirebench.model.cell import FACTORS, Cell, Comparable, make_level_type
from wirebench.model.contract import BLOCKS_MAX, TRANSPORTS, Driver, LoadModel, Shape, Transport
from wirebench.model.frozen import StrictModel
from wirebench.model.recording import Recording
from wirebench.model.source import FieldPath, Source
from wirebench.model.variant import CONNECTIONS_MAX, RATE_MAX, Variant
from wirebench.model.workload import Workload, Workloads

CALLS_MAX = 100_000
#: More would fail the gate `error_rate`: errors are often faster than answers.
ERROR_SHARE_MAX = 0.001
#: Histograms go no further.
TIMEOUT_S_MAX = 60.0
WINDOW_S_MIN = 0.5
WINDOW_S_MAX = 3600
EVERY_TRANSPORT: Final = "*"

T = TypeVar("T")


class Only(NamedTuple):
    """The load models that have a key, and the drivers that know it there."""

    models: tuple[LoadModel, ...] = get_args(LoadModel)
    drivers: tuple[Driver, ...] = get_args(Driver)


def _convert_levels(value: Any) -> Any:  # noqa: ANN401 - untrusted, checked next
    if value in ([], {}, None):
        raise ValueError("needs at least one level")
    levels = value if isinstance(value, list) else [value]
    if any(level in levels[:place] for place, level in enumerate(levels)):
        raise ValueError("a level appears twice in the list")
    return tuple(levels)


def _group_by_transport(value: Any) -> Any:  # noqa: ANN401 - untrusted, checked next
    if not isinstance(value, dict) or not value:
        return {EVERY_TRANSPORT: _convert_levels(value)}
    if unknown := [key for key in value if key not in TRANSPORTS]:
        raise ValueError(f"no transport {unknown[0]!r}; levels by transport are for {', '.join(TRANSPORTS)}")
    return {key: _convert_levels(levels) for key, levels in value.items()}


def find_own(levels: Mapping[Any, tuple[T, ...]], transport: Transport) -> tuple[T, ...]:
    """Return the levels of a transport, by itself or with all others; none if there are none."""
    return levels.get(transport) or levels.get(EVERY_TRANSPORT) or ()


#: A factor's levels: written as one value, as a list, or as either for each transport by name.
Levels = Annotated[dict[Literal["*", "rest", "grpc", "socket"], tuple[T, ...]], BeforeValidator(_group_by_transport)]


def _make_section() -> Any:  # noqa: ANN401 - a class that is known by the declarations alone
    """Return a model with a field for each factor that has levels by transport."""
    levels_of: Any = Levels
    names = FACTORS.keys() - {"transport", "variant", "shape"}
    fields: dict[str, Any] = {name: (levels_of[make_level_type(name)], {}) for name in FACTORS if name in names}
    return create_model("Section", __base__=StrictModel, **fields)


class Factors(_make_section()):  # type: ignore[misc] # most of its fields are the factors
    """The dimensions of the question; one with several levels is varied.

    A factor that is left out has no levels here: `cell.find_defaults` has them. `transport` is for the built-in
    application, `variant` for others (default: all variants).
    """

    transport: Annotated[tuple[Transport, ...], BeforeValidator(_convert_levels)] = ()
    variant: Annotated[tuple[str, ...], BeforeValidator(_convert_levels)] = ()


class Objective(StrictModel):
    """What users are to get: a p99 response time, and the greatest share of requests that fail or aren't sent."""

    p99_ms: Annotated[float, Field(gt=0, le=TIMEOUT_S_MAX * 500)]
    error_share: Annotated[float, Field(ge=0, le=ERROR_SHARE_MAX)] = ERROR_SHARE_MAX


class Load(StrictModel):
    """How requests are sent.

    `closed`: each connection sends when it has its reply. `sweep`: the same, with 1, 2, 4 … connections. `calls`: the
    same, until each has sent so many requests; the window is as long as that takes. `open`: at a fixed rate. `replay`:
    at the times of a recording. `capacity`: open loads, in search of the highest rate that keeps an objective.
    """

    model: LoadModel = "closed"
    #: What each connection sends under `calls`, and before them; these don't count.
    calls: Annotated[int | None, Field(ge=1, le=CALLS_MAX), Only(("calls",), ("wireload",))] = None
    warmup_calls: Annotated[int | None, Field(ge=1, le=CALLS_MAX), Only(("calls",), ("wireload",))] = None
    #: The last number of connections of a sweep; under `open` and `replay`, how many there may be: a request
    #: that is due while all are busy opens a new one.
    concurrency_max: Annotated[
        int | None, Field(ge=2, le=CONNECTIONS_MAX), Only(("sweep",)), Only(("open", "replay"), ("wireload",))
    ] = None
    #: How many users of a closed load start in a second of the warm-up. None: all start at once.
    spawn_rate_per_s: Annotated[float | None, Field(gt=0, le=RATE_MAX), Only(("closed",), ("wireload", "locust"))] = (
        None
    )
    warmup_s: Annotated[float, Field(ge=0, le=3600)] = 1.0
    window_s: Annotated[float, Field(ge=WINDOW_S_MIN, le=WINDOW_S_MAX)] = 5.0
    #: A request that takes longer has failed. None is the driver's own: 10 s, and 20 s of ghz.
    timeout_s: Annotated[
        float | None, Field(ge=0.001, le=TIMEOUT_S_MAX), Only(drivers=("wireload", "k6", "ghz", "oha"))
    ] = None
    #: Compositions of operations, by the names that they have as levels of `operation`.
    workloads: Workloads = Field(default={})
    #: What a search for the capacity has to keep.
    objective: Annotated[Objective | None, Only(("capacity",))] = None
    #: How near to each other the highest rate that keeps it and the lowest that doesn't are to be, as a share, and how
    #: many windows the search may take.
    resolution: Annotated[float, Field(ge=0.005, le=0.5), Only(("capacity",))] = 0.03
    windows_max: Annotated[int, Field(ge=8, le=100), Only(("capacity",))] = 20
    #: The rate that a search for the capacity begins with.
    from_rate_per_s: Annotated[int | None, Field(ge=1, le=RATE_MAX), Only(("capacity",))] = None
    #: The timing file of a replay, relative to the scenario's folder, and how much faster it goes.
    timing: Annotated[str | None, Field(min_length=1, max_length=1000), Only(("replay",))] = None
    speedup: Annotated[float, Field(gt=0, le=1_000_000), Only(("replay",))] = 1.0
    #: What it holds; no key of a scenario.
    recording: Recording | None = Field(default=None, exclude=True)

    @property
    def shape(self) -> Shape | None:
        """How the rate changes in the window; None if it doesn't."""
        return self.model if self.model in ("replay", "capacity") else None

    @property
    def windows(self) -> int:
        """How many windows a cell has at most, each with its warm-up: a search begins with one of a closed load."""
        return self.windows_max + 1 if self.model == "capacity" else 1

    def compute_spawn_s(self, users: int) -> float:
        return (users - 1) / self.spawn_rate_per_s if self.spawn_rate_per_s else 0.0

    def list_window_arrivals_ns(self) -> list[int]:
        """Return when the requests of a replay's window are due, in nanoseconds from its start; none of other loads."""
        offsets_ns = self.recording.offsets_ns if self.recording else ()
        return [due for each in offsets_ns if (due := round(each / self.speedup)) < round(self.window_s * 1e9)]

    def list_arrivals_ns(self) -> list[int]:
        """Return when all requests of a replay are due, in nanoseconds from its start; none of other loads.

        The warm-up has the recording's mean rate, evenly.
        """
        window, warmup_ns = self.list_window_arrivals_ns(), round(self.warmup_s * 1e9)
        warmup = range(round(self.warmup_s / self.window_s * len(window)) + 1)
        even = [due for each in warmup if (due := round(each * self.window_s * 1e9 / max(1, len(window)))) < warmup_ns]
        return [*even, *(warmup_ns + due for due in window)] if window else []

    def compute_rate_asked_per_s(self, cell: Cell) -> float | None:
        """Return how many requests a second are due in the window; None under a closed load."""
        due = self.list_window_arrivals_ns()
        return len(due) / self.window_s if due else cell.rate_per_s

    @model_validator(mode="before")
    @classmethod
    def _count_every_call(cls, given: Any) -> Any:  # noqa: ANN401 - untrusted, checked next
        """Have a number of calls begin without a warm-up, and give it a minute."""
        if isinstance(given, dict) and given.get("model") == "calls":
            return {"warmup_s": 0, "window_s": 60.0, **given}
        return given

    @property
    def swept(self) -> tuple[int, ...]:
        """The numbers of connections of a sweep: powers of two, and the last one; empty of other loads."""
        if self.model != "sweep":
            return ()
        last = self.concurrency_max or 4096
        return (*(2**power for power in range((last - 1).bit_length())), last)

    def add_connections(self, cell: Cell) -> Cell:
        """Return a cell with all connections that its load may come to open."""
        most = None if self.model == "sweep" else self.concurrency_max
        return replace(cell, concurrency=max(cell.concurrency, most or 0))

    def find_workload(self, operation: str) -> Workload:
        """Return what a level of `operation` stands for: a workload, or the operation alone."""
        return self.workloads.get(operation) or Workload.model_construct(sequence=(operation,))


class CrossCheck(StrictModel):
    """Other drivers that measure some of the cells as well: those of these operations and concurrencies, or all.

    A transport that a key has no levels for isn't checked.
    """

    driver: Levels[Driver]
    operation: Levels[str] = Field(default={})
    concurrency: Levels[int] = Field(default={})

    def list_drivers(self, cell: Cell) -> tuple[Driver, ...]:
        """Return the drivers that check a cell."""
        for levels, level in ((self.operation, cell.operation), (self.concurrency, cell.concurrency)):
            if levels and level not in find_own(levels, cell.transport):
                return ()
        return find_own(self.driver, cell.transport)


def _choose_main_factor(read: dict[str, Any]) -> Comparable:
    application = read.get("application")
    return "variant" if application and application.variants else "transport"


class Scenario(StrictModel):
    """A question, and what is measured to answer it."""

    question: Annotated[str, Field(min_length=1, max_length=500)]
    #: In the file, the path of the application file relative to it, or the name of one that comes with wirebench.
    application: Application = Field(default_factory=load_builtin)
    factors: Factors
    load: Load = Load()
    cross_check: CrossCheck | None = None
    blocks: Annotated[int, Field(ge=1, le=BLOCKS_MAX)] = 5
    #: The factor whose levels are compared with each other.
    compare: Comparable = Field(default_factory=_choose_main_factor)
    #: Ratios this close to 1 make no difference to the asker: 0.05 is 5 %.
    equivalence_margin: Annotated[float, Field(gt=0, lt=1)] = 0.05
    #: In its place, a difference of the mean latency.
    equivalence_margin_us: Annotated[float, Field(gt=0)] | None = None
    #: What it is read from, so that errors name its lines; no key of a scenario.
    source: Source = Field(default=Source(Path("scenario.yaml")), exclude=True)

    @property
    def variants(self) -> dict[str, Variant]:
        """The variants that are measured, by name; none of the built-in application."""
        every = self.application.variants
        return {name: every[name] for name in self.factors.variant or every if name in every}

    @property
    def transports(self) -> tuple[Transport, ...]:
        return tuple(dict.fromkeys(each.transport for each in self.variants.values())) or self.factors.transport

    @property
    def drivers(self) -> dict[FieldPath, Driver]:
        """The drivers that the scenario names, by where it does so."""
        sections = {"factors": self.factors.driver, "cross_check": self.cross_check.driver if self.cross_check else {}}
        return {
            (section, "driver", *(() if transport == EVERY_TRANSPORT else (transport,)), place): driver
            for section, by_transport in sections.items()
            for transport, levels in by_transport.items()
            if transport in (EVERY_TRANSPORT, *self.transports)
            for place, driver in enumerate(levels)
        }
