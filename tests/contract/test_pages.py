"""The pages over HTTP, as programs see them; what people do with them, a browser tests: tests/browser."""

from __future__ import annotations

import os
from http import HTTPStatus
from pathlib import Path

from tests.support.report_run import RunBuilder, cell
from tests.support.web import served

RUN = "20260101T000000Z-quick"


def write_run(folder: Path, name: str = RUN, **info: object) -> None:
    """Write a small run."""
    RunBuilder(cells=[cell("rest"), cell("grpc")], blocks=1, samples=20, info={"id": name, **info}).write(folder)


def test_a_report_that_is_missing_is_made_and_kept_apart(tmp_path: Path) -> None:
    """It is rendered for the answer, and may run and load nothing; pages keep their own policy."""
    write_run(tmp_path)
    with served(tmp_path) as site:
        report = site.ask(f"/runs/{RUN}/report")
        assert HTTPStatus.OK == report.status
        assert "wirebench report" in report.text
        assert report.headers["content-security-policy"].startswith(
            "sandbox; default-src 'none'; style-src 'unsafe-inline'"
        )
        page = site.ask(f"/runs/{RUN}")
        assert page.headers["content-security-policy"].startswith("default-src 'self'")
        assert "unsafe" not in page.headers["content-security-policy"]
    assert not (tmp_path / RUN / "report.html").exists()


REJECTED = [
    ("/?nix=1", 400, "<h1>nix: there is no such parameter</h1>"),
    ("/?cursor=forged", 400, "cursor"),
    ("/compare?base=a&amp=b", 400, "there is no such parameter"),
    ("/runs/..%2f..%2fetc%2fpasswd", 404, "Nothing is at this address"),
    ("/runs/..", 404, "There is no such run"),
    ("/runs/none/report", 404, "There is no such run"),
    ("/static/..%2fapp.py", 404, "Nothing is at this address"),
    (f"/runs/{RUN}", 500, "run.json"),
    (f"/runs/{RUN}/report", 500, "run.json"),
]


def test_rejections_are_pages(tmp_path: Path) -> None:
    """With the status that says it to programs, and a way back."""
    (tmp_path / RUN / "records").mkdir(parents=True)
    (tmp_path / RUN / "run.json").write_text("{")
    with served(tmp_path) as site:
        for path, status, word in REJECTED:
            answer = site.ask(path)
            assert (path, status) == (path, answer.status)
            assert "text/html; charset=utf-8" == answer.headers["content-type"]
            assert word in answer.text, path
            assert '<a href="/">All results</a>' in answer.text


def test_a_run_that_goes_on_concludes_nothing(tmp_path: Path) -> None:
    """Neither here nor for programs: who sees verdicts come and go is tempted to stop where they please."""
    write_run(tmp_path, "20251231T000000Z-quick")
    write_run(tmp_path, status="running", pid=os.getpid())
    with served(tmp_path, runs=2) as site:
        report = site.ask(f"/runs/{RUN}/report")
        assert (HTTPStatus.SEE_OTHER, f"/runs/{RUN}") == (report.status, report.headers["location"])
        found = site.get(f"/runs/{RUN}")
        assert ([], []) == (found["summary"], found["comparisons"])
        assert 2 == len(found["cells"])
        compared = site.get("/compare", base="20251231T000000Z-quick", head=RUN)
        assert {"withheld"} == {cell["verdict"] for cell in compared["changes"]}
        assert any("as a run is still running" in remark for remark in compared["caveats"])
