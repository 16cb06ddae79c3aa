"""Which cells share a picture."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path

from tests.support.report_run import RunBuilder, cell
from wirebench.analysis.summary import summarise
from wirebench.model.cell import Cell
from wirebench.model.contract import TRANSPORTS
from wirebench.present.run_charts import group_cells


def names_by_group(folder: Path, cells: tuple[Cell, ...], compared: str) -> dict[str, list[str]]:
    """Return the names of cells by the title of their group."""
    run = RunBuilder(cells, blocks=1, samples=50).write(folder)
    return {
        title: [each.name for each in members]
        for title, members in group_cells(summarise(run.records, compared), compared).items()
    }


def test_few_cells_share_a_picture(tmp_path: Path) -> None:
    """Up to eight cells of a load are shown side by side, each named by all that it differs in."""
    cells = tuple(cell(each, delay_ms=delay) for each, delay in itertools.product(TRANSPORTS, (0, 5)))
    names = ["REST 0 ms away", "REST 5 ms away", "gRPC 0 ms away", "gRPC 5 ms away"]
    expected = {"users.get, 16 connections": [*names, "socket 0 ms away", "socket 5 ms away"]}
    assert expected == names_by_group(tmp_path, cells, "transport")


def test_many_cells_are_told_apart_by_what_is_not_compared(tmp_path: Path) -> None:
    """Each delay has a picture of its own where transports are compared, and names don't repeat it."""
    cells = tuple(cell(each, delay_ms=delay) for each, delay in itertools.product(TRANSPORTS, (0, 1, 5)))
    expected = {f"users.get, 16 connections, {delay} ms away": ["REST", "gRPC", "socket"] for delay in (0, 1, 5)}
    assert expected == names_by_group(tmp_path, cells, "transport")


def test_what_is_compared_stays_in_one_picture(tmp_path: Path) -> None:
    """However many cells there are, the levels that a run compares are side by side."""
    cells = tuple(cell(each, workers=workers) for each, workers in itertools.product(TRANSPORTS, (1, 2, 4)))
    assert ["users.get, 16 connections"] == list(names_by_group(tmp_path, cells, "workers"))


def test_names_tell_the_level_that_is_compared_at_its_default_too(tmp_path: Path) -> None:
    """`REST` beside `REST 2 workers` would not say that it has one; the default comes first."""
    cells = tuple(cell("rest", workers=workers) for workers in (1, 2))
    expected = {"users.get, 16 connections": ["REST 1 worker", "REST 2 workers"]}
    assert expected == names_by_group(tmp_path / "workers", cells, "workers")
    cells = tuple(dataclasses.replace(cell("rest"), tls=tls) for tls in ("server", "none"))
    expected = {"users.get, 16 connections": ["REST plain text", "REST TLS"]}
    assert expected == names_by_group(tmp_path / "tls", cells, "tls")
