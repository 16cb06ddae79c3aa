"""`/runs/<id>`: one run, what it supports, and where it comes from. And its report."""

from __future__ import annotations

import functools
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response

from wirebench.model.run_info import RunInfo
from wirebench.store.runs import is_run_name, load_info, load_run, read_changed_ns
from wirebench.store.store import Store
from wirebench.targets.cluster.namespace import name_namespace
from wirebench.web.render import render_template
from wirebench.web.report import FILE_NAME, gather_run

#: A report has its styles inside. It may load nothing and run nothing, and is of no origin: whatever is in it can't act
#: for its readers.
_REPORT_HEADERS = {
    "content-security-policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'"
}
#: So many runs are kept for the next who asks: one may have thousands of records.
_RUNS_MAX = 16


def show_run(request: Request) -> Response:
    store: Store = request.app.state.store
    name = request.path_params["run_id"]
    if run_id := _find_run_of_namespace(store, name):  # dashboards know a run by that
        return RedirectResponse(f"/runs/{quote(run_id)}", HTTPStatus.SEE_OTHER)
    folder = store.find_folder(name)
    changed_ns = read_changed_ns(folder)
    gathered = _gather(folder, changed_ns)
    dashboards = _link_dashboards(request.app.state.grafana, gathered["view"].run, changed_ns // 1_000_000)
    return HTMLResponse(render_template("run.html.j2", dashboards=dashboards, **gathered))


def _find_run_of_namespace(store: Store, namespace: str) -> str | None:
    """Return the name of the run whose live metrics have this namespace; None if there is none."""
    names = (each.name for each in store.folder.glob("*") if namespace.startswith("wirebench-"))
    return next((name for name in names if is_run_name(name) and name_namespace(name) == namespace), None)


def _link_dashboards(grafana: str, info: RunInfo, end_unix_ms: int) -> str:
    """Return the address of the run's live metrics in Grafana; empty without one."""
    if not grafana:
        return ""
    start_unix_ms = round(info.started_at.timestamp() * 1000)
    query = {"var-namespace": name_namespace(info.id), "from": start_unix_ms, "to": end_unix_ms}
    return f"{grafana}/d/wirebench-transports?{urlencode(query)}"


@functools.lru_cache(_RUNS_MAX)
def _gather(folder: Path, changed_ns: int) -> dict[str, Any]:  # noqa: ARG001 - a changed run is drawn again
    return gather_run(load_run(folder))


def show_report(request: Request) -> Response:
    """Answer with the report in the run's folder, or with one that is made for this answer; of a run that is over."""
    store: Store = request.app.state.store
    folder = store.find_folder(request.path_params["run_id"])
    if load_info(folder).status == "running":  # its page says so
        return RedirectResponse(f"/runs/{quote(folder.name)}", HTTPStatus.SEE_OTHER)
    written, changed_ns = folder / FILE_NAME, read_changed_ns(folder)
    if written.is_file() and written.stat().st_mtime_ns >= changed_ns:  # and not from before the run was resumed
        return FileResponse(written, headers=_REPORT_HEADERS, media_type="text/html")
    text = render_template("run.html.j2", is_file=True, dashboards="", **_gather(folder, changed_ns))
    return HTMLResponse(text, headers=_REPORT_HEADERS)
