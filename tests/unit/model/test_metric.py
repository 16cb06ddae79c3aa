"""The registry of metrics: what it says is what is shown, stored and documented."""

from __future__ import annotations

import dataclasses
import statistics
from pathlib import Path

import pytest

from tests.support.report_run import RunBuilder, cell
from wirebench.analysis.results import Result, describe_cells
from wirebench.analysis.summary import summarise
from wirebench.model.metric import COMPARED, METRICS
from wirebench.present.numbers import describe_errors, format_metric
from wirebench.system.paths import ROOT
from wirebench.web.api import ENDPOINTS
from wirebench.web.api.openapi import make_openapi

HEADER = "| field | metric | label | unit | over blocks | meaning |\n|---|---|---|---|---|---|\n"


def test_the_table_in_the_documentation_is_that_of_the_registry() -> None:
    """After a change of a metric, replace the table by the one that is shown here."""
    rows = (
        f"| `{each.field}` | `{each.name}` | {each.label} | {each.unit} | {each.over_blocks} | {each.description} |\n"
        for each in METRICS.values()
    )
    assert HEADER + "".join(rows) in (ROOT / "docs/api.md").read_text("utf-8")


@pytest.mark.parametrize(("requests", "is_known"), [(9_999, False), (10_000, True)])
def test_a_p99_9_takes_ten_thousand_requests(tmp_path: Path, requests: int, *, is_known: bool) -> None:
    """It is left out of records that have fewer than ten requests beyond it, as it would be noise."""
    run = RunBuilder([cell("rest")], blocks=1, samples=requests).write(tmp_path)
    (summary,) = summarise(run.records)
    assert is_known == (summary.figure(METRICS["p99_9"]) is not None)


def test_a_metric_has_one_name_everywhere() -> None:
    """Results and the description of the API name it alike, and the description has its unit."""
    fields = [metric.field for metric in METRICS.values()]
    assert len(set(fields)) == len(METRICS)
    assert set(fields) <= {field.name for field in dataclasses.fields(Result)}
    for schema in ("Result", "RunCell"):
        described = make_openapi(ENDPOINTS)["components"]["schemas"][schema]["properties"]
        assert "server CPU per request, µs. " in described["cpu_us_per_request"]["description"]
        assert all(described[field]["description"] for field in fields)
    assert COMPARED.items() <= METRICS.items()


def test_figures_of_blocks_are_combined_as_the_metric_says(tmp_path: Path) -> None:
    """Counts are added up, latencies are of the merged histograms, other figures geometric means."""
    errors = {"unavailable": 2, "internal": 1}
    run = RunBuilder(cells=[cell("rest")], blocks=3, samples=100, record={"errors": errors}).write(tmp_path)
    (summary,) = summarise(run.records)
    services = [record.service for record in run.records if record.service]
    assert 300 == summary.figure(METRICS["requests"])
    assert 9 == summary.figure(METRICS["errors"])
    (described,) = describe_cells(run.info, [summary])
    assert {"unavailable": 6, "internal": 3} == described.errors
    assert min(each.min_ms for each in services) == summary.figure(METRICS["min"])
    assert max(each.max_ms for each in services) == summary.figure(METRICS["max"])
    assert pytest.approx(statistics.fmean(each.mean_ms for each in services)) == summary.figure(METRICS["mean"])
    assert summary.typical(METRICS["mean"]) != summary.figure(METRICS["mean"])
    assert summary.typical(METRICS["cpu"]) == summary.figure(METRICS["cpu"])
    assert None is summary.figure(METRICS["items"])
    assert ("6 unavailable, 3 internal", "–") == (describe_errors(described.errors), describe_errors({}))
    assert ("1,234", "1,230") == (format_metric(METRICS["requests"], 1234), format_metric(METRICS["cpu"], 1230.4))
