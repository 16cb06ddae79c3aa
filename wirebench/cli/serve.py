"""`wirebench serve`: results over HTTP."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from wirebench.cli.options import Out
from wirebench.errors import UsageError
from wirebench.system.paths import DEFAULT_FOLDER


def serve(
    *,
    host: Annotated[
        str, typer.Option(metavar="ADDR", help="Address to listen on; 0.0.0.0 is all of them.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65_535, help="Port; 0 takes a free one.")] = 8400,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A further name that it answers to, of a proxy; repeatable."),
    ] = None,
    grafana: Annotated[str, typer.Option(metavar="URL", help="Grafana with the dashboards, which pages lead to.")] = "",
    out: Out = DEFAULT_FOLDER,
) -> None:
    """Serve results as pages and as an API, until Ctrl-C.

    It serves this machine only, unless --host says otherwise.

    wirebench serve
    wirebench serve --host 0.0.0.0 --allowed-host results.example.com
    """
    from wirebench.run.live_metrics import parse_base_url
    from wirebench.store.database import find_database_url
    from wirebench.store.store import Store
    from wirebench.web.app import make_app
    from wirebench.web.guard import Hosts
    from wirebench.web.server import PageServer, format_url, listen

    if not out.is_dir():
        raise UsageError(f"--out {out}: no such folder", "name the folder of the runs; `wirebench run` makes results/")
    grafana_url = parse_base_url(grafana, "Grafana") if grafana else ""
    with listen(host, port) as listener, tempfile.TemporaryDirectory(prefix="wirebench-index-") as scratch:
        # A folder that is read-only has its index elsewhere.
        store = Store(out, find_database_url(out if os.access(out, os.W_OK) else Path(scratch)))
        hosts = Hosts.of(host, listener.getsockname()[0], allowed_host or ())
        app = make_app(store, hosts=hosts, grafana=grafana_url)
        sys.stdout.write(f"results of {out}/ at {format_url(listener)} (Ctrl-C ends it)\n")
        sys.stdout.flush()
        PageServer(app).run([listener])
    # Threads may still be at work on answers that were cut off, and Python would wait for them.
    sys.stdout.flush()
    os._exit(0)
