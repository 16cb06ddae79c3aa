"""The report as a whole: one file, in order, that stands on its own."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.support.report_run import RunBuilder, cell, passed
from wirebench.model.histogram_file import ErrorText
from wirebench.model.run_info import Run
from wirebench.web.report import write_report

VOID = {"meta", "link", "img", "br", "hr", "input", "line", "circle", "rect", "path", "use"}
LOADS = {"src", "srcset", "href", "xlink:href", "action", "data", "poster", "background"}


class Document(HTMLParser):
    """What a test asks of a page: its tags, ids, loads, and text by element."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.ids: list[str] = []
        self.loads: list[str] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Count a tag, and note what it names and loads."""
        values = {name: value or "" for name, value in attrs}
        self.tags[tag] += 1
        if "id" in values:
            self.ids.append(values["id"])
        self.loads += [value for name, value in values.items() if name in LOADS and not value.startswith("#")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Check that it closes what was opened last."""
        if tag not in VOID:
            assert tag == self.open.pop()

    def handle_data(self, data: str) -> None:
        """Gather text."""
        if "style" not in self.open:
            self.text += data


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a complete run of the quick scenario's cells."""
    return RunBuilder().write(tmp_path_factory.mktemp("results"))


@pytest.fixture(scope="module")
def html(quick: Run) -> str:
    """Return its report."""
    return write_report(quick).read_text(encoding="utf-8")


def test_the_report_lies_in_the_run_s_folder_unless_told_otherwise(quick: Run, tmp_path: Path) -> None:
    """`report.html` beside the records, or the path that was asked for, and nothing else is left behind."""
    assert quick.folder / "report.html" == write_report(quick)
    assert tmp_path / "other.html" == write_report(quick, tmp_path / "other.html")
    assert ["other.html"] == [path.name for path in tmp_path.iterdir()]


def test_the_page_goes_from_the_answer_to_what_was_run(html: str) -> None:
    """The question is the title; then the answer in sentences, its picture and its table, all else, and the facts.

    What only other loads have isn't there; the command can be copied.
    """
    question = "Which transport answers a small user call fastest, and what does it cost the server?"
    assert [question] == re.findall(r"<h1[^>]*>(.+?)</h1>", html)
    assert "wirebench run scenarios/quick.yaml --seed 4711" in Document(html).text
    expected = ["The answer", "The measurements", "Gates that failed", "What was run, and how to read it"]
    assert expected == re.findall(r"<h2[^>]*>(.+?)</h2>", html)


def test_the_file_loads_nothing(html: str) -> None:
    """No script, no font, no picture, no host: and the page's own policy forbids all of them."""
    document = Document(html)
    assert [] == document.loads
    assert 0 == document.tags["script"] + document.tags["link"] + document.tags["img"] + document.tags["iframe"]
    assert not re.search(r"url\((?!#)", html)
    assert "@import" not in html
    assert "://" not in html
    assert """content="default-src 'none'; style-src 'unsafe-inline'\"""" in html


def test_every_element_is_closed_and_every_id_is_unique(html: str) -> None:
    """Charts that share a page don't share ids, and every reference has its target."""
    document = Document(html)
    assert [] == document.open
    assert [] == [name for name, count in Counter(document.ids).items() if count > 1]
    references = set(re.findall(r'(?:href="|url\()#([\w-]+)', html))
    assert set() == references - set(document.ids)


def test_a_run_without_records_has_a_report(tmp_path: Path) -> None:
    """A run that was stopped at once says so, and why; its application is named without the user's folder."""
    stopped = {"blocks": 3, "status": "incomplete", "reason": "it was interrupted", "duration_s": None}
    stopped["application"] = "/home/ada/shop.yaml"
    run = RunBuilder(blocks=0, info=stopped).write(tmp_path)
    document = Document(write_report(run).read_text(encoding="utf-8"))
    text = " ".join(document.text.split())
    assert "This run is incomplete. Why: it was interrupted. 0 of 48 windows were measured" in text
    assert "None: no window was measured." in text
    assert ("shop.yaml" in text, "/home" in text) == (True, False)
    assert 0 == document.tags["figure"] + document.tags["table"]


def test_histograms_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    """Missing, cut off, or not a histogram: the report says which, without the machine's paths, and continues."""
    run = RunBuilder(cells=[cell("rest"), cell("socket")]).write(tmp_path)
    missing, cut, garbled, *_ = sorted((run.folder / "histograms").iterdir())
    missing.unlink()
    cut.write_bytes(cut.read_bytes()[:100])
    garbled.write_text(garbled.read_text(encoding="utf-8").replace("HISTF", "HISTX"), encoding="utf-8")
    html = write_report(run).read_text(encoding="utf-8")
    assert "3 histograms are left out" in " ".join(Document(html).text.split())
    for path in (missing, cut, garbled):
        assert f"<li>{path.stem}: " in html
    assert str(tmp_path) not in html
    assert "Latency by percentile" in html


def test_text_of_others_is_text(tmp_path: Path) -> None:
    """Markup in a scenario, a message or a name changes nothing on the page."""
    evil = (
        "<script>alert(1)<\N{DIVISION SLASH}script><img src=x onerror=alert(1)>$x_1$ \" ' &"  # a slash is no file name
    )
    names = ("question", "scenario", "scenario_text", "command", "reason", "target", "commit")
    info = dict.fromkeys(names, evil) | {
        "status": "incomplete",
        "notes": (evil,),
        "versions": {evil: evil},
        "machine": {evil: evil},
        "conformance_mismatches": (evil,),
    }
    gate = passed(evil, passed=False, unit=evil, advice=evil, metrics=("throughput", evil))
    builder = RunBuilder(
        cells=[cell("rest", runtime=evil), cell("socket")],
        gates=(gate,),
        info=info,
        record={"error_texts": (ErrorText(code=evil, message=evil, count=3),), "errors": {evil: 3}},
    )
    document = Document(write_report(builder.write(tmp_path)).read_text(encoding="utf-8"))
    assert 0 == document.tags["script"] + document.tags["img"]
    assert document.text.count(evil) > 15
