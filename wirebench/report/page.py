"""The page: everything the template shows, gathered from a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup

from wirebench.analysis.compare_cells import find_comparisons
from wirebench.analysis.summary import summarise
from wirebench.model.metric import METRICS
from wirebench.present import CHARTS_CSS, LOOK_CSS, load_curves, picture, remarks, sentences
from wirebench.present.caveats import list_caveats
from wirebench.present.charts.forest import draw_forests
from wirebench.present.charts.style import assign_styles
from wirebench.present.facts import failed_gates, list_facts, make_repeat_command
from wirebench.present.run_charts import draw_run, select_requests
from wirebench.present.table import make_request_table, make_verdict_table
from wirebench.present.templates import make_environment
from wirebench.report import ladder, operations, over_time
from wirebench.report.streams import make_streams
from wirebench.results.runs import Run

FOLDER = Path(__file__).parent


def render(run: Run) -> str:
    return render_report(gather(run))


def render_report(gathered: Mapping[str, Any]) -> str:
    css = "".join(each.read_text(encoding="utf-8") for each in (LOOK_CSS, CHARTS_CSS, FOLDER / "report.css"))
    template = make_environment(FOLDER).get_template("report.html.j2")
    return template.render(gathered, css=Markup(css))  # noqa: S704 - our own


def gather(run: Run) -> dict[str, Any]:
    """Return what `body.html.j2` shows, in the report and on the run's page."""
    cells = summarise(run.records, run.info.compare)
    charts = draw_run(run, cells)
    groups, styles, latencies = charts.groups, charts.styles, charts.latencies
    comparisons = find_comparisons(run)
    judged = [comparison for comparison in comparisons if not comparison.instruments]
    instruments = [comparison for comparison in comparisons if comparison.instruments]
    of_requests = select_requests(groups)
    of_streams = {title: members for title, members in groups.items() if any(cell.has_streams for cell in members)}
    streams = make_streams(run, of_streams, styles)
    return {
        "run": run,
        "command": make_repeat_command(run.info),
        # What all cells are alike in.
        "throughout": remarks.describe_common_factors(cells),
        "summary": remarks.write_answer(run, comparisons),
        "caveat": sentences.describe_certainty(comparisons),
        "doubts": list_caveats(run),
        "notes": remarks.list_notes(cells),
        "charts": charts,
        "verdicts": make_verdict_table(judged),
        "forests": draw_forests(judged, run.info.equivalence_margin),
        "instruments": make_verdict_table(instruments),
        "instrument_forests": draw_forests(instruments, run.info.equivalence_margin),
        "has_server_use": any(cell.by_block(METRICS["cpu"]) or cell.by_block(METRICS["item_cpu"]) for cell in cells),
        "ladders": ladder.make_ladders(cells, assign_styles(cells), run.info),
        "over": picture.make_factor_sections(cells),
        "calls": over_time.draw_calls(run, groups, styles),
        "load_curves": tuple(load_curves.draw(of_requests, styles)),
        "over_time": tuple(over_time.draw(of_requests, styles)),
        "operations": operations.make_operation_table(of_requests, latencies),
        "operation_charts": operations.draw(of_requests, styles, latencies),
        "streams": streams,
        "table": make_request_table(of_requests),
        "failed_gates": failed_gates(cells),
        "errors": [(cell.full_name, str(error)) for cell in cells for error in cell.errors],
        "unreadable": (*charts.unreadable, *streams.get("unreadable", ())),
        "facts": list_facts(run),
    }
