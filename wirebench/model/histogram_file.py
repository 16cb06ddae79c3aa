"""The histogram file: what every driver returns for one cell. docs/histogram-file.md describes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from pydantic import Field, ValidationError

from wirebench.errors import WirebenchError
from wirebench.model.frozen import FrozenModel
from wirebench.model.validation_messages import describe_first
from wirebench.system.files import write_atomic

if TYPE_CHECKING:
    from wirebench.model.histogram import Histogram

#: What a series times: whole requests on two clocks, and the items of streams.
Clock = Literal["service", "response", "first_item", "gap"]
CLOCKS: tuple[Clock, ...] = get_args(Clock)

OK = "ok"
ERROR_TEXTS_MAX = 10


class DriverVersion(FrozenModel):
    """Which tool wrote the file."""

    name: str
    version: str


class Window(FrozenModel):
    """The measured part of the load, in nanoseconds since 1970."""

    start_unix_ns: int
    end_unix_ns: int

    @property
    def duration_s(self) -> float:
        return (self.end_unix_ns - self.start_unix_ns) / 1e9


class _Requests(FrozenModel):
    """Requests of the window with the same operation and outcome."""

    operation: str
    code: str


class Series(_Requests):
    """Their latencies on one clock."""

    clock: Clock
    count: int
    histogram: str


class PerSecond(_Requests):
    """How many of them ended in each second of the window."""

    counts: tuple[int, ...]


class Streams(FrozenModel):
    """What there was of streams, beside the times of their items.

    `items_total` are those of the whole load, `items_per_second` of each second of the window; `cancelled` streams were
    on their way when the load was over.
    """

    items_total: int
    items_per_second: tuple[int, ...]
    cancelled: int


class Calls(_Requests):
    """The service time of each, in the order of their ends, in nanoseconds."""

    latencies_ns: tuple[int, ...]


class ErrorText(FrozenModel):
    """What the requests of one outcome failed with, and how many did."""

    code: str
    message: str
    count: int

    def __str__(self) -> str:
        return f"{self.code}: {self.message} ({self.count}×)"


class HistogramFile(FrozenModel):
    """What one driver run measured."""

    schema_version: Literal["wirebench.histograms/1"] = Field(default="wirebench.histograms/1", alias="schema")
    driver: DriverVersion
    window: Window | None
    series: tuple[Series, ...]
    per_second: tuple[PerSecond, ...]
    requests_total: dict[str, int]
    mismatches: int
    dropped_iterations: int
    #: Sent again because they had provably not been processed; each counts once in `requests_total`.
    retried: int = 0
    #: Connections that took the place of one that had ended.
    reconnects: int = 0
    bytes_sent: int | None = None
    bytes_received: int | None = None
    bytes_requests: int | None = None
    #: None for a load without streams.
    streams: Streams | None = None
    errors: tuple[ErrorText, ...] = ()
    #: Failures without a reply by class (refused, reset, cut_short, …), of the whole load; not by all drivers.
    error_classes: dict[str, int] = Field(default_factory=dict)
    #: Where the load is a number of calls.
    calls: tuple[Calls, ...] = ()

    @classmethod
    def read(cls, path: Path) -> HistogramFile:
        """Read a file. Raises WirebenchError that names it if it can't be read."""
        try:
            return cls.model_validate_json(path.read_bytes())
        except OSError as error:
            raise WirebenchError(f"can't read {path}: {error.strerror}", "the driver wrote no histograms") from error
        except ValidationError as error:
            raise WirebenchError(f"{path}: {describe_first(error)}", "it is not a histogram file") from None

    def write(self, path: Path) -> None:
        """Write the file, whole or not at all. Raises WirebenchError."""
        write_atomic(path, self.model_dump_json(by_alias=True, exclude_none=True))

    def merge_histograms(self, clock: Clock, operation: str | None = None) -> Histogram:
        """Merge the successful requests' histograms of a clock, or of one operation's; empty if there are none."""
        return _sum_histograms(
            each.histogram
            for each in self.series
            if each.clock == clock and each.code == OK and operation in (None, each.operation)
        )

    def count_by_code(self, operation: str | None = None) -> dict[str, int]:
        """Return the number of the window's requests, or of one operation's, by outcome."""
        counts: Counter[str] = Counter()
        for series in self.series:
            if series.clock == "service" and operation in (None, series.operation):
                counts[series.code] += series.count
        return dict(counts)

    @property
    def sent(self) -> int:
        """All requests of the load, whatever came of them: as many as the service has seen."""
        return sum(self.requests_total.values()) + (self.streams.cancelled if self.streams else 0)

    @property
    def operations(self) -> tuple[str, ...]:
        return tuple(sorted({series.operation for series in self.series}))

    @property
    def items(self) -> int:
        return sum(each.count for each in self.series if each.clock in ("first_item", "gap"))

    def sum_s(self, *clocks: Clock) -> float:
        """Return how long the window's requests took, or its items, all together and whatever their outcome."""
        return _sum_histograms(each.histogram for each in self.series if each.clock in clocks).sum_ns / 1e9

    def require_window(self) -> Window:
        """Return the window. Raises WirebenchError if not one request was sent, or none after the warm-up."""
        if self.window is None:
            hint = "see the driver's log, or lengthen load.window_s, in which all calls have to end"
            raise WirebenchError("no request was sent after the warm-up", hint)
        return self.window


def _sum_histograms(texts: Iterable[str]) -> Histogram:
    """Merge encoded histograms; empty if there are none."""
    from wirebench.model.histogram import Histogram  # numpy, which takes long to import

    return sum((Histogram.decode(text) for text in texts), start=Histogram.empty())


def choose_most_frequent(errors: Iterable[ErrorText]) -> tuple[ErrorText, ...]:
    """Add up errors of the same code and text, and return the most frequent, the first ones first."""
    counts: Counter[tuple[str, str]] = Counter()
    for each in errors:
        counts[each.code, each.message] += each.count
    most = counts.most_common(ERROR_TEXTS_MAX)
    return tuple(ErrorText(code=code, message=text, count=count) for (code, text), count in most)
