"""The metrics: name, label, unit, direction and meaning of each figure, for the terminal, reports, pages and files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, cast

from wirebench.model.record import Record


@dataclass(frozen=True, slots=True)
class Metric:
    """A figure of a record; `over_blocks` is what becomes of the blocks' figures in that of a cell.

    A latency of a cell is read from the merged histograms of its blocks.
    """

    name: str
    label: str
    unit: str
    description: str
    #: Where it stands in a record: `streams.gap_ms`.
    path: str
    better: Literal["less", "more"] = "less"
    over_blocks: Literal["geometric mean", "sum", "merged"] = "geometric mean"
    #: For columns and charts that have no room for the label.
    short: str = ""
    #: The field of an `Instrument` with the driver's error of it, where that is known of any.
    error: str = ""
    #: The metric that gates name, where they don't name this one.
    gates_of: str = ""

    def of(self, record: Record) -> float | None:
        """Return the figure of a record; None if it has none."""
        found: Any = record
        for part in self.path.split("."):
            found = getattr(found, part, None)
        return cast("float | None", found)

    @property
    def field(self) -> str:
        """What it is called wherever programs read or write it: in JSON, in CSV and in the index."""
        return self.path.rpartition(".")[2]

    @property
    def higher_is_better(self) -> bool:
        return self.better == "more"

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
    def caption(self) -> str:
        """Its unit, and which way is better: what stands below its label."""
        return ", ".join(filter(None, (self.unit_label, f"{self.better} is better")))

    @property
    def spread(self) -> str:
        """What stands beside the figure of a cell: how far its blocks lie apart."""
        return "lowest–highest block" if self.over_blocks == "merged" else "95 % interval"

    @property
    def column(self) -> str:
        return self.short or self.label


def _make_latency(name: str, description: str, error: str = "", gates_of: str = "") -> Metric:
    """Return a latency of requests, on the clock of what users wait."""
    label, path = name.replace("_", "."), f"latency.{name}_ms"
    return Metric(name, label, "ms", description, path, over_blocks="merged", error=error, gates_of=gates_of)


_REQUESTS = (
    Metric(
        "requests",
        "requests",
        "",
        "Requests that ended in the measured windows, failed ones included.",
        "requests",
        "more",
        over_blocks="sum",
    ),
    Metric(
        "throughput", "requests/s", "1/s", "Successful requests a second.", "throughput_per_s", "more", short="req/s"
    ),
)
LATENCIES = (
    _make_latency("min", "The fastest request."),
    _make_latency("mean", "Mean latency."),
    _make_latency("stdev", "Standard deviation of the latencies."),
    _make_latency("p50", "Half of the requests took no longer.", error="p50_error_ms"),
    _make_latency("p90", "90 % of the requests took no longer.", gates_of="p99"),
    _make_latency("p95", "95 % of the requests took no longer.", gates_of="p99"),
    _make_latency("p99", "99 % of the requests took no longer.", error="p99_error_ms"),
    _make_latency(
        "p99_9", "99.9 % of the requests took no longer; only of 10,000 successful requests or more.", gates_of="p99"
    ),
    _make_latency("max", "The slowest request."),
)
_COSTS = (
    Metric("errors", "errors", "", "Requests that failed.", "failed", over_blocks="sum"),
    Metric(
        "retried",
        "retried",
        "",
        "Requests that were sent again, warm-up included: the service had not processed them, or closed a kept "
        "connection before its reply began.",
        "retried",
        over_blocks="sum",
    ),
    Metric(
        "cpu",
        "server CPU per request",
        "µs",
        "CPU time of the service's processes, divided by the requests.",
        "cpu_us_per_request",
        short="CPU/req",
    ),
)
_CAPACITIES = (
    Metric(
        "capacity",
        "capacity",
        "requests/s",
        "The rate up to which the service kept the objective of a search.",
        "search.capacity_per_s",
        "more",
    ),
    Metric(
        "capacity_core",
        "capacity per core",
        "requests/s",
        "The highest rate that kept the objective, divided by the cores that the service kept busy at it.",
        "capacity_core_per_s",
        "more",
        short="per core",
    ),
    Metric(
        "capacity_memory",
        "capacity per GB",
        "requests/s",
        "The highest rate that kept the objective, divided by the service's memory at it, in 10⁹ bytes.",
        "capacity_memory_per_s",
        "more",
        short="per GB",
    ),
)
_STREAMS = (
    Metric(
        "items",
        "items",
        "",
        "Items of streams that came in the measured windows.",
        "streams.items",
        "more",
        over_blocks="sum",
    ),
    Metric(
        "item_rate", "items/s", "1/s", "Items a second, of all streams together.", "streams.item_rate_per_s", "more"
    ),
    Metric(
        "first_item",
        "time to the first item",
        "ms",
        "Median time from the request, or from when it was due, to the first item.",
        "streams.first_item_ms",
        over_blocks="merged",
        short="first item",
    ),
    Metric(
        "gap",
        "p99 gap between items",
        "ms",
        "99 % of the gaps between two items of a stream were no longer.",
        "streams.gap_ms",
        over_blocks="merged",
        short="p99 gap",
    ),
    Metric(
        "item_cpu",
        "server CPU per item",
        "µs",
        "CPU time of the service's processes, divided by the items.",
        "streams.cpu_us_per_item",
        short="CPU/item",
    ),
)
_DRIVERS = (
    Metric(
        "ceiling_share",
        "share of the driver's ceiling",
        "%",
        "The requests/s as a share of the most that the driver makes on as many connections, if it is calibrated.",
        "instrument.ceiling_share_percent",
        short="of ceiling",
    ),
    Metric(
        "coarse",
        "coarsely calibrated",
        "blocks",
        "Blocks whose driver was calibrated briefly, at the start of a run.",
        "instrument.coarse_blocks",
        over_blocks="sum",
    ),
)

#: All of them, in the order in which they are shown.
METRICS = {metric.name: metric for metric in (*_REQUESTS, *LATENCIES, *_COSTS, *_CAPACITIES, *_STREAMS, *_DRIVERS)}
#: Those whose blocks are combined by what the metric of each block is; the others by their histograms.
COMBINED = tuple(metric for metric in METRICS.values() if metric.over_blocks != "merged")
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
