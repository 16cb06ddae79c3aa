"""The page of the results: a table and a picture for each condition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Template
from matplotlib.figure import Figure

from benchmarks.accuracy.conditions import BEHAVIOURS, LOADS, Case
from benchmarks.accuracy.measure import merge_repetitions
from wirebench.drivers import Histogram
from wirebench.drivers.histogram_file import OK
from wirebench.files import cannot_write, write_whole
from wirebench.measure.truth import Measurement, error_ms
from wirebench.report.charts import file as chart_file
from wirebench.report.charts import latency
from wirebench.report.charts.style import INK, MUTED, Style, styles_of_lines
from wirebench.report.charts.svg import FONT_SIZE, SMALL_FONT_SIZE, UNITS_PER_INCH, remove_frame
from wirebench.report.latencies import Curve, curve_of
from wirebench.report.numbers import ABSENT
from wirebench.scenario.contract import Transport

_QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}
_HEADER = ("driver", "transport", "clock", "requests/s", *_QUANTILES, "p99 error of each repetition, ms")
_WIDTH, _HEIGHT = 760, 300
_MARGINS = {"left": 0.06, "right": 0.985, "top": 0.8, "bottom": 0.14, "wspace": 0.08}
_TEMPLATE = Template(Path(__file__).with_name("page.md.j2").read_text(encoding="utf-8"), keep_trailing_newline=True)
_TRUTH_DASHES = (0, (1.5, 1.5))


@dataclass(frozen=True, slots=True)
class Result:
    """A case, what each repetition measured, and all of them merged."""

    case: Case
    repetitions: tuple[Measurement, ...]
    merged: Measurement

    @classmethod
    def of(cls, case: Case, repetitions: Sequence[Measurement]) -> Result:
        """Merge repetitions."""
        return cls(case, tuple(repetitions), merge_repetitions(repetitions))

    @property
    def waited(self) -> Histogram:
        """What a user waits for: response time under open loads, and service time under closed ones."""
        return self.merged.file.histogram("response" if LOADS[self.case.load].rate_per_s else "service")


def make_rows(result: Result) -> Iterator[tuple[str, ...]]:
    """Yield the table's row for each clock of a case."""
    case, merged = result.case, result.merged
    counts = merged.file.counts_by_code()
    failed, dropped = sum(counts.values()) - counts[OK], merged.file.dropped_iterations
    remarks = {"failed": failed, "dropped": dropped, "without kernel timestamp": merged.unstamped}
    rate = ", ".join([f"{counts[OK] / merged.window_s:,.0f}", *(f"{n:,} {what}" for what, n in remarks.items() if n)])
    for clock in ("service", "response"):
        if (measured := merged.file.histogram(clock)).count:
            cells = [_compare(error_ms(merged.truth, measured, each)) for each in _QUANTILES.values()]
            own = [error_ms(each.truth, each.file.histogram(clock), 0.99) for each in result.repetitions]
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
        raise cannot_write(pictures, error) from error
    looks = styles_of_lines(result.case.driver for result in results)
    by_condition: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        by_condition.setdefault((result.case.behaviour, result.case.load), []).append(result)
    conditions = []
    for (behaviour, load), own in by_condition.items():
        title = f"{behaviour.capitalize()}: {LOADS[load]}"
        picture = pictures / f"{behaviour}-{load}.svg"
        chart_file.write(_draw(own, looks), picture, f"{title}: latency by percentile, truth and measured")
        table = (_HEADER, [row for each in own for row in make_rows(each)])
        conditions.append(
            {
                "title": title,
                "behaviour": BEHAVIOURS[behaviour],
                "picture": f"{pictures.name}/{picture.name}",
                "table": table,
            }
        )
    page = _TEMPLATE.render(facts=facts, summary=_summarise(results), conditions=conditions, table=_make_table)
    write_whole(path, page)


def _make_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rows))


def _summarise(results: Sequence[Result]) -> tuple[Sequence[str], Sequence[Sequence[str]]] | None:
    """Return the table of each driver's errors by load under a constant latency; None if there was none."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for result in results:
        if result.case.behaviour == "constant":
            errors = [error_ms(result.merged.truth, result.waited, quantile) for quantile in (0.5, 0.99)]
            text = " / ".join(f"{each[1]:+.2f}" if each else ABSENT for each in errors)
            found.setdefault((result.case.driver, result.case.transport), {})[result.case.load] = text
    loads = [load for load in LOADS if any(load in own for own in found.values())]
    rows = [(*name, *(own.get(load, ABSENT) for load in loads)) for name, own in found.items()]
    return (("driver", "transport", *(str(LOADS[load]) for load in loads)), rows) if rows else None


def _draw(results: Sequence[Result], looks: Mapping[str, Style]) -> Figure:
    """Draw a panel for each transport, and in it a pair of curves for each driver."""
    panels: dict[Transport, list[tuple[Style, Curve, Curve]]] = {each.case.transport: [] for each in results}
    for result in results:
        truth, measured = curve_of(result.merged.truth), curve_of(result.waited)
        if truth and measured:
            panels[result.case.transport].append((looks[result.case.driver], truth, measured))
    within = latency.extent_of([curve for pairs in panels.values() for _, *pair in pairs for curve in pair])
    figure = Figure(figsize=(_WIDTH / UNITS_PER_INCH, _HEIGHT / UNITS_PER_INCH))
    (every_axes,) = figure.subplots(1, len(panels), sharey=True, squeeze=False, gridspec_kw=_MARGINS)
    for axes, (transport, pairs) in zip(every_axes, panels.items(), strict=True):
        remove_frame(axes)
        if within:
            latency.set_scale(axes, within)
        axes.set_title(transport, loc="left", fontsize=FONT_SIZE, color=INK)
        for style, truth, measured in pairs:
            axes.plot(measured.one_in, measured.latency_ms, color=style.colour, linewidth=1.6, label=style.name)
            axes.plot(truth.one_in, truth.latency_ms, color=style.colour, linewidth=1.6, linestyle=_TRUTH_DASHES)
    lines = {line.get_label(): line for axes in every_axes for line in axes.lines if line.get_label() in looks}
    figure.legend(
        handles=list(lines.values()),
        loc="upper left",
        ncols=len(looks),
        frameon=False,
        fontsize=FONT_SIZE,
        labelcolor=INK,
    )
    clock = "response" if LOADS[results[0].case.load].rate_per_s else "service"
    figure.text(0.985, 0.93, f"{clock} time, ms; dotted: truth", ha="right", color=MUTED, fontsize=SMALL_FONT_SIZE)
    return figure
