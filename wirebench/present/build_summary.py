"""What `compare` and `check` come to: for the terminal, JUnit XML for a build's tests, Markdown for a pull request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal
from xml.etree import ElementTree as ET

from wirebench.model.run_info import RunInfo
from wirebench.present.escape import escape_controls, escape_markdown

Outcome = Literal["failed", "skipped", "passed"]

#: So many rows are in a table of Markdown, those that failed first: GitHub shows comments of 65,536 characters at most.
MARKDOWN_ROWS_MAX = 150
#: So many caveats stand below it.
MARKDOWN_CAVEATS_MAX = 20
_ORDER: tuple[Outcome, ...] = ("failed", "skipped", "passed")


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRow:
    """What was checked of a cell: `figures` stand in the table, `sentence` says the same in words.

    The first of them is the cell, the last the verdict; `why` explains one that is missing. `measured_s` is how long
    the windows of the cell were together.
    """

    name: str
    outcome: Outcome
    figures: tuple[str, ...]
    why: str
    sentence: str
    measured_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildSummary:
    """What a command has checked of `run`; `headings` are those of the rows' figures."""

    command: Literal["compare", "check"]
    run: RunInfo
    base: RunInfo | None
    headings: tuple[str, ...]
    rows: tuple[BuildRow, ...]
    sentence: str
    caveats: tuple[str, ...]

    @property
    def runs(self) -> tuple[tuple[str, RunInfo], ...]:
        """The runs by what they are called."""
        return (("base", self.base), ("head", self.run)) if self.base else (("run", self.run),)


def format_junit(summary: BuildSummary) -> str:
    """Return JUnit XML: a test case for each row.

    It keeps to what GitHub's and GitLab's readers and Jenkins' schema have in common:
    https://github.com/jenkinsci/xunit-plugin/blob/master/src/main/resources/org/jenkinsci/plugins/xunit/types/model/xsd/junit-10.xsd
    """
    outcomes = Counter(row.outcome for row in summary.rows)
    counts = {
        "tests": str(len(summary.rows)),
        "failures": str(outcomes["failed"]),
        "errors": "0",
        "time": f"{sum(row.measured_s for row in summary.rows):.3f}",
    }
    suite_name = f"wirebench.{summary.command}.{escape_controls(summary.run.scenario)}"
    root = ET.Element("testsuites", {"name": f"wirebench {summary.command}", **counts})
    suite_attributes = {"name": suite_name, **counts, "skipped": str(outcomes["skipped"])}
    suite = ET.SubElement(root, "testsuite", suite_attributes, timestamp=escape_controls(summary.run.started_at))
    properties = ET.SubElement(suite, "properties")
    for name, run in summary.runs:
        ET.SubElement(properties, "property", name=name, value=escape_controls(run.id))
    for row in summary.rows:
        _add_case(suite, suite_name, row)
    ET.SubElement(suite, "system-out").text = "\n".join(map(escape_controls, (summary.sentence, *summary.caveats)))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}'


def _add_case(suite: ET.Element, suite_name: str, row: BuildRow) -> None:
    name, sentence = escape_controls(row.name), escape_controls(row.sentence)
    case = ET.SubElement(suite, "testcase", name=name, classname=suite_name, time=f"{row.measured_s:.3f}")
    match row.outcome:
        case "failed":
            ET.SubElement(case, "failure", message=sentence, type="failed").text = sentence
        case "skipped":
            ET.SubElement(case, "skipped", message=sentence)
        case "passed":
            ET.SubElement(case, "system-out").text = sentence


def format_markdown(summary: BuildSummary) -> str:
    """Return Markdown: what all rows come to, a table of them, those that failed first, and what to know besides."""
    return "\n".join(_write_lines(summary))


def _write_lines(summary: BuildSummary) -> Iterator[str]:
    yield f"### wirebench {summary.command}: {escape_markdown(summary.run.scenario)}"
    yield ""
    yield f"**{escape_markdown(summary.sentence)}**"
    yield ""
    yield ", ".join(f"{name} {escape_markdown(run.id)}" for name, run in summary.runs)
    yield ""
    yield _write_row(summary.headings)
    yield _write_row(["---"] * len(summary.headings))
    ordered = sorted(summary.rows, key=lambda row: _ORDER.index(row.outcome))
    for row in ordered[:MARKDOWN_ROWS_MAX]:
        *figures, verdict = map(escape_markdown, row.figures)
        verdict += f" ({escape_markdown(row.why)})" if row.why else ""
        yield _write_row((*figures, f"**{verdict}**" if row.outcome == "failed" else verdict))
    if len(ordered) > MARKDOWN_ROWS_MAX:
        yield ""
        yield f"{len(ordered) - MARKDOWN_ROWS_MAX} more rows are left out here."
    if summary.caveats:
        yield ""
        yield from (f"- {escape_markdown(each)}" for each in summary.caveats[:MARKDOWN_CAVEATS_MAX])
        if len(summary.caveats) > MARKDOWN_CAVEATS_MAX:
            yield f"- {len(summary.caveats) - MARKDOWN_CAVEATS_MAX} more are left out here."


def _write_row(texts: Sequence[str]) -> str:
    return f"| {' | '.join(texts)} |"
