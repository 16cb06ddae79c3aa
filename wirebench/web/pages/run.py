"""`/runs/<id>`: one run, what it supports, and where it comes from; or how it goes, while it does. And its report."""

from __future__ import annotations

import functools
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response

from wirebench.analysis.compare_cells import find_comparisons
from wirebench.model.labels import pluralise
from wirebench.model.metric import METRICS
from wirebench.model.run_info import RunInfo
from wirebench.present.charts.lines import assign_live_styles, draw_live
from wirebench.present.numbers import ABSENT, format_minutes, format_number
from wirebench.present.remarks import write_answer
from wirebench.present.sentences import describe_few_blocks
from wirebench.report import FILE_NAME
from wirebench.report.page import gather, render_report
from wirebench.results.progress import SILENT_S, Figures, RunProgress, read_progress
from wirebench.results.runs import load_info, load_run
from wirebench.targets.kubernetes.namespace import name_namespace
from wirebench.web.catalogue import Catalogue, read_changed_ns
from wirebench.web.render import render

#: A report has its styles inside. It may load nothing and run nothing, and is of no origin: whatever is in it can't act
#: for its readers.
_REPORT_HEADERS = {
    "content-security-policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'"
}
#: So many summaries and pages are kept for the next who asks: a run may have thousands of records.
_SUMMARIES_MAX, _RUNS_MAX = 64, 16
_REQUESTS, _ITEMS = METRICS["throughput"].label, METRICS["item_rate"].label
_P99 = METRICS["p99"]
_CLOCKS = {"service": "service time", "response": "response time", "gap": "gap between items"}


def show_run(request: Request) -> Response:
    catalogue: Catalogue = request.app.state.catalogue
    name = request.path_params["run_id"]
    if run_id := catalogue.find_run_of_namespace(name):  # dashboards know a run by that
        return RedirectResponse(f"/runs/{quote(run_id)}", HTTPStatus.SEE_OTHER)
    folder = catalogue.run_folder(name)
    info = load_info(folder)
    if info.status == "running":
        return _show_progress(info, read_progress(folder))
    changed_ns = read_changed_ns(folder)
    dashboards = _link_dashboards(request.app.state.grafana, info, changed_ns // 1_000_000)
    return render("run.html.j2", dashboards=dashboards, **_gather(folder, changed_ns))


def _link_dashboards(grafana: str, info: RunInfo, end_unix_ms: int) -> str:
    """Return the address of the run's live metrics in Grafana; empty without one."""
    if not grafana:
        return ""
    start_unix_ms = round(datetime.fromisoformat(info.started_at).timestamp() * 1000)
    query = {"var-namespace": name_namespace(info.id), "from": start_unix_ms, "to": end_unix_ms}
    return f"{grafana}/d/wirebench-transports?{urlencode(query)}"


@functools.lru_cache(_RUNS_MAX)
def _gather(folder: Path, changed_ns: int) -> dict[str, Any]:  # noqa: ARG001 - a changed run is drawn again
    return gather(load_run(folder))


@functools.lru_cache(_SUMMARIES_MAX)
def summarise_run(folder: Path, changed_ns: int) -> tuple[str, ...]:  # noqa: ARG001 - a changed run is described again
    """Say in a few sentences what the run in a folder comes to, and how little one block says; or nothing.

    Raises WirebenchError if it can't be read.
    """
    run = load_run(folder)
    comparisons = find_comparisons(run)
    return (*write_answer(run, comparisons), *filter(None, [describe_few_blocks(comparisons)]))


def show_report(request: Request) -> Response:
    """Answer with the report in the run's folder, or with one that is made for this answer; of a run that is over."""
    catalogue: Catalogue = request.app.state.catalogue
    folder = catalogue.run_folder(request.path_params["run_id"])
    if load_info(folder).status == "running":  # its page shows how it goes
        return RedirectResponse(f"/runs/{quote(folder.name)}", HTTPStatus.SEE_OTHER)
    written, changed_ns = folder / FILE_NAME, read_changed_ns(folder)
    if written.is_file() and written.stat().st_mtime_ns >= changed_ns:  # and not from before the run was resumed
        return FileResponse(written, headers=_REPORT_HEADERS, media_type="text/html")
    return HTMLResponse(render_report(_gather(folder, changed_ns)), headers=_REPORT_HEADERS)


def _show_progress(info: RunInfo, progress: RunProgress | None) -> Response:
    """Show what is measured now. No verdicts: who sees them come and go is tempted to stop where they please."""
    streams = bool(progress and (shown := progress.now or progress.last) and shown.items_per_s is not None)
    return render(
        "progress.html.j2",
        info=info,
        progress=progress,
        done=progress.done if progress else 0,
        total=progress.total if progress else info.cells * info.blocks,
        measured=f"{describe_measured(progress)} measured" if progress else "",
        left=describe_time_left(progress) if progress else "",
        remark=_describe_silence(progress),
        parts={
            "now": ("In the last second", *_describe_window(progress)),
            "last": ("The last window that is done", *_describe_figures(progress.last if progress else None), ""),
        },
        styles=tuple(assign_live_styles(progress).values()) if progress else (),
        charts=(
            draw_live("Rate", _ITEMS if streams else _REQUESTS, progress, lambda point: point.rate_per_s),
            draw_live(_P99.label, _P99.unit, progress, lambda point: point.p99_ms),
        ),
    )


def describe_time_left(progress: RunProgress) -> str:
    return f"about {format_minutes(progress.left_s)} left"


def describe_measured(progress: RunProgress) -> str:
    return f"{progress.done:,} of {pluralise(progress.total, 'window')}"


def _describe_silence(progress: RunProgress | None) -> str:
    if progress is None:
        return "No progress yet: it is being set up."
    if (silent_s := progress.silent_s()) < SILENT_S:
        return ""
    return f"No progress for {silent_s:,.0f} s: its process may have been stopped, or be unable to write."


def _describe_window(progress: RunProgress | None) -> tuple[str, list[tuple[str, str, str]], str]:
    cell, figures = _describe_figures(progress.now if progress else None)
    if progress is None or progress.now or progress.cell is None:
        return cell, figures, ""
    if progress.writes_snapshots:
        return progress.cell, figures, "No second of its window is over yet."
    remark = f"{progress.driver} reports nothing until it ends: its figures come when the window is done."
    return progress.cell, figures, remark


def _describe_figures(figures: Figures | None) -> tuple[str, list[tuple[str, str, str]]]:
    """Return a cell with its figures: label, value and unit; the same without any value if there are no figures."""
    if figures is None:
        return ABSENT, [("rate", ABSENT, _REQUESTS), (_P99.label, ABSENT, _P99.unit)]
    rate = (figures.rate_per_s, _REQUESTS) if figures.items_per_s is None else (figures.items_per_s, _ITEMS)
    p99 = f"{_P99.label} {_CLOCKS[figures.clock]}" if figures.clock else _P99.label
    shown = [("rate", format_number(rate[0]), rate[1]), (p99, format_number(figures.p99_ms), _P99.unit)]
    if figures.failed_per_s:
        shown.append((METRICS["errors"].label, format_number(figures.failed_per_s), _REQUESTS))
    return figures.cell, shown
