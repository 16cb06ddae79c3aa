"""The metrics: name, label, unit, direction and meaning of each figure, for the terminal, reports, pages and files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from wirebench.model.record import Instrument, Interval, Latency, Record, StreamFigures

_UNIT_SUFFIXES = {
    "ms": "_ms",
    "µs": "_us",
    "1/s": "_per_s",
    "requests/s": "_per_s",
    "%": "_percent",
    "blocks": "_blocks",
}


@dataclass(frozen=True, slots=True)
class Metric:
    """A figure of a record; `over_blocks` is what becomes of the blocks' figures in that of a cell.

    A latency of a cell is read from the merged histograms of its blocks.
    """

    name: str
    label: str
    unit: str
    description: str
    of: Callable[[Record], float | None]
    higher_is_better: bool = False
    over_blocks: Literal["geometric mean", "sum", "merged"] = "geometric mean"
    #: For columns and charts that have no room for the label.
    short: str = ""
    #: The driver's error of it, where that is known of any.
    error_ms: Callable[[Instrument], Interval | None] | None = None
    #: The metric that gates name, where they don't name this one.
    gates_of: str = ""
    #: What it is called in files, where that isn't its name with its unit.
    own_field: str = ""

    @property
    def field(self) -> str:
        """What it is called wherever programs read or write it: in JSON, in CSV and in the index."""
        return self.own_field or f"{self.name}{_UNIT_SUFFIXES.get(self.unit, '')}"

    @property
    def gated_by(self) -> str:
        """The metric whose failed gates say that this one can't be trusted."""
        return self.gates_of or self.name

    @property
    def unit_label(self) -> str:
        """Its unit, unless the label has it."""
        return "" if self.unit == "1/s" else self.unit

    @property
    def heading(self) -> str:
        return ", ".join(filter(None, (self.label, self.unit_label)))

    @property
    def better(self) -> str:
        return f"{'more' if self.higher_is_better else 'less'} is better"

    @property
    def caption(self) -> str:
        """Its unit, and which way is better: what stands below its label."""
        return ", ".join(filter(None, (self.unit_label, self.better)))

    @property
    def spread(self) -> str:
        """What stands beside the figure of a cell: how far its blocks lie apart."""
        return "lowest–highest block" if self.over_blocks == "merged" else "95 % interval"

    @property
    def column(self) -> str:
        return self.short or self.label


def _skip_streams(figure: Callable[[Record], float | None]) -> Callable[[Record], float | None]:
    """Take a figure of requests: whole streams have none that could be compared with those."""
    return lambda record: None if record.streams else figure(record)


def _select_streams(figure: Callable[[StreamFigures], float | None]) -> Callable[[Record], float | None]:
    return lambda record: figure(record.streams) if record.streams else None


def choose_clock(record: Record) -> Literal["service", "response"] | None:
    """Return the clock of what users waited: the response clock where there is one.

    None where no request succeeded, and for streams: what counts of those is their items.
    """
    if record.streams:
        return None
    if record.response:
        return "response"
    return "service" if record.service else None


def choose_latency(record: Record) -> Latency | None:
    """Return the latencies that users waited; None where no request succeeded, and for streams."""
    clock = choose_clock(record)
    return getattr(record, clock) if clock else None


def _read_instrument(figure: Callable[[Instrument], float | None]) -> Callable[[Record], float | None]:
    return lambda record: figure(record.instrument) if record.instrument else None


def _divide_kept_rate(record: Record, amount: float | None) -> float | None:
    rate_per_s = record.search.rate_kept_per_s if record.search else None
    return rate_per_s / amount if rate_per_s and amount else None


def _make_latency(
    name: str, description: str, error_ms: Callable[[Instrument], Interval | None] | None = None, gates_of: str = ""
) -> Metric:
    return Metric(
        name,
        name.replace("_", "."),
        "ms",
        description,
        of=lambda record: getattr(choose_latency(record), f"{name}_ms", None),
        over_blocks="merged",
        error_ms=error_ms,
        gates_of=gates_of,
    )


_REQUESTS = (
    Metric(
        "requests",
        "requests",
        "",
        "Requests that ended in the measured windows, failed ones included.",
        of=lambda record: record.requests,
        higher_is_better=True,
        over_blocks="sum",
    ),
    Metric(
        "throughput",
        "requests/s",
        "1/s",
        "Successful requests a second.",
        of=_skip_streams(lambda record: record.rate_achieved_per_s),
        higher_is_better=True,
        short="req/s",
    ),
)
#: Of requests, on the clock of what users wait.
LATENCIES = (
    _make_latency("min", "The fastest request."),
    _make_latency("mean", "Mean latency."),
    _make_latency("stdev", "Standard deviation of the latencies."),
    _make_latency("p50", "Half of the requests took no longer.", error_ms=lambda of: of.p50_error_ms),
    _make_latency("p90", "90 % of the requests took no longer.", gates_of="p99"),
    _make_latency("p95", "95 % of the requests took no longer.", gates_of="p99"),
    _make_latency("p99", "99 % of the requests took no longer.", error_ms=lambda of: of.p99_error_ms),
    _make_latency(
        "p99_9", "99.9 % of the requests took no longer; only of 10,000 successful requests or more.", gates_of="p99"
    ),
    _make_latency("max", "The slowest request."),
)
_COSTS = (
    Metric(
        "errors",
        "errors",
        "",
        "Requests that failed.",
        of=lambda record: sum(record.errors.values()),
        over_blocks="sum",
        own_field="failed",
    ),
    Metric(
        "retried",
        "retried",
        "",
        "Requests that were sent again, warm-up included: the service had not processed them, or closed a kept "
        "connection before its reply began.",
        of=lambda record: record.retried,
        over_blocks="sum",
    ),
    Metric(
        "cpu",
        "server CPU per request",
        "µs",
        "CPU time of the service's processes, divided by the requests.",
        of=_skip_streams(lambda record: record.server.cpu_us_per_request),
        short="CPU/req",
        own_field="cpu_us_per_request",
    ),
)
_CAPACITIES = (
    Metric(
        "capacity",
        "capacity",
        "requests/s",
        "The rate up to which the service kept the objective of a search.",
        of=lambda record: record.search.capacity_per_s if record.search else None,
        higher_is_better=True,
    ),
    Metric(
        "capacity_core",
        "capacity per core",
        "requests/s",
        "The highest rate that kept the objective, divided by the cores that the service kept busy at it.",
        of=lambda record: _divide_kept_rate(record, (record.server.cpu_s or 0.0) / record.window_s),
        higher_is_better=True,
        short="per core",
    ),
    Metric(
        "capacity_memory",
        "capacity per GB",
        "requests/s",
        "The highest rate that kept the objective, divided by the service's memory at it, in 10⁹ bytes.",
        of=lambda record: _divide_kept_rate(record, (record.server.memory_bytes or 0) / 1e9),
        higher_is_better=True,
        short="per GB",
    ),
)
_STREAMS = (
    Metric(
        "items",
        "items",
        "",
        "Items of streams that came in the measured windows.",
        of=_select_streams(lambda of: of.items),
        higher_is_better=True,
        over_blocks="sum",
    ),
    Metric(
        "item_rate",
        "items/s",
        "1/s",
        "Items a second, of all streams together.",
        of=_select_streams(lambda of: of.item_rate_per_s),
        higher_is_better=True,
    ),
    Metric(
        "first_item",
        "time to the first item",
        "ms",
        "Median time from the request, or from when it was due, to the first item.",
        of=_select_streams(lambda of: of.first_item.p50_ms if of.first_item else None),
        over_blocks="merged",
        short="first item",
    ),
    Metric(
        "gap",
        "p99 gap between items",
        "ms",
        "99 % of the gaps between two items of a stream were no longer.",
        of=_select_streams(lambda of: of.gap.p99_ms if of.gap else None),
        over_blocks="merged",
        short="p99 gap",
    ),
    Metric(
        "item_cpu",
        "server CPU per item",
        "µs",
        "CPU time of the service's processes, divided by the items.",
        of=_select_streams(lambda of: of.cpu_us_per_item),
        short="CPU/item",
        own_field="cpu_us_per_item",
    ),
)
_DRIVERS = (
    Metric(
        "ceiling_share",
        "share of the driver's ceiling",
        "%",
        "The requests/s as a share of the most that the driver makes on as many connections, if it is calibrated.",
        of=_read_instrument(lambda of: None if of.ceiling_share is None else 100 * of.ceiling_share),
        short="of ceiling",
    ),
    Metric(
        "coarse",
        "coarsely calibrated",
        "blocks",
        "Blocks whose driver was calibrated briefly, at the start of a run.",
        of=_read_instrument(lambda of: int(of.coarse)),
        over_blocks="sum",
    ),
)

#: All of them, in the order in which they are shown.
METRICS = {metric.name: metric for metric in (*_REQUESTS, *LATENCIES, *_COSTS, *_CAPACITIES, *_STREAMS, *_DRIVERS)}
#: Those whose blocks are combined by what the metric of each block is; the others by their histograms.
COMBINED = tuple(metric for metric in METRICS.values() if metric.over_blocks != "merged")
#: What the driver's figures are worth.
DRIVERS = tuple(metric.name for metric in _DRIVERS)
#: What cells are compared by that were searched for their capacity: each is measured at a rate of its own.
CAPACITIES = tuple(metric.name for metric in _CAPACITIES)
#: What cells are compared by.
COMPARED = {
    name: METRICS[name]
    for name in ("throughput", "p50", "p99", "cpu", *CAPACITIES, "item_rate", "first_item", "gap", "item_cpu")
}
#: The lowest and the highest block of these stand beside the figures of cells.
SPREAD = (METRICS["p50"], METRICS["p99"])


def name_spread(metric: Metric) -> tuple[str, str]:
    """Return the fields of its lowest and its highest block."""
    return f"{metric.name}_lowest_block_ms", f"{metric.name}_highest_block_ms"
