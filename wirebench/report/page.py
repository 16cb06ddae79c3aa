"""The page: everything the template shows, gathered from a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from markupsafe import Markup

from wirebench.analysis.compare_cells import find_comparisons
from wirebench.analysis.summary import summarise
from wirebench.model import labels as names
from wirebench.model.metric import METRICS
from wirebench.present import CHARTS_CSS, LOOK_CSS, load_curves, picture, remarks, sentences
from wirebench.present.caveats import list_caveats
from wirebench.present.charts.forest import INSTRUMENT_LANES, Forest
from wirebench.present.claims import make_claims
from wirebench.present.facts import failed_gates, list_facts, make_repeat_command
from wirebench.present.run_charts import draw_run, select_requests
from wirebench.present.table import make_request_table
from wirebench.present.templates import make_environment
from wirebench.report import ladder, operations, over_time
from wirebench.report.streams import make_streams
from wirebench.results.runs import Run

_FOLDER = Path(__file__).parent


def render(run: Run) -> str:
    css = "".join(each.read_text(encoding="utf-8") for each in (LOOK_CSS, CHARTS_CSS, _FOLDER / "report.css"))
    template = make_environment(_FOLDER).get_template("report.html.j2")
    return template.render(gather(run), css=Markup(css))  # noqa: S704 - our own


def gather(run: Run) -> dict[str, Any]:
    cells = summarise(run.records, run.info.compare)
    charts = draw_run(run, cells)
    groups, looks, latencies = charts.groups, charts.looks, charts.latencies
    comparisons = find_comparisons(run)
    judged = [comparison for comparison in comparisons if not comparison.instruments]
    forest = Forest.of(judged, run.info.equivalence_margin)
    instruments = [comparison for comparison in comparisons if comparison.instruments]
    instrument_forest = Forest.of(instruments, run.info.equivalence_margin, INSTRUMENT_LANES)
    of_requests = select_requests(groups)
    of_streams = {title: members for title, members in groups.items() if members[0].has_streams}
    streams = make_streams(run, of_streams, looks)
    return {
        "run": run,
        "command": make_repeat_command(run.info),
        # What all cells are alike in.
        "throughout": remarks.describe_common_factors(cells),
        "summary": tuple(names.capitalise(sentence) for sentence in sentences.summarise_comparisons(judged)),
        "caveat": sentences.describe_certainty(comparisons),
        "doubts": list_caveats(run),
        "charts": charts,
        "claims": make_claims(judged, forest),
        "agreement": tuple(
            names.capitalise(sentence)
            for sentence in (*sentences.describe_cross_checks(judged), *sentences.describe_agreement(instruments))
        ),
        "instruments": make_claims(instruments, instrument_forest),
        "disruptions": remarks.describe_disruptions(cells),
        "proxy_cost": remarks.describe_proxy_cost(cells),
        "zones": remarks.describe_zones(cells),
        "uneven_workers": remarks.describe_uneven_workers(cells),
        "has_server_use": any(cell.by_block(METRICS["cpu"]) or cell.by_block(METRICS["item_cpu"]) for cell in cells),
        "ladders": ladder.make_ladders(cells, looks, run.info),
        "over": picture.make_chapters(cells),
        "calls": over_time.draw_calls(run, groups, looks),
        "capacities": remarks.describe_capacities(cells, run.info.looks_planned),
        "recoveries": remarks.describe_recoveries(cells),
        "load_curves": load_curves.draw(of_requests, looks),
        "over_time": over_time.draw(of_requests, looks),
        "operations": operations.list_rows(of_requests, latencies),
        "operation_headings": operations.HEADINGS,
        "operation_charts": operations.draw(of_requests, looks, latencies),
        "streams": streams,
        "table": make_request_table(of_requests),
        "failed_gates": failed_gates(cells),
        "errors": [(cell.full_name, str(error)) for cell in cells for error in cell.errors],
        "unreadable": (*charts.unreadable, *(streams.unreadable if streams else ())),
        "facts": list_facts(run),
    }
