"""The figures of pages, written from runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs import figures
from tests.support.report_run import RunBuilder

#: A ratio with its interval.
FIGURE = re.compile(r"[\d.]+× [\d.]+–[\d.]+")


def test_a_page_gets_the_figures_of_its_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time it is written; a part whose run isn't here stays."""
    run = RunBuilder().write(tmp_path)
    page = tmp_path / "page.md"
    kinds = ("picture: quick; source", "ratios: ^users.get, 16", "cells: socket", "ratios operation: gRPC")
    gone = "<!-- 2020: ratios -->\nold\n<!-- end -->\n"
    page.write_text("".join(f"<!-- {run.info.id}: {kind} -->\n<!-- end -->\n" for kind in kinds) + gone)
    monkeypatch.setattr(figures, "PAGES", (page,))
    monkeypatch.setattr(figures, "PICTURES", tmp_path / "pictures")
    figures.main(tmp_path)
    once = page.read_text()
    figures.main(tmp_path)
    assert once == page.read_text()
    page.write_text(f"<!-- {run.info.id}: cells: nobody -->\n<!-- end -->\n")
    with pytest.raises(SystemExit, match="no row is called like nobody"):
        figures.main(tmp_path)
    assert once.endswith(gone)
    assert "`wirebench run scenarios/quick.yaml`, 2026-11-21, commit " in once
    assert "| users.get, 16 connections | verdict on req/s |" in once
    assert "| gRPC / REST | faster |" in once
    assert re.search(r"\| users.create, 1 connection: socket \| [\d,]+ \|", once)
    assert "| gRPC 1 connection: users.get / users.create | " in once
    assert "](pictures/quick.svg)" in once
    assert "<svg" in (tmp_path / "pictures/quick.svg").read_text()


@pytest.mark.parametrize("page", figures.PAGES, ids=lambda page: page.name)
def test_prose_has_the_ratios_of_the_tables(page: Path) -> None:
    """Each ratio in the prose of a page stands in one of its generated parts."""
    text = page.read_text("utf-8")
    generated = {ratio for part in figures.PART.finditer(text) for ratio in FIGURE.findall(part[0])}
    assert set(FIGURE.findall(figures.PART.sub("", text))) <= generated
