"""The documentation: links lead somewhere, and what it names exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from wirebench.measure.gates import GATES
from wirebench.system.paths import ROOT

PAGES = sorted({*ROOT.glob("*.md"), *ROOT.glob("*/README.md"), *ROOT.glob("docs/*.md")})
LINK = re.compile(r"\]\((?!https?://)([^)\s#]*)(?:#([^)\s]+))?\)")


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


def test_the_architecture_names_code_that_exists() -> None:
    """Each function and class of the walk is defined in the file that it links to."""
    page = (ROOT / "docs/architecture.md").read_text("utf-8")
    named = re.findall(r"\[`(\w+)`\]\(\.\./([\w/.]+\.(?:py|go))\)", page)
    assert len(named) > 10
    for name, file in named:
        defined = rf"(?m)^\s*(?:def|class|package|func(?: \([^)]+\))?) {name}\b"
        assert re.search(defined, (ROOT / file).read_text("utf-8")), f"{file}: {name}"


def test_the_method_lists_all_gates_in_their_order() -> None:
    """A gate that is added or renamed has its row."""
    page = (ROOT / "docs/method.md").read_text("utf-8")
    section = page.split("\n## Gates\n")[1].split("\n## ")[0]
    assert [rule.name for rule in GATES] == re.findall(r"(?m)^\| `(\w+)` \|", section)


def test_the_faq_counts_the_lines_of_servers() -> None:
    """What is written for each transport, in Python and in Go, without what all of them share."""
    row = next(line for line in (ROOT / "docs/faq.md").read_text("utf-8").splitlines() if "lines of its server" in line)
    servers = [
        ["python/wirebench_services/rest/flask_app.py", "python/wirebench_services/rest/bodies.py"],
        ["go/internal/rest/server.go"],
        ["python/wirebench_services/grpc/sync_server.py", "python/wirebench_services/grpc/calls.py"],
        ["go/internal/rpc/server.go"],
        [f"python/wirebench_services/socket/{name}.py" for name in ("asyncio_server", "conversation", "frame")],
        ["go/internal/socket/server.go", "go/internal/socket/connection.go"],
    ]
    lines = [
        sum(len((ROOT / "services" / file).read_text("utf-8").splitlines()) for file in files) for files in servers
    ]
    assert [int(figure) for figure in re.findall(r"\d+", row)] == lines
