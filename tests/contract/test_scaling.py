"""Scaling laws and sizes over HTTP: the answers are what the API's description says, and the page has the charts."""

from __future__ import annotations

from http import HTTPStatus
from pathlib import Path

import pytest

from tests.support.report_run import cell
from tests.support.scaling_runs import draw_noise, grow, write_run
from tests.support.web import served
from wirebench.model.record import Record


def test_api_and_page_have_laws_and_sizes(tmp_path: Path) -> None:
    """A law that always grows has null for its best, a wrong rate is rejected, and the page shows points and law."""
    noise = draw_noise(5, 0.01)

    def rate(record: Record) -> float:
        return grow(int(record.factors["workers"] or 1), 1000) * noise()

    run = write_run(tmp_path, [cell("rest", workers=level) for level in (1, 2, 4, 8)], rate).info.id
    with served(tmp_path) as site:
        (scaling,) = site.get(f"/runs/{run}")["scaling"]
        assert ("workers", "linear", None) == (
            scaling["factor"],
            scaling["law"]["model"],
            scaling["law"]["best"]["estimate"],
        )
        assert scaling["sentence"] in site.get(f"/runs/{run}")["summary"]
        sized = site.get(f"/runs/{run}/size", rate=7000, p99_ms=50)
        assert 10 == pytest.approx(sized["sizes"][0]["replicas"]["estimate"], abs=1)
        assert 0.7 == sized["utilisation"]
        reply = site.ask(f"/api/v1/runs/{run}/size?rate=0&p99_ms=50")
        assert (HTTPStatus.BAD_REQUEST, "rate") == (reply.status, reply.json["error"]["parameter"])
        page = site.ask(f"/runs/{run}").body.decode()
        assert "requests/s and scaling law: users.get" in page
        assert "Residuals: users.get, 16 connections" in page
