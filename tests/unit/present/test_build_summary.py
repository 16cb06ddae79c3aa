"""What builds show: valid JUnit XML, and Markdown that no name can steer."""

from __future__ import annotations

import dataclasses
from xml.etree import ElementTree as ET

import pytest

from tests.support.report_run import run_info
from wirebench.present.build_summary import (
    MARKDOWN_CAVEATS_MAX,
    MARKDOWN_ROWS_MAX,
    BuildRow,
    BuildSummary,
    Outcome,
    format_junit,
    format_markdown,
)
from wirebench.present.escape import escape_markdown


def row(name: str, outcome: Outcome = "passed") -> BuildRow:
    """Return a row of a cell."""
    return BuildRow(
        name=name,
        outcome=outcome,
        figures=(name, "1.00×", outcome),
        why="",
        sentence=f"{name} has {outcome}.",
        measured_s=1.5,
    )


SUMMARY = BuildSummary(
    command="compare",
    run=run_info(2, 3, {"id": "b-head"}),
    base=run_info(2, 3, {"id": "a-base"}),
    headings=("cell", "ratio", "verdict"),
    rows=(row("REST"), row("gRPC", "skipped"), row("socket", "failed")),
    sentence="3 cells in both runs: 1 is slower.",
    caveats=("commit: a in base, b in head.",),
)

#: What Jenkins' schema (junit-10.xsd) allows, of what is written here: attributes and children, in their order.
SCHEMA = {
    "testsuites": ({"name", "time", "tests", "failures", "errors"}, ["testsuite"]),
    "testsuite": (
        {"name", "tests", "failures", "errors", "time", "skipped", "timestamp"},
        ["properties", "testcase", "system-out"],
    ),
    "properties": (set(), ["property"]),
    "property": ({"name", "value"}, []),
    "testcase": ({"name", "classname", "time"}, ["skipped", "failure", "system-out"]),
    "skipped": ({"message"}, []),
    "failure": ({"message", "type"}, []),
    "system-out": (set(), []),
}


def test_junit_keeps_to_the_schema() -> None:
    """Elements and attributes are those that readers know; counts are those of the test cases."""
    root = ET.fromstring(format_junit(SUMMARY))  # noqa: S314 - our own
    assert "testsuites" == root.tag
    for element in root.iter():
        attributes, children = SCHEMA[element.tag]
        assert attributes == set(element.attrib)
        places = [children.index(child.tag) for child in element]
        assert sorted(places) == places
    (suite,) = root
    assert ("3", "1", "1", "0", "4.500") == tuple(
        suite.attrib[name] for name in ("tests", "failures", "skipped", "errors", "time")
    )
    outcomes = {case.attrib["name"]: [child.tag for child in case] for case in suite.iter("testcase")}
    assert {"REST": ["system-out"], "gRPC": ["skipped"], "socket": ["failure"]} == outcomes
    assert "socket has failed." == next(suite.iter("failure")).attrib["message"]
    assert {"base": "a-base", "head": "b-head"} == {each.attrib["name"]: each.attrib["value"] for each in suite[0]}


def test_no_name_breaks_the_xml() -> None:
    """XML has no control characters, not even escaped; a lone surrogate is no text at all."""
    name = 'a<b>&"\x00\x1b[31m\ud800\ufffe'
    root = ET.fromstring(format_junit(dataclasses.replace(SUMMARY, rows=(row(name),))))  # noqa: S314 - our own
    (case,) = root.iter("testcase")
    assert r'a<b>&"\x00\x1b[31m\ud800\ufffe' == case.attrib["name"]


def test_markdown_has_a_table_with_failures_first() -> None:
    """And the sentence above, and caveats below it."""
    lines = format_markdown(SUMMARY).splitlines()
    assert ["### wirebench compare: quick", "", "**3 cells in both runs: 1 is slower.**"] == lines[:3]
    rows = [line for line in lines if line.startswith("|")]
    assert [
        "| cell | ratio | verdict |",
        "| --- | --- | --- |",
        "| socket | 1.00× | **failed** |",
        "| gRPC | 1.00× | skipped |",
        "| REST | 1.00× | passed |",
    ] == rows
    assert "- commit: a in base, b in head." == lines[-1]


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("a|b", "a&#124;b"),
        (r"a\|b", "a&#92;&#124;b"),
        ("<img src=x onerror=y>", "&#60;img src=x onerror=y&#62;"),
        ("[x](http://evil)", "&#91;x&#93;(http&#58;//evil)"),
        ("WWW.evil.test", "WWW&#46;evil.test"),
        ("`rm` **now** _x_ ~~y~~", "&#96;rm&#96; &#42;&#42;now&#42;&#42; &#95;x&#95; &#126;&#126;y&#126;&#126;"),
        ("&amp; $x$", "&#38;amp; &#36;x&#36;"),
        ("@all #1", "&#64;&#8203;all &#35;&#8203;1"),
        ("line\nend", "line&#92;nend"),
        ("REST users.get, 16 connections", "REST users.get, 16 connections"),
    ],
)
def test_no_name_is_markup(name: str, written: str) -> None:
    """A name can't end a cell of a table, link, mention, or become HTML."""
    assert written == escape_markdown(name)


def test_markdown_has_an_end() -> None:
    """What is left out is counted; what failed is there."""
    rows = (*(row(f"cell {number}") for number in range(MARKDOWN_ROWS_MAX + 6)), row("socket", "failed"))
    caveats = tuple(map(str, range(MARKDOWN_CAVEATS_MAX + 3)))
    text = format_markdown(dataclasses.replace(SUMMARY, rows=rows, caveats=caveats))
    assert "7 more rows are left out here.\n" in text
    assert text.endswith("- 3 more are left out here.")
    assert "| socket | 1.00× | **failed** |" in text
