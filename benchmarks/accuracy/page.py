"""The page of the results: a table and a picture for each condition."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jinja2 import Template

from benchmarks.accuracy.conditions import BEHAVIOURS, LOADS, Case
from benchmarks.accuracy.measure import merge_repetitions
from wirebench.measure.truth import TruthMeasurement, compute_error_ms
from wirebench.model.contract import TRANSPORTS, Transport
from wirebench.model.histogram import Histogram
from wirebench.model.histogram_file import CLOCKS, OK
from wirebench.present.charts import file as chart_file
from wirebench.present.charts import lines
from wirebench.present.charts.file import Panel
from wirebench.present.charts.plot import PlotFrame, PlotSeries
from wirebench.present.charts.style import Style, assign_styles_to_lines
from wirebench.present.charts.svg import Drawing
from wirebench.present.latencies import compute_quantile_ms, make_curve
from wirebench.present.numbers import ABSENT
from wirebench.system.files import make_write_error, write_atomic

_QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}
#: How far wireload may be off: in ms, and as a share of the truth; and how far its transports may be apart, in ms.
_LIMITS = {"p50": (0.1, 0.01), "p90": (0.1, 0.01), "p99": (0.2, 0.02), "p99.9": (0.5, 0.02)}
_STALL_LIMIT = (0.0, 0.01)
_APART_MS_MAX = {"p50": 0.05, "p99": 0.15}
_HEADER = ("driver", "transport", "clock", "requests/s", *_QUANTILES, "p99 error of each repetition, ms")
_FRAME = PlotFrame(width=270, labels_apart=40)
_TEMPLATE = Template(Path(__file__).with_name("page.md.j2").read_text(encoding="utf-8"), keep_trailing_newline=True)
_TRUTH_DASHES = "1.5 2.5"


@dataclass(frozen=True, slots=True)
class Result:
    """A case, what each repetition measured, and all of them merged."""

    case: Case
    repetitions: tuple[TruthMeasurement, ...]
    merged: TruthMeasurement

    @classmethod
    def of(cls, case: Case, repetitions: Sequence[TruthMeasurement]) -> Result:
        """Merge repetitions."""
        return cls(case, tuple(repetitions), merge_repetitions(repetitions))

    @property
    def waited(self) -> Histogram:
        """What a user waits for, in all repetitions."""
        return self._waited(self.merged)

    def median_error_ms(self, quantile: float) -> float | None:
        """Return the median of the repetitions' errors; None if none has requests beyond the quantile."""
        errors = [compute_error_ms(each.truth, self._waited(each), quantile) for each in self.repetitions]
        known = [error[1] for error in errors if error]
        return statistics.median(known) if known else None

    def _waited(self, measurement: TruthMeasurement) -> Histogram:
        """Return response time under open loads, and service time under closed ones."""
        return measurement.file.merge_histograms("response" if LOADS[self.case.load].rate_per_s else "service")


def make_rows(result: Result) -> Iterator[tuple[str, ...]]:
    """Yield the table's row for each clock of a case."""
    case, merged = result.case, result.merged
    counts = merged.file.count_by_code()
    failed, dropped = sum(counts.values()) - counts[OK], merged.file.dropped_iterations
    remarks = {"failed": failed, "dropped": dropped, "without kernel timestamp": merged.unstamped}
    rate = ", ".join([f"{counts[OK] / merged.window_s:,.0f}", *(f"{n:,} {what}" for what, n in remarks.items() if n)])
    for clock in CLOCKS:
        if (measured := merged.file.merge_histograms(clock)).count:
            cells = [_compare(compute_error_ms(merged.truth, measured, each)) for each in _QUANTILES.values()]
            own = [compute_error_ms(each.truth, each.file.merge_histograms(clock), 0.99) for each in result.repetitions]
            spread = " ".join(f"{each[1]:+.2f}" for each in own if each)
            yield (case.driver, case.transport, clock, rate, *cells, spread)


def _compare(error: tuple[float, float] | None) -> str:
    if error is None:
        return ABSENT
    true_ms, off_ms = error
    return f"{true_ms:.3f} → {true_ms + off_ms:.3f} ({off_ms:+.3f}, {off_ms / true_ms:+.1%})"


def write_page(path: Path, results: Sequence[Result], facts: Sequence[str]) -> None:
    """Write the page, and its pictures into a folder beside it that has its name. Raises WirebenchError."""
    pictures = path.with_suffix("")
    try:
        pictures.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise make_write_error(pictures, error) from error
    styles = assign_styles_to_lines(result.case.driver for result in results)
    by_condition: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        by_condition.setdefault((result.case.behaviour, result.case.load), []).append(result)
    conditions = []
    for (behaviour, load), own in by_condition.items():
        title = f"{behaviour.capitalize()}: {LOADS[load]}"
        picture = pictures / f"{behaviour}-{load}.svg"
        chart_file.write(_draw(f"{title}: latency by percentile, truth and measured", own, styles), picture)
        table = (_HEADER, [row for each in own for row in make_rows(each)])
        conditions.append({"title": title, "picture": f"{pictures.name}/{picture.name}", "table": table})
    page = _TEMPLATE.render(
        facts=facts,
        behaviours={each: BEHAVIOURS[each] for each, _ in by_condition},
        summary=_summarise(results),
        limits=_check_limits(results),
        conditions=conditions,
        table=_make_table,
    )
    write_atomic(path, page)


def _make_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rows))


def _summarise(results: Sequence[Result]) -> tuple[Sequence[str], Sequence[Sequence[str]]] | None:
    """Return the table of each driver's errors by load under a constant latency; None if there was none."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for result in results:
        if result.case.behaviour == "constant":
            errors = [result.median_error_ms(quantile) for quantile in (0.5, 0.99)]
            text = " / ".join(ABSENT if error is None else f"{error:+.2f}" for error in errors)
            found.setdefault((result.case.driver, result.case.transport), {})[result.case.load] = text
    loads = [load for load in LOADS if any(load in own for own in found.values())]
    rows = [(*name, *(own.get(load, ABSENT) for load in loads)) for name, own in found.items()]
    return (("driver", "transport", *(str(LOADS[load]) for load in loads)), rows) if rows else None


def _check_limits(results: Sequence[Result]) -> dict[str, Any] | None:
    """Return how many errors of wireload there are, tables of those over their limit, and the same between transports.

    None without wireload. What the null server is sent is at the ceiling, where no limit holds.
    """
    over, count = [], 0
    by_transport: dict[tuple[str, str, str], list[float]] = {}
    for result in results:
        case, merged = result.case, result.merged
        if case.driver != "wireload" or case.behaviour == "null":
            continue
        condition = f"{case.behaviour}: {LOADS[case.load]}"
        measured = {clock: merged.file.merge_histograms(clock) for clock in CLOCKS}
        for clock, (name, quantile) in itertools.product(CLOCKS, _QUANTILES.items()):
            error = compute_error_ms(merged.truth, measured[clock], quantile)
            if not error:
                continue
            count += 1
            by_transport.setdefault((condition, clock, name), []).append(error[1])
            share_of = _STALL_LIMIT if (case.behaviour, clock) == ("stall", "response") else _LIMITS[name]
            limit_ms = share_of[0] + share_of[1] * error[0]
            if abs(error[1]) > limit_ms:
                figures = (f"{error[0]:.3f}", f"{error[1]:+.3f}", f"{limit_ms:.3f}")
                over.append((condition, case.transport, clock, name, *figures))
    if not count:
        return None
    pairs = {key: max(own) - min(own) for key, own in by_transport.items() if len(own) > 1 and key[-1] in _APART_MS_MAX}
    apart = [
        (*key, f"{apart_ms:.3f}", f"{_APART_MS_MAX[key[-1]]:.3f}")
        for key, apart_ms in pairs.items()
        if apart_ms > _APART_MS_MAX[key[-1]]
    ]
    return {
        "count": count,
        "over": (("load", "transport", "clock", "percentile", "truth, ms", "error, ms", "limit, ms"), over),
        "pairs": len(pairs),
        "apart": (("load", "clock", "percentile", "apart, ms", "limit, ms"), apart),
    }


def _draw(title: str, results: Sequence[Result], styles: Mapping[str, Style]) -> Drawing:
    """Draw a panel for each transport, and in it a pair of curves for each driver."""
    cells: dict[Transport, list[PlotSeries]] = {each.case.transport: [] for each in results}
    for result in results:
        truth, measured = make_curve(result.merged.truth), make_curve(result.waited)
        if truth and measured:
            style = styles[result.case.driver]
            percentiles = {name: compute_quantile_ms(result.waited, quantile) for name, quantile in _QUANTILES.items()}
            cells[result.case.transport] += (
                lines.make_latency_series(style, percentiles, curve=measured),
                lines.make_latency_series(
                    replace(style, name=f"{style.name}, truth", dashes=_TRUTH_DASHES), {}, curve=truth
                ),
            )
    plot = lines.make_latency_plot((cell for own in cells.values() for cell in own), _FRAME)
    panels = [
        Panel(transport, [cell.style for cell in own[::2]], lines.draw_latencies(transport, own, plot))
        for transport, own in cells.items()
        if own and plot
    ]
    clock = "response" if LOADS[results[0].case.load].rate_per_s else "service"
    return chart_file.arrange(title, panels, f"{clock} time, ms; dotted: truth", columns=len(TRANSPORTS))
