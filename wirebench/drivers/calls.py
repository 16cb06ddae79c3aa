"""What a tool tells of every single call, and the folding of it into a histogram file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

from wirebench.drivers.histogram import Histogram
from wirebench.drivers.histogram_file import (
    ERROR_TEXTS_MAX,
    OK,
    Clock,
    DriverVersion,
    ErrorText,
    HistogramFile,
    PerSecond,
    Series,
    Window,
)
from wirebench.errors import WirebenchError

#: An outcome of a call: its code, and the text of its error, empty if there is none.
Outcome = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Calls:
    """Every call of a load; the arrays are of shape (calls,), in nanoseconds.

    `outcome` is each call's place in `outcomes`. `responses_ns` are counted from when a call was due; None if nobody
    knows. What the tool tells no time of: `untimed` failed, `outside` were answered before the load began.
    """

    ends_unix_ns: NDArray[np.int64]
    latencies_ns: NDArray[np.int64]
    outcome: NDArray[np.int64]
    outcomes: tuple[Outcome, ...]
    responses_ns: NDArray[np.int64] | None = None
    untimed: Mapping[Outcome, int] = field(default_factory=dict)
    outside: int = 0
    mismatches: int = 0
    dropped: int = 0

    @classmethod
    def of(cls, ends_unix_ns: NDArray[np.int64], latencies_ns: NDArray[np.int64], outcomes: Iterable[Outcome]) -> Calls:
        """Take each call's outcome as it is, and not as a place."""
        places: dict[Outcome, int] = {}
        outcome = [places.setdefault(each, len(places)) for each in outcomes]
        return cls(ends_unix_ns, latencies_ns, np.array(outcome, dtype=np.int64), tuple(places))


def read_columns(path: Path, outcome: Callable[[str], Outcome]) -> Calls:
    """Read calls as our fortio and our locustfile write them: JSON, an array for each column.

    `outcome` understands the tool's own words. Raises WirebenchError.
    """
    try:
        columns = orjson.loads(path.read_bytes())
        return Calls(
            ends_unix_ns=np.array(columns["ends_unix_ns"] or (), dtype=np.int64),
            latencies_ns=np.array(columns["latencies_ns"] or (), dtype=np.int64),
            outcome=np.array(columns["outcome"] or (), dtype=np.int64),
            outcomes=tuple(map(outcome, columns["outcomes"] or ())),
            mismatches=columns.get("mismatches", 0),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WirebenchError(f"can't read what the load was: {path}: {error}", "see the driver's log") from error


def fold(calls: Calls, operation: str, warmup_s: float, window_s: float, driver: DriverVersion) -> HistogramFile:
    """Fold calls into a histogram file: the window opens `warmup_s` after the first call was sent.

    Failures of unknown time are taken for the window's own, so that no warm-up hides them; of no latency, which enters
    no figure. Raises WirebenchError if no call was made.
    """
    if not len(calls.ends_unix_ns):
        said = "; ".join(f"{code}: {text} ({count}×)" for (code, text), count in calls.untimed.items())
        raise WirebenchError(f"{driver.name} made no call{said and f' that was answered: {said}'}", "see its log")
    start = int((calls.ends_unix_ns - calls.latencies_ns).min()) + round(warmup_s * 1e9)
    window = Window(start_unix_ns=start, end_unix_ns=start + round(window_s * 1e9))
    ends, latencies, responses, codes = _with_untimed(calls, start)
    inside = (ends >= window.start_unix_ns) & (ends < window.end_unix_ns)
    series, per_second = [], []
    for code in dict.fromkeys(codes[inside].tolist()):
        chosen = inside & (codes == code)
        series.append(_series(operation, code, "service", latencies[chosen]))
        if calls.responses_ns is not None:
            series.append(_series(operation, code, "response", responses[chosen]))
        seconds = np.bincount((ends[chosen] - window.start_unix_ns) // 1_000_000_000)
        per_second.append(PerSecond(operation=operation, code=code, counts=tuple(seconds.tolist())))
    totals = Counter(codes.tolist())
    totals[OK] += calls.outside
    return HistogramFile(
        driver=driver,
        window=window,
        series=tuple(series),
        per_second=tuple(per_second),
        requests_total={code: count for code, count in totals.items() if count},
        mismatches=calls.mismatches,
        dropped_iterations=calls.dropped,
        errors=tuple(_errors(calls)),
    )


_Times = NDArray[np.int64]


def _with_untimed(calls: Calls, start_ns: int) -> tuple[_Times, _Times, _Times, NDArray[np.str_]]:
    """Return ends, latencies, response times and codes of all calls; those of unknown time come last."""
    codes = np.array([code for code, _ in calls.outcomes], dtype=np.str_)[calls.outcome]
    responses = calls.latencies_ns if calls.responses_ns is None else calls.responses_ns
    counts = list(calls.untimed.values())
    nothing = np.zeros(sum(counts), dtype=np.int64)
    return (
        np.append(calls.ends_unix_ns, nothing + start_ns),
        np.append(calls.latencies_ns, nothing),
        np.append(responses, nothing),
        np.append(codes, np.repeat([code for code, _ in calls.untimed], counts)) if counts else codes,
    )


def _series(operation: str, code: str, clock: Clock, values_ns: NDArray[np.int64]) -> Series:
    encoded = Histogram.of_values(values_ns).encode()
    return Series(operation=operation, code=code, clock=clock, count=len(values_ns), histogram=encoded)


def _errors(calls: Calls) -> Iterator[ErrorText]:
    counts: Counter[Outcome] = Counter(calls.untimed)
    for place, count in enumerate(np.bincount(calls.outcome).tolist()):
        counts[calls.outcomes[place]] += count
    texts = [(outcome, count) for outcome, count in counts.most_common() if outcome[1]]
    for (code, message), count in texts[:ERROR_TEXTS_MAX]:
        yield ErrorText(code=code, message=message, count=count)
