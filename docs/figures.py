"""Write the figures of pages: tables and pictures of the runs that they name. Their prose is written by hand.

`<!-- RUN: ratios PATTERN -->` begins such a part of a page, and `<!-- end -->` ends it. RUN is a run's name, or how it
begins; a run that isn't here any more leaves its parts as they are. PATTERN, a regular expression, chooses rows.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from markupsafe import Markup

from wirebench.analysis.summary import summarise
from wirebench.errors import WirebenchError
from wirebench.model.run_info import Run
from wirebench.present.charts.svg import WIDTH, Chart, element, swatch, text
from wirebench.present.numbers import format_duration
from wirebench.present.pictures import Chapter, draw_run
from wirebench.present.run import make_run_view
from wirebench.present.table import FigureTable, make_comparison_table, make_first_table, make_operation_table
from wirebench.store.runs import find_run
from wirebench.system.paths import DEFAULT_FOLDER, ROOT

PAGES = (ROOT / "README.md", ROOT / "docs/findings.md")
PICTURES = ROOT / "docs/pictures"
STYLES = ROOT / "wirebench/web/static/style.css"

PART = re.compile(r"(?ms)^<!-- (?P<run>\S+): (?P<kind>\w+)(?P<pattern>[^\n]*) -->\n.*?^<!-- end -->$")
_COLUMNS = ("verdict", "req/s", "p50", "p99", "errors", "CPU/req", "items/s", "first item", "CPU/item", "to decide")
_DECIDED = ("faster", "slower", "equivalent")

# Of a picture, in pixels.
_COLUMNS_OF_CHARTS = 2
_GAP = 30
_HEADING_HEIGHT = 36
_LEGEND_HEIGHT = 22


def write_source(run: Run, _pattern: str) -> str:
    """Say what was run, when, on what, and how much of it is decided."""
    info, view = run.info, make_run_view(run)
    verdicts = [each.verdict for each in view.comparisons if each.verdict]
    decided = sum(verdict in _DECIDED for verdict in verdicts)
    result = f": {decided} of {len(verdicts)} verdicts decided" if verdicts else ""
    took = f", {format_duration(info.duration_s)}" if info.duration_s else ""
    where = f"{info.started_at:%Y-%m-%d}, commit {(info.commit or 'unknown')[:12]}, {info.machine_name}"
    command = re.sub(r" --(out|seed) \S+", "", info.command)
    return f"`{command}`\\\n{where}{took}{result}."


def write_ratios(run: Run, pattern: str) -> str:
    """Write the comparisons of a run."""
    return _write_table(make_comparison_table(make_run_view(run).comparisons), pattern)


def write_cells(run: Run, pattern: str) -> str:
    """Write the figures of a run's cells."""
    return _write_table(make_first_table(make_run_view(run).cells, run.info.compare), pattern)


def write_operations(run: Run, pattern: str) -> str:
    """Write the figures of each operation of loads that have several."""
    return _write_table(make_operation_table(make_run_view(run).operations), pattern, (*_COLUMNS, "mean", "min", "max"))


def _write_table(table: FigureTable, pattern: str, names: Collection[str] = _COLUMNS) -> str:
    """Write the chosen rows as Markdown; a title that all of them share stands in the head."""
    rows = [
        (group.title, row)
        for group in table.groups
        for row in group.rows
        if re.search(pattern, f"{group.title}: {row.name}")
    ]
    titles = {title for title, _ in rows}
    chosen = [place for place, column in enumerate(table.columns) if column.heading in names]
    heads = [" ".join(filter(None, (table.columns[place].heading, table.columns[place].unit))) for place in chosen]
    lines = [[titles.pop() if len(titles) == 1 else table.subject, *heads], ["---", *("---:" for _ in chosen)]]
    for title, row in rows:
        mark = "\\*" * bool(row.failed_gates)
        name = row.name if not titles else f"{title}: {row.name}"
        lines.append([name + mark, *(row.figures[place] for place in chosen)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def write_picture(run: Run, name: str) -> str:
    """Draw the answer of a run into a file of this name, for a page in docs/."""
    chapter = draw_run(run, summarise(run.records, run.info.compare)).answer
    PICTURES.mkdir(exist_ok=True)
    (PICTURES / f"{name}.svg").write_text(f"{_compose(chapter)}\n", "utf-8")
    return f"![{'; '.join(chart.svg.title for chart in chapter.charts)}]({PICTURES.name}/{name}.svg)"


def _compose(chapter: Chapter) -> Markup:
    """Put the charts of a chapter side by side, with their headings and legend, in one drawing."""
    parts: list[Markup] = []
    top = 0.0
    for start in range(0, len(chapter.charts), _COLUMNS_OF_CHARTS):
        row = chapter.charts[start : start + _COLUMNS_OF_CHARTS]
        for place, chart in enumerate(row):
            parts += _place_chart(chart, _GAP / 2 + place * (WIDTH + _GAP), top)
        top += _HEADING_HEIGHT + max(chart.svg.size[1] * WIDTH / chart.svg.size[0] for chart in row)
    for style in chapter.legend:
        parts.append(element("svg", swatch(style), x=_GAP / 2, y=top, width=34, height=14))
        parts.append(text(_GAP / 2 + 42, top + 11, style.name, "name"))
        top += _LEGEND_HEIGHT
    width = _COLUMNS_OF_CHARTS * (WIDTH + _GAP)
    styles = element("style", Markup(" ".join(STYLES.read_text("utf-8").split())))  # noqa: S704 - our own
    paper = element("rect", width=width, height=top, fill="var(--paper)")
    view = f"0 0 {width} {top:.0f}"
    namespace = "http://www.w3.org/2000/svg"
    return element("svg", styles, paper, *parts, xmlns=namespace, class_="chart", width=width, height=top, viewBox=view)


def _place_chart(chart: Chart, left: float, top: float) -> Iterator[Markup]:
    yield text(left, top + 16, chart.title, "title")
    yield text(left, top + 30, chart.unit)
    height = chart.svg.size[1] * WIDTH / chart.svg.size[0]
    yield element("svg", chart.svg.__html__(), x=left, y=top + _HEADING_HEIGHT, width=WIDTH, height=height)


_KINDS: dict[str, Callable[[Run, str], str]] = {
    "source": write_source,
    "ratios": write_ratios,
    "cells": write_cells,
    "operations": write_operations,
    "picture": write_picture,
}


def main(folder: Path) -> None:
    """Write the parts of all pages whose runs are in the folder."""

    def write(part: re.Match[str]) -> str:
        try:
            run = find_run(part["run"], folder)
        except WirebenchError as error:
            print(f"figures: left as they are: {error}", file=sys.stderr)
            return part[0]
        first, *_, last = part[0].splitlines()
        return f"{first}\n\n{_KINDS[part['kind']](run, part['pattern'].strip())}\n\n{last}"

    for page in PAGES:
        page.write_text(PART.sub(write, page.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_FOLDER)
