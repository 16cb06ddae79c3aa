"""`/runs/<id>/report`: a run's report, one file with styles of its own, kept apart from the pages."""

from __future__ import annotations

import functools
from http import HTTPStatus
from pathlib import Path
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response

from wirebench.report import FILE_NAME
from wirebench.store import load_run
from wirebench.store.results import load_info
from wirebench.web.catalogue import Catalogue
from wirebench.web.pages.findings import changed_ns

#: The file has its styles inside. It may load nothing and run nothing, and is of no origin: whatever is in it can't act
#: for whoever reads it.
_HEADERS = {"content-security-policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'"}

#: Reports that were made here are kept for the next who asks: one takes seconds.
_KEPT_MAX = 8


def report(request: Request) -> Response:
    """Answer with the report in the run's folder, or with one that is made for this answer; of a run that is over."""
    catalogue: Catalogue = request.app.state.catalogue
    folder = catalogue.run_folder(request.path_params["run_id"])
    if load_info(folder).status == "running":  # its page shows how it goes
        return RedirectResponse(f"/runs/{quote(folder.name)}", HTTPStatus.SEE_OTHER)
    written = folder / FILE_NAME
    if written.is_file():
        return FileResponse(written, headers=_HEADERS, media_type="text/html")
    return HTMLResponse(_made(folder, changed_ns(folder)), headers=_HEADERS)


@functools.lru_cache(maxsize=_KEPT_MAX)
def _made(folder: Path, changed_ns: int) -> str:  # noqa: ARG001 - what has changed is made anew
    # Imported late: the charts take long to load.
    from wirebench.report.page import render  # noqa: PLC0415

    return render(load_run(folder))
