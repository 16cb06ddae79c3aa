"""Write the figures of pages: tables and pictures of the runs that they name. Their prose is written by hand.

`<!-- RUN: picture: NAME; ratios FACTOR: PATTERN; source -->` begins such a part of a page, and `<!-- end -->` ends it.
RUN is a run's name, or how it begins; a run that isn't here any more leaves its parts as they are. The picture goes to
docs/pictures. PATTERN, a regular expression, chooses one row or more; FACTOR, if given, is what is compared.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from markupsafe import Markup

from wirebench.analysis.summary import summarise
from wirebench.errors import WirebenchError
from wirebench.model.run_info import Run
from wirebench.present.charts.svg import WIDTH, element, swatch, text
from wirebench.present.numbers import format_duration
from wirebench.present.pictures import draw_run
from wirebench.present.run import make_run_view
from wirebench.present.table import FigureTable, make_comparison_table, make_first_table, make_operation_table
from wirebench.store.runs import find_run
from wirebench.system.paths import DEFAULT_FOLDER, ROOT

PAGES = tuple(ROOT / page for page in ("README.md", "docs/findings.md", "docs/accuracy.md"))
PICTURES = ROOT / "docs/pictures"
STYLES = ROOT / "wirebench/web/static/style.css"

PART = re.compile(r"(?ms)^<!-- (?P<run>\S+): (?P<wanted>[^\n]*) -->\n.*?^<!-- end -->$")
_COLUMNS = re.compile("verdict|mean|req/s|p50|p99|errors|CPU/req|items/s|first item|CPU/item|to decide")

_CHARTS_IN_ROW = 2
_GAP, _HEADING, _LEGEND = 30, 36, 22  # pixels


def write(run: Run, wanted: str) -> str:
    """Write where figures are from, a picture for a page in docs/, or rows of a table."""
    head, _, pattern = wanted.partition(": ")
    kind, _, factor = head.partition(" ")
    match kind:
        case "source":
            return _describe_source(run)
        case "picture":
            return _draw_picture(run, pattern)
    run = replace(run, info=run.info.model_copy(update={"compare": factor or run.info.compare}))
    view = make_run_view(run)
    tables = {
        "ratios": make_comparison_table(view.comparisons),
        "cells": make_first_table(view.cells, run.info.compare),
        "operations": make_operation_table(view.operations, view.operation_comparisons, run.info.compare),
    }
    return _write_table(tables[kind], pattern)


def _describe_source(run: Run) -> str:
    """Say what was run, when, on what, and how much of it is decided."""
    info, view = run.info, make_run_view(run)
    verdicts = [each.verdict for each in view.comparisons if each.verdict]
    decided = sum(verdict in ("faster", "slower", "equivalent") for verdict in verdicts)
    command = re.sub(r" --(out|seed) \S+", "", info.command)
    where = f"{info.started_at:%Y-%m-%d}, commit {info.commit or 'unknown'}, {info.machine_name}"
    took = format_duration(info.duration_s or 0)
    return f"`{command}`, {where}, {took}: {decided} of {len(verdicts)} verdicts decided."


def _write_table(table: FigureTable, pattern: str) -> str:
    """Write the chosen rows as Markdown; what their names begin with in common stands in the head."""
    rows = {f"{group.title}: {row.name}": row for group in table.groups for row in group.rows}
    rows = {name: row for name, row in rows.items() if re.search(pattern, name)}
    if not rows:
        raise SystemExit(f"figures: no row is called like {pattern}")
    leads = zip(*(re.split("(?<=[,:] )", name)[:-1] for name in rows), strict=False)
    common = "".join(lead for lead, *_ in itertools.takewhile(lambda each: len(set(each)) == 1, leads))
    chosen = [place for place, column in enumerate(table.columns) if _COLUMNS.fullmatch(column.heading)]
    heads = [f"{table.columns[place].heading} {table.columns[place].unit}".strip() for place in chosen]
    lines = [[common.rstrip(",: ") or table.subject, *heads], ["---", *("---:" for _ in chosen)]]
    for name, row in rows.items():
        marked = name.removeprefix(common) + "\\*" * bool(row.failed_gates)
        lines.append([marked, *(row.figures[place] for place in chosen)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _draw_picture(run: Run, name: str) -> str:
    """Draw the answer of a run: its charts side by side, with headings and legend."""
    chapter = draw_run(run, summarise(run.records, run.info.compare), ()).answer
    parts, top = list[Markup](), 0.0
    for start in range(0, len(chapter.charts), _CHARTS_IN_ROW):
        row = chapter.charts[start : start + _CHARTS_IN_ROW]
        for place, chart in enumerate(row):
            left = _GAP / 2 + place * (WIDTH + _GAP)
            title, _, situation = chart.title.partition(": ")
            below = ", ".join(filter(None, (situation, chart.unit)))
            parts += text(left, top + 16, title, "title"), text(left, top + 30, below)
            width, height = chart.svg.size
            parts.append(element("svg", chart.svg.__html__(), x=left, y=top + _HEADING, width=width, height=height))
        top += _HEADING + max(chart.svg.size[1] for chart in row)
    for style in chapter.legend:
        parts.append(element("svg", swatch(style), x=_GAP / 2, y=top, width=34, height=14))
        parts.append(text(_GAP / 2 + 42, top + 11, style.name, "name"))
        top += _LEGEND
    PICTURES.mkdir(exist_ok=True)
    (PICTURES / f"{name}.svg").write_text(f"{_frame(parts, _CHARTS_IN_ROW * (WIDTH + _GAP), top)}\n", "utf-8")
    return f"![{'; '.join(chart.svg.title for chart in chapter.charts)}]({PICTURES.name}/{name}.svg)"


def _frame(parts: Sequence[Markup], width: float, height: float) -> Markup:
    """Return a drawing that stands by itself, with the styles of pages."""
    styles = element("style", Markup(" ".join(STYLES.read_text("utf-8").split())))  # noqa: S704 - our own
    paper = element("rect", width=width, height=height, fill="var(--paper)")
    size = {"viewBox": f"0 0 {width:.0f} {height:.0f}", "xmlns": "http://www.w3.org/2000/svg"}
    return element("svg", styles, paper, *parts, class_="chart", **size)


def main(folder: Path) -> None:
    """Write the parts of all pages whose runs are in the folder."""

    def rewrite(part: re.Match[str]) -> str:
        try:
            run = find_run(part["run"], folder)
        except WirebenchError as error:
            print(f"figures: left as they are: {error}", file=sys.stderr)
            return part[0]
        first, *_, last = part[0].splitlines()
        return "\n".join((first, "\n\n".join(write(run, wanted) for wanted in part["wanted"].split("; ")), last))

    for page in PAGES:
        page.write_text(PART.sub(rewrite, page.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_FOLDER)
