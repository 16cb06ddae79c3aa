"""The forms and addresses of the pages, and what the filters leave to be drawn."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.report_run import RunBuilder, cell, quick_cells
from wirebench.present.pictures import RunPictures
from wirebench.web.pages.form import make_address, make_moment_fields
from wirebench.web.pages.results import LATENCIES_MAX, draw_cells


def draw(folder: Path, cells: frozenset[str]) -> RunPictures:
    """Return the pictures of some cells of a run."""
    pictures = draw_cells(folder, 0, cells)
    assert pictures
    return pictures


def test_what_the_filters_leave_out_is_not_drawn(tmp_path: Path) -> None:
    """The filters are those of cells, too."""
    run = RunBuilder(quick_cells(), samples=50).write(tmp_path)
    pictures = draw(run.folder, frozenset(of.id for of in quick_cells() if of.driver == "ghz"))
    assert [["gRPC with ghz"]] == [[style.name for style in each.legend] for each in pictures.chapters]


def test_a_page_draws_the_latencies_of_the_first_groups(tmp_path: Path) -> None:
    """Reading the histograms of all would take too long; the page of the run has them."""
    operations = ("users.get", "users.create", "users.update", "users.delete", "users.list", "echo.echo", "echo.upper")
    cells = [cell("rest", operation=operation) for operation in operations]
    run = RunBuilder(cells, samples=50).write(tmp_path)
    assert LATENCIES_MAX == len(draw(run.folder, frozenset(of.id for of in cells)).chapters[0].charts)


@pytest.mark.parametrize(
    ("text", "kind"), [("", "date"), ("2026-11-21", "date"), ("2026-11-21T18:00:00.5+02:00", "text")]
)
def test_a_time_is_asked_for_again(text: str, kind: str) -> None:
    """A field of a date can't hold one."""
    made, _ = make_moment_fields([("since", text)])
    assert (kind, text) == (made.kind, made.value)


def test_an_address_keeps_what_it_does_not_change() -> None:
    """Parameters are escaped, replaced, left out and added."""
    pairs = (("scenario", "a&b"), ("cursor", "old"), ("protocol", "rest"))
    assert "/?scenario=a%26b&protocol=rest" == make_address("/", pairs, "cursor")
    assert "/?scenario=a%26b&protocol=rest&cursor=new" == make_address("/", pairs, cursor="new")
    assert "/" == make_address("/", ())
