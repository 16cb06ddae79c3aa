"""The documentation, and what runs the tests: links lead somewhere, and words are the field's."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from tests.support.waiting import run_program
from wirebench.measure.gates import GATES
from wirebench.system.paths import ROOT

PAGES = sorted({*ROOT.glob("*.md"), *ROOT.glob("*/README.md"), *ROOT.glob("docs/*.md")})
LINK = re.compile(r"\]\((?!https?://)([^)\s#]*)(?:#([^)\s]+))?\)")


COLUMNS_MAX = 120
#: But for numbers of lists, initials of authors, and terms in bold that a paragraph explains.
TWO_SENTENCES = re.compile(r"(?<!\d)(?<!\b[A-Z])[.?!][)_`\"”]* (?=[A-Z])")


def anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"(?m)^#+ (.+)$", re.sub(r"(?ms)^```.*?^```", "", text))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_a_file_and_a_heading(page: Path) -> None:
    """Those within the project."""
    for target, anchor in LINK.findall(page.read_text("utf-8")):
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), f"{page.name}: {target}"
        assert not anchor or anchor in anchors(file.read_text("utf-8")), f"{page.name}: {target}#{anchor}"


@pytest.mark.parametrize("page", [*PAGES, *ROOT.glob("proto/*.md")], ids=lambda page: str(page.relative_to(ROOT)))
def test_lines_have_one_sentence_within_the_limit(page: Path) -> None:
    """But for tables and code."""
    text = re.sub(r"(?ms)^ *```.*?^ *```", "", page.read_text("utf-8"))
    prose = [line for line in text.splitlines() if not line.startswith(("|", "    "))]
    assert [] == [line for line in prose if len(line) > COLUMNS_MAX]
    assert [] == [line for line in prose if TWO_SENTENCES.search(line)]


def test_the_architecture_names_code_that_exists() -> None:
    """Each function and class of the walk is defined in the file that it links to."""
    page = (ROOT / "docs/architecture.md").read_text("utf-8")
    named = re.findall(r"\[`(\w+)`\]\(\.\./([\w/.]+\.(?:py|go))\)", page)
    assert len(named) > 10
    for name, file in named:
        defined = rf"(?m)^\s*(?:def|class|package|func(?: \([^)]+\))?) {name}\b"
        assert re.search(defined, (ROOT / file).read_text("utf-8")), f"{file}: {name}"


def test_the_page_on_python_names_modules_and_functions_that_exist() -> None:
    """Each line of its table calls what the module in brackets has."""
    rows = re.findall(r"(?m)^\| .+ \| (.+) \((`wirebench.+`)\) \|$", (ROOT / "docs/python.md").read_text("utf-8"))
    assert len(rows) > 4
    for code, named in rows:
        modules = [importlib.import_module(each) for each in re.findall(r"`(wirebench[\w.]+)`", named)]
        assert any(hasattr(each, name) for each in modules for name in re.findall(r"\w+", code)), code
    paragraphs = re.findall(r"`with (\w+)\(\):` \(`(wirebench[\w.]+)`\)", (ROOT / "docs/python.md").read_text("utf-8"))
    assert paragraphs
    assert all(hasattr(importlib.import_module(module), name) for name, module in paragraphs)


#: Words that a reader has to learn, and the field's own.
PLAIN = {
    r"refus(e|es|ing|als?)|(is|are|be)[ _]refused": "reject",  # not TCP's "connection refused"
    r"anew": "again, rebuild",
    r"(taken?|takes) in": "import",
    r"(go|goes|gone|went) on": "continue, resume, is running",
    r"(?-i:[Nn]obody)|whoever": "name who",  # not http.NoBody
    r"(held|hold|holds) against": "compare",
    r"lets? go of": "release",
    r"by hand of": "by",
    r"tells? nothing": "reports nothing",
    r"tells the balance": "returns the balance",
    r"don.t rely on it": "unreliable",
    r"less sure": "caveats",
    r"(takes?|took) (it|them) away": "remove",
    r"(numbers|measurements) support": "data supports",
    r"hands? back": "return",
    r"dearer": "more expensive",
    r"(some|every|any)body(.s)?": "another user, anyone, all",
    r"(?<!there )is no (time|topic|moment|figure|address)": "isn't a …",
    r"(?-i:(?<!there )is none)": "isn't one, is invalid",
    r"mend(s|ed|ing)?": "fix, correct",
    r"is well": "is healthy, works",
    r"(takes?|took|taken|taking) .{0,12}away": "remove",
    r"told (:?=|\+=)|tells? how|(doesn|don|didn).t tell": "name it, report",
}
TEXTS = (
    "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "Makefile", "compose.yaml", "docs",
    "wirebench", "wireload", "services", "proto", "k6", "ghz", "locust", "applications", "scenarios", "accuracy",
    "charts", "images", "make", "scripts", "grafana", "tests",
)  # fmt: skip
SUFFIXES = {"", ".md", ".py", ".go", ".js", ".j2", ".yaml", ".tpl", ".mk", ".sh", ".css"}


def test_texts_use_the_words_of_the_field() -> None:
    """Documentation, messages, comments, names and tests keep to plain words."""
    listed = run_program(["git", "ls-files", *TEXTS], cwd=ROOT, check=True)
    any_word = re.compile(rf"(?i)(?<![a-z])(?:{'|'.join(PLAIN)})(?![a-z])")
    found = []
    for name in listed.stdout.splitlines():
        file = ROOT / name
        if file.suffix not in SUFFIXES or "generated" in name or not file.is_file() or file.samefile(__file__):
            continue
        text = file.read_text("utf-8")
        for was in any_word.finditer(text):
            better = next(better for word, better in PLAIN.items() if re.fullmatch(word, was[0], re.IGNORECASE))
            line = text.count("\n", 0, was.start()) + 1
            found.append(f"{name}:{line}: {was[0]!r}, better: {better}")
    assert [] == found


def test_the_method_lists_all_gates_in_their_order() -> None:
    """A gate that is added or renamed has its row."""
    page = (ROOT / "docs/method.md").read_text("utf-8")
    section = page.split("\n## Gates\n")[1].split("\n## ")[0]
    assert [rule.name for rule in GATES] == re.findall(r"(?m)^\| `(\w+)` \|", section)
