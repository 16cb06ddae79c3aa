"""A run in progress, as it is served: what the API, its page and the list of runs say of it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from pathlib import Path

import pytest

from tests.support.report_run import RunBuilder, cell
from tests.support.run_progress import make_progress
from tests.support.web import Site, served
from wirebench.present.facts import list_facts
from wirebench.results.progress import Figures, RunProgress, remove_progress, write_progress
from wirebench.results.runs import Run

HOSTILE = "<img src=x onerror=alert(1)>"


def figures(**changes: object) -> Figures:
    """Return those of a second, changed."""
    made = Figures(
        cell="users.get, 16 connections: gRPC",
        rate_per_s=8123,
        failed_per_s=0,
        items_per_s=None,
        clock="service",
        p50_ms=0.5,
        p99_ms=1.875,
    )
    return made.model_copy(update=changes)


def progress(**changes: object) -> RunProgress:
    """Return how a run goes at this moment, changed."""
    last = figures(cell="users.create, 1 connection: REST", rate_per_s=1234.5, p99_ms=20.0)
    cell = {"cell": "users.get, 16 connections: gRPC", "driver": "k6", "writes_snapshots": True}
    made = {"done": 23, "step": "block 2 of 4: measuring", "left_s": 83.4, **cell, "now": figures(), "last": last}
    return make_progress(**made | changes)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of runs."""
    return tmp_path_factory.mktemp("live") / "results"


@pytest.fixture(scope="module")
def run(folder: Path) -> Run:
    """Return a run in progress: of four windows, all are measured."""
    info = {"status": "running", "pid": os.getpid(), "question": f"Is {HOSTILE} text?"}
    return RunBuilder([cell("rest"), cell("grpc")], blocks=2, samples=50, info=info).write(folder)


@pytest.fixture(scope="module")
def site(folder: Path, run: Run) -> Iterator[Site]:
    """Return a server over that run."""
    with served(folder) as running:
        running.until("/runs", 1, run_id=run.info.id)
        yield running


def page_of(site: Site, run: Run) -> str:
    """Return the page of a run."""
    answer = site.ask(f"/runs/{run.info.id}")
    assert HTTPStatus.OK == answer.status
    return answer.body.decode()


def test_the_api_tells_how_a_run_goes(site: Site, run: Run) -> None:
    """All that the run has told, and how long ago that was."""
    state = progress(updated_at=datetime.now(UTC) - timedelta(seconds=90))
    write_progress(run.folder, state)
    answer = site.get(f"/runs/{run.info.id}/progress")
    assert (run.info.id, "running", "") == (answer["run_id"], answer["status"], answer["reason"])
    assert state == RunProgress.model_validate(answer["progress"])
    assert 90 <= answer["silent_s"]


@pytest.mark.parametrize("content", [None, "", "{", "\x00\x00"])
def test_a_run_without_news_is_told_of(site: Site, run: Run, content: str | None) -> None:
    """It has told nothing yet, or nothing that can be read."""
    remove_progress(run.folder)
    if content is not None:
        (run.folder / "progress.json").write_text(content)
    answer = site.get(f"/runs/{run.info.id}/progress")
    assert ("running", None, None) == (answer["status"], answer["silent_s"], answer["progress"])
    page = page_of(site, run)
    assert "No progress yet" in page
    assert 'max="4" value="0"' in page


def test_overrides_are_shown_as_in_the_report(tmp_path: Path) -> None:
    """In the same words."""
    overrides = ("--concurrency 1,4", "--set load.window_s=2")
    info = {"status": "running", "pid": os.getpid(), "overrides": overrides}
    changed = RunBuilder([cell("rest")], blocks=1, samples=20, info=info).write(tmp_path)
    with served(tmp_path) as site:
        assert "overrides: --concurrency 1,4; --set load.window_s=2" in page_of(site, changed)
    assert ("overrides", "; ".join(overrides)) in list_facts(changed)["The run"]


def test_a_run_that_is_over_tells_no_more(tmp_path: Path) -> None:
    """Even if what it has told last has stayed."""
    over = RunBuilder([cell("rest")], blocks=1, samples=20).write(tmp_path)
    write_progress(over.folder, progress())
    with served(tmp_path) as site:
        answer = site.get(f"/runs/{over.info.id}/progress")
        page = page_of(site, over)
    assert 'id="live"' not in page
    assert 'id="answer"' in page
    assert ("complete", None, None) == (answer["status"], answer["silent_s"], answer["progress"])


def test_the_page_says_how_the_run_goes(site: Site, run: Run) -> None:
    """How far it is, what it measures, and the time left, also without a script."""
    write_progress(run.folder, progress())
    page = page_of(site, run)
    for part in (
        '<progress data-live="bar" aria-labelledby="going" max="64" value="23"',
        "23 of 64 windows measured",
        "about 1:23 left",
        "block 2 of 4: measuring",
        "users.get, 16 connections: gRPC",
        "<b>8,123</b> requests/s",
        "<b>1.88</b> ms",
        "users.create, 1 connection: REST",
        "<title>23/64 · ",
        '<noscript><meta http-equiv="refresh"',
        "30 % measured",
    ):
        assert part in page
    assert "No progress for" not in page
    assert HOSTILE not in page


def test_a_load_that_tells_nothing_says_so(site: Site, run: Run) -> None:
    """There are no figures until its cell is done; what failed and what is of streams is named."""
    last = figures(items_per_s=250_000.0, clock="gap", p99_ms=None, failed_per_s=2.0)
    write_progress(run.folder, progress(driver="ghz", writes_snapshots=False, now=None, last=last))
    page = page_of(site, run)
    assert "ghz reports nothing until it ends" in page
    assert "<b>250,000</b> items/s" in page
    assert "p99 gap between items" in page
    assert "<dt>errors</dt><dd><b>2.00</b> requests/s" in page


def test_a_silent_run_is_told_of(site: Site, run: Run) -> None:
    """Its process is there, and says nothing."""
    write_progress(run.folder, progress(updated_at=datetime.now(UTC) - timedelta(seconds=90)))
    assert re.search(r"No progress for \d+ s", page_of(site, run))


def test_the_list_says_how_far_a_run_is(site: Site, run: Run) -> None:
    """And nothing is concluded from it yet."""
    write_progress(run.folder, progress())
    page = site.ask("/").body.decode()
    assert "23 of 64 windows, about 1:23 left" in page
    assert '<div class="summary">' not in page
