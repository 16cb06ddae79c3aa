"""Which share of the requests stayed in the load's zone: in the terminal and in the report."""

from __future__ import annotations

import io
from pathlib import Path

from tests.support.report_run import RunBuilder, cell
from wirebench.analysis.summary import summarise
from wirebench.cli.output import make_console, print_run
from wirebench.model.cell import Cell
from wirebench.present.remarks import describe_zones
from wirebench.report import write_report


def spread_cells() -> tuple[Cell, ...]:
    """Return two cells whose replicas are spread over zones."""
    return tuple(
        cell("rest", replicas=2, placement="same-node", balancing="service", traffic_distribution=level)
        for level in ("any", "prefer-close")
    )


def test_the_share_of_the_load_s_zone_is_stated(tmp_path: Path) -> None:
    """By level of the factor, in one sentence; cells and verdicts are named by it."""
    run = RunBuilder(
        cells=spread_cells(), info={"compare": "traffic_distribution"}, server={"same_zone_share": 0.52}
    ).write(tmp_path)
    text = io.StringIO()
    print_run(run, make_console(text))
    write_report(run, tmp_path / "report.html")
    expected = (
        "Of the requests, replicas in the load's zone had 52 % with routing to any zone, and 52 % with routing to the "
        "load's zone."
    )
    assert expected == describe_zones(summarise(run.records))
    assert expected in text.getvalue()
    assert "routing to the load's zone" in text.getvalue()
    assert expected.partition("'")[0] in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_nothing_is_stated_without_zones(tmp_path: Path) -> None:
    """Most runs have none."""
    assert "" == describe_zones(summarise(RunBuilder().write(tmp_path).records))
