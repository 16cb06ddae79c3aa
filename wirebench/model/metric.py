"""The metrics: name, label, unit, direction and meaning of each figure, for the terminal, reports, pages and files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, cast

from wirebench.model.record import Record


@dataclass(frozen=True, slots=True)
class Metric:
    """A figure of a record; `over_blocks` is what becomes of the blocks' figures in that of a cell.

    A latency of a cell is read from the merged histograms of its blocks.
    """

    name: str
    label: str
    #: Empty if the label has it.
    unit: str
    #: Where it stands in a record: `streams.gap_ms`.
    path: str
    description: str
    more_is_better: bool = False
    over_blocks: Literal["geometric mean", "sum", "merged"] = "geometric mean"
    #: For columns and charts that have no room for the label.
    short: str = ""
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
        """What it is called wherever programs read or write it: in JSON and in the index."""
        return self.path.rpartition(".")[2]

    @property
    def heading(self) -> str:
        return ", ".join(filter(None, (self.label, self.unit)))

    @property
    def column(self) -> str:
        return self.short or self.label


def _latency(name: str, description: str, gates_of: str = "") -> Metric:
    """Return a latency of requests, on the clock of what users wait."""
    label = name.replace("_", ".")
    return Metric(name, label, "ms", f"latency.{name}_ms", description, over_blocks="merged", gates_of=gates_of)


_count = partial(Metric, over_blocks="sum")
_gain = partial(Metric, more_is_better=True)
_ALL = (
    _count("requests", "requests", "", "requests", "Requests that ended in the measured windows.", more_is_better=True),
    _gain("throughput", "requests/s", "", "throughput_per_s", "Successful requests a second.", short="req/s"),
    _latency("min", "The fastest request."),
    replace(_latency("mean", "Mean latency.", gates_of="p50"), label="mean latency", short="mean"),
    _latency("stdev", "Standard deviation of the latencies."),
    _latency("p50", "Half of the requests took no longer."),
    _latency("p90", "90 % of the requests took no longer.", gates_of="p99"),
    _latency("p95", "95 % of the requests took no longer.", gates_of="p99"),
    _latency("p99", "99 % of the requests took no longer."),
    _latency("p99_9", "99.9 % of the requests took no longer; of 10,000 successful ones or more.", gates_of="p99"),
    _latency("max", "The slowest request."),
    _count("errors", "errors", "", "failed", "Requests that failed."),
    _count(
        "retried", "retried", "", "retried", "Requests that were sent again, as the service rejected them unprocessed."
    ),
    _count("reconnects", "reconnects", "", "reconnects", "Connections that replaced one that had ended."),
    Metric("cpu", "server CPU per request", "µs", "cpu_us_per_request", "The service's CPU time.", short="CPU/req"),
    _gain("capacity", "capacity", "requests/s", "search.capacity_per_s", "The highest rate that kept the objective."),
    _count("items", "items", "", "streams.items", "Items that came in the measured windows.", more_is_better=True),
    _gain("item_rate", "items/s", "", "streams.item_rate_per_s", "Items a second, of all streams together."),
    Metric(
        "first_item",
        "time to the first item",
        "ms",
        "streams.first_item_ms",
        "Median time from the request, or from when it was due, to the first item.",
        over_blocks="merged",
        short="first item",
    ),
    Metric(
        "gap",
        "p99 gap between items",
        "ms",
        "streams.gap_ms",
        "99 % of the gaps between two items of a stream were no longer.",
        over_blocks="merged",
        short="p99 gap",
    ),
    Metric("item_cpu", "server CPU per item", "µs", "streams.cpu_us_per_item", "The same by items.", short="CPU/item"),
    Metric(
        "ceiling_share",
        "share of the driver's ceiling",
        "%",
        "instrument.ceiling_share_percent",
        "The requests/s as a share of the most that the driver makes on as many connections.",
        short="of ceiling",
    ),
)

#: All of them, in the order in which they are shown.
METRICS = {metric.name: metric for metric in _ALL}
#: What cells are compared by.
COMPARED = {
    name: METRICS[name]
    for name in ("throughput", "mean", "p50", "p99", "cpu", "capacity", "item_rate", "first_item", "gap", "item_cpu")
}
#: The lowest and the highest block of these stand beside the figures of cells.
SPREAD = (METRICS["p50"], METRICS["p99"])


def name_spread(metric: Metric) -> tuple[str, str]:
    """Return the fields of its lowest and its highest block."""
    return f"{metric.name}_lowest_block_ms", f"{metric.name}_highest_block_ms"
