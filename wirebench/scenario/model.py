"""The scenario file as typed data: what may be written in it, with limits and defaults."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from wirebench.scenario.contract import Codec, Connection, Driver, Operation, Store, Transport

CONCURRENCY_MAX = 10_000
BLOCKS_MAX = 1000
EVERY_TRANSPORT: Final = "*"

T = TypeVar("T")


def _as_tuple(value: Any) -> Any:  # noqa: ANN401 - untrusted, checked next
    return tuple(value) if isinstance(value, list) else (value,)


def _by_transport(value: Any) -> Any:  # noqa: ANN401 - untrusted, checked next
    by_transport = value if isinstance(value, dict) else {EVERY_TRANSPORT: value}
    return {key: _as_tuple(levels) for key, levels in by_transport.items()}


#: A factor's levels: written as one value, as a list, or as either for each transport by name.
Levels = Annotated[
    dict[Literal["*", "rest", "grpc", "socket"], Annotated[tuple[T, ...], Field(min_length=1)]],
    BeforeValidator(_by_transport),
]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Factors(_Strict):
    """The dimensions of the question; one with several levels is varied.

    A factor that is left out takes the transport's default: its first runtime, driver and codec.
    """

    transport: Annotated[tuple[Transport, ...], Field(min_length=1), BeforeValidator(_as_tuple)]
    operation: Levels[Operation] = Field(default={EVERY_TRANSPORT: ("users.get",)})
    concurrency: Levels[Annotated[int, Field(ge=1, le=CONCURRENCY_MAX)]] = Field(default={EVERY_TRANSPORT: (1,)})
    rate_per_s: Levels[Annotated[int, Field(ge=1, le=1_000_000)]] | None = None
    runtime: Levels[str] | None = None
    driver: Levels[Driver] | None = None
    workers: Levels[Annotated[int, Field(ge=1, le=64)]] = Field(default={EVERY_TRANSPORT: (1,)})
    threads: Levels[Annotated[int, Field(ge=1, le=1024)]] | None = None
    store: Levels[Store] = Field(default={EVERY_TRANSPORT: ("memory",)})
    codec: Levels[Codec] | None = None
    connection: Levels[Connection] = Field(default={EVERY_TRANSPORT: ("keep",)})


class Load(_Strict):
    """How requests are sent. `closed`: each connection sends when it has its reply. `open`: at a fixed rate."""

    model: Literal["closed", "open"] = "closed"
    warmup_s: Annotated[float, Field(ge=0, le=3600)] = 1.0
    window_s: Annotated[float, Field(ge=0.5, le=3600)] = 5.0


class Scenario(_Strict):
    """A question, and what is measured to answer it."""

    question: Annotated[str, Field(min_length=1, max_length=500)]
    factors: Factors
    load: Load = Load()
    blocks: Annotated[int, Field(ge=1, le=BLOCKS_MAX)] = 5
    #: The factor whose levels are compared with each other.
    compare: Literal["transport", "runtime", "driver", "workers", "threads", "store", "codec", "connection"] = (
        "transport"
    )
    #: Ratios this close to 1 make no difference to the asker: 0.05 is 5 %.
    equivalence_margin: Annotated[float, Field(gt=0, lt=1)] = 0.05

    @model_validator(mode="after")
    def _load_fits_factors(self) -> Scenario:
        if self.load.model == "open" and self.factors.rate_per_s is None:
            message = "an open load needs a rate: add factors.rate_per_s"
            raise ValueError(message)
        if self.load.model == "closed" and self.factors.rate_per_s is not None:
            message = "a closed load has no rate: remove factors.rate_per_s, or set load.model to open"
            raise ValueError(message)
        return self
