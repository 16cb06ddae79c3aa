"""docs/replication.md: what all verdicts come to, as tables and a picture."""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from jinja2 import Template

from benchmarks.replicate.studies import BUSY_SHARES, PLANS, SLOWER_PERCENT
from benchmarks.replicate.verdicts import JUDGED, VERDICTS, Row, list_runs
from wirebench.analysis.ratio import CONFIDENCE
from wirebench.model.metric import METRICS
from wirebench.present.charts import file as chart_file
from wirebench.present.charts.file import Panel
from wirebench.present.charts.plot import Mark, Plot, PlotFrame, PlotSeries
from wirebench.present.charts.scale import Scale
from wirebench.present.charts.style import assign_styles_to_lines
from wirebench.present.numbers import ABSENT, format_number
from wirebench.system.files import write_atomic
from wirebench.system.paths import ROOT

PAGE = ROOT / "docs" / "replication.md"
PICTURE = VERDICTS.with_name("copies.svg")
_TEMPLATE = Template(Path(__file__).with_name("page.md.j2").read_text(encoding="utf-8"), keep_trailing_newline=True)
_CONDITIONS = ("quiet", "busy", "quiet / quiet", "busy / quiet", "cluster")
_MARGIN = 0.05
_LEAST_RATIO, _MOST_RATIO = 0.5, 2.0
_FRAME = PlotFrame(width=900, height=320)


def write_page(rows: Sequence[Row]) -> Path:
    """Write the page and its picture, and return where."""
    copies = [row for row in rows if (row.study, row.condition, row.metric) == ("copies", "quiet", "throughput")]
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    if has_picture := any(row.low for row in copies):
        _draw(copies)
    page = _TEMPLATE.render(
        runs=len({row.run for row in rows if "/" not in row.condition}),
        commits=sorted({row.commit or "unknown" for row in rows}),
        days=sorted({f"{row.run[:4]}-{row.run[4:6]}-{row.run[6:8]}" for row in rows}),
        progress=[*_tabulate_progress(rows)],
        busy_shares=[f"{share:.0%}".replace("%", " %") for share in BUSY_SHARES],
        picture=f"{PICTURE.parent.name}/{PICTURE.name}" if has_picture else "",
        copies=_make_table(_tabulate_false_alarms(rows)),
        slower=_make_table(_tabulate_slow_downs(rows)),
        quick=_make_table(_tabulate_contradictions(rows)),
        carried=_make_table(_tabulate_targets(rows)),
    )
    write_atomic(PAGE, page)
    return PAGE


def _tabulate_progress(rows: Sequence[Row]) -> Iterator[Sequence[str]]:
    """Yield each study under each condition: its runs, how many there are to be, and how long they take."""
    for (study, condition), plan in PLANS.items():
        counts = (len(list_runs(rows, study, condition)), plan.runs)
        took = (f"{plan.run_s / 60:.1f}", f"{plan.runs * plan.run_s / 3600:.1f}")
        yield f"`{study}`", condition, *map(str, counts), *took


def find_right_verdict(metric: str, truth: float) -> str:
    """Return the verdict that a true ratio should get."""
    if truth == 1:
        return "equivalent"
    return "faster" if (truth > 1) == METRICS[metric].higher_is_better else "slower"


def bound_share(count: int, total: int) -> tuple[float, float]:
    """Return the 95 % interval of a share (C. J. Clopper, E. S. Pearson, Biometrika 26, 1934)."""
    # Imported late: scipy takes longer to load than the rest of the page.
    from scipy.stats import binomtest  # noqa: PLC0415

    interval = binomtest(count, total).proportion_ci(CONFIDENCE, method="exact")
    return float(interval.low), float(interval.high)


def _select(rows: Sequence[Row], study: str) -> Iterator[tuple[str, str, list[Row]]]:
    """Yield the rows of a study by condition and metric."""
    for condition, metric in itertools.product(_CONDITIONS, JUDGED):
        found = [row for row in rows if (row.study, row.condition, row.metric) == (study, condition, metric)]
        if found:
            yield condition, METRICS[metric].label, found


def _tabulate_false_alarms(rows: Sequence[Row]) -> Iterator[Sequence[str]]:
    yield (
        "condition",
        "metric",
        "comparisons",
        "judged",
        "false alarms",
        "of those judged",
        "runs",
        "with a false alarm",
        "of the runs",
        "equivalent",
        "withheld",
    )
    # Services that `quick` compares within a run do differ.
    known = [row for row in rows if row.study == "copies" or "/" in row.condition]
    for study in ("copies", "quick"):
        for condition, label, found in _select(known, study):
            verdicts = Counter(row.verdict for row in found)
            judged = [row for row in found if row.verdict != "withheld"]
            alarms = [row for row in judged if row.verdict in ("faster", "slower")]
            runs, alarmed = ({row.run for row in each} for each in (judged, alarms))
            yield (
                f"{condition}, `{study}`",
                label,
                str(len(found)),
                *_describe_share(len(alarms), len(judged)),
                *_describe_share(len(alarmed), len(runs)),
                str(verdicts["equivalent"]),
                str(verdicts["withheld"]),
            )


def _describe_share(count: int, total: int) -> tuple[str, str, str]:
    """Return a total, a part of it, and the part's share with its interval."""
    if not total:
        return "0", "0", ABSENT
    low, high = bound_share(count, total)
    return str(total), str(count), f"{count / total:.1%} ({low:.1%}–{high:.1%})".replace("%", " %")


def _tabulate_slow_downs(rows: Sequence[Row]) -> Iterator[Sequence[str]]:
    yield (
        "condition",
        "metric",
        "slower by",
        "true ratio",
        "measured",
        "runs",
        "found",
        "reversed",
        "equivalent",
        "inconclusive",
        "withheld",
        "interval within 5 %",
    )
    for condition, label, found in _select(rows, "slower"):
        for percent in SLOWER_PERCENT:
            own = [row for row in found if row.truth and row.comparison.endswith(f"slower-by-{percent} / as-it-is")]
            if not own:
                continue
            truth = own[0].truth or 1.0
            ratios = [math.log(row.ratio) for row in own if row.ratio]
            measured = format_number(math.exp(statistics.fmean(ratios))) + "×" if ratios else ABSENT
            verdicts = Counter(row.verdict for row in own)
            right = verdicts.pop(find_right_verdict(own[0].metric, truth), 0)
            wrong = verdicts["faster"] + verdicts["slower"]
            others = (verdicts[name] for name in ("equivalent", "inconclusive", "withheld"))
            within = sum((row.low or 0) > 1 / (1 + _MARGIN) and (row.high or 9) < 1 + _MARGIN for row in own)
            counts = (len(own), right, wrong, *others, within)
            yield condition, label, f"{percent} %", f"{format_number(truth)}×", measured, *map(str, counts)


def _tabulate_contradictions(rows: Sequence[Row]) -> Iterator[Sequence[str]]:
    yield "condition", "metric", "runs", "comparisons", "contradictory", "with one verdict wherever judged", "withheld"
    for condition, label, found in _select([row for row in rows if "/" not in row.condition], "quick"):
        by_comparison = _group(found)
        contradictory = sum({"faster", "slower"} <= verdicts.keys() for verdicts in by_comparison.values())
        withheld = sum(verdicts.pop("withheld", 0) for verdicts in by_comparison.values())
        stable = sum(len(verdicts) == 1 for verdicts in by_comparison.values())
        total = f"{withheld} of {len(found)}"
        runs = len({row.run for row in found})
        yield condition, label, *map(str, (runs, len(by_comparison), contradictory, stable)), total


def _tabulate_targets(rows: Sequence[Row]) -> Iterator[Sequence[str]]:
    """Yield the rows of verdicts on one machine beside those in a cluster; nothing without both."""
    own = [row for row in rows if row.study == "quick" and row.metric == "throughput"]
    local, cluster = (_group(row for row in own if row.condition == name) for name in ("quiet", "cluster"))
    if not (local and cluster):
        return
    yield "comparison (requests/s)", "on this machine", "in the cluster"
    for title, verdicts in local.items():
        if title in cluster:
            yield title, _describe(verdicts), _describe(cluster[title])


def _group(rows: Iterable[Row]) -> Mapping[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for row in rows:
        found.setdefault(row.comparison, Counter())[row.verdict] += 1
    return found


def _describe(verdicts: Counter[str]) -> str:
    return ", ".join(f"{verdict} in {count}" for verdict, count in verdicts.most_common())


def _make_table(rows: Iterable[Sequence[str]]) -> str:
    header, *rest = [*rows] or [()]
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rest)) if rest else ""


def _draw(rows: Sequence[Row]) -> None:
    """Draw the intervals of a service compared with itself, in the order of their ratios."""
    drawn = sorted((row for row in rows if row.ratio and row.low and row.high), key=lambda row: row.ratio or 0.0)
    kinds = {"interval holds 1": True, "interval misses 1": False, "false alarm": False}
    styles = assign_styles_to_lines(kinds)
    marks: dict[str, list[Mark]] = {name: [] for name in kinds}
    for place, row in enumerate(drawn):
        low, high = max(row.low or 0.0, _LEAST_RATIO), min(row.high or 0.0, _MOST_RATIO)
        alarm = "false alarm" if row.verdict in ("faster", "slower") else "interval misses 1"
        kind = "interval holds 1" if low <= 1 <= high else alarm
        marks[kind].append(Mark(place, row.ratio or 1.0, row.verdict != "withheld", interval=(low, high)))
    scale = Scale(_LEAST_RATIO, _MOST_RATIO, is_log=True)
    plot = Plot(scale, (0, max(len(drawn) - 1, 1)), {}, _FRAME)
    # One point draws no line: neighbours here have nothing to do with each other.
    series = [PlotSeries(styles[name], marks[name], points=((0.0, 1.0),)) for name in kinds]
    counts = ", ".join(f"{name}: {len(marks[name])}" for name in kinds)
    panel = Panel(f"Requests/s, one service compared with itself: {len(drawn)} intervals", [*styles.values()],
                  plot.draw("Intervals", counts, series))  # fmt: skip
    caption = (
        "Sorted by ratio; hollow: a gate failed, so that there is no verdict. 95 % intervals, cut off at 0.5 and 2."
    )
    chart_file.write(chart_file.arrange("A service compared with itself", [panel], caption), PICTURE)
