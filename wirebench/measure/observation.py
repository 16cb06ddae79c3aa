"""What is observed of a load from where it comes from: the driver's figures, and what server and generator used."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from wirebench.drivers import HistogramFile


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ServerUse(_Frozen):
    """What all replicas of a service used in the windows; None is what wasn't seen."""

    cpu_s: float | None = None
    memory_bytes: int | None = None
    throttled_periods: int | None = None
    #: Requests that the service itself counted during the whole load, by replica and in it by worker.
    requests: dict[str, dict[str, int]] | None = None


class GeneratorUse(_Frozen):
    """What one generator used in the windows, of the cores that it had; None is what wasn't seen."""

    cpu_s: float | None
    cores: float | None
    throttled_periods: int | None
    #: CPU time in its busiest second: where a load changes, a generator may be at its end for a while only.
    busiest_s: float | None = None


class ProxyUse(_Frozen):
    """What the proxy between generator and server used in the windows, and cost by itself.

    `added_ms` is by how much it made a call longer before it was told to delay any, the median of `pairs`: None where
    another of several generators measured it.
    """

    cpu_s: float | None
    added_ms: float | None
    pairs: int


class Observation(_Frozen):
    """One generator's view of one cell; only the first of several looks at the server."""

    file: HistogramFile
    window_s: float
    generator: GeneratorUse
    server: ServerUse
    #: Share of the pinned cores' time that other programs and the hypervisor took; None where it can't be told.
    interference: float | None = None
    #: None where the load went straight to the service.
    proxy: ProxyUse | None = None
    #: Why live metrics didn't get where they should have; empty if they did, or weren't asked for.
    live_problem: str = ""
