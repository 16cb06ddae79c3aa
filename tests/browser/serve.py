"""Serves runs to the browser's tests: a folder with runs of all kinds. Ends with its input."""

from __future__ import annotations

import json
import sys
import tempfile
import threading
from pathlib import Path

from tests.support.report_run import GENERATOR_GATE, RunBuilder, cell, passed, quick_cells
from wirebench.store.database import find_database_url
from wirebench.store.store import Store
from wirebench.web.app import make_app
from wirebench.web.report import FILE_NAME
from wirebench.web.server import PageServer, format_url, listen

#: More than one page of the table.
TINY_RUNS = 30
#: What a scenario may contain, and what must stay text wherever it is shown.
HOSTILE = "'; DROP TABLE runs; --<img src=x onerror=alert(1)>"
#: A report as it may have been written by hand; generating a true one takes seconds.
REPORT = """<!doctype html><html lang="en"><title>Nothing has run</title><style>h1 { color: rgb(1, 2, 3) }</style>
<h1>A report</h1><script>document.title = "It has run"</script>"""
OTHER_MACHINE = {"cpu": "Other <i>CPU</i>", "cores": "64"}


def main() -> None:
    """Write the runs, serve them, and say where."""
    with tempfile.TemporaryDirectory() as folder:
        filled = Path(folder, "filled")
        fill(filled)
        sys.stdout.write(json.dumps({"filled": serve(filled)}) + "\n")
        sys.stdout.flush()
        sys.stdin.read()


def serve(folder: Path) -> str:
    """Serve the runs of a folder in a thread that ends with the process; return the address."""
    store = Store(folder, find_database_url(folder))
    store.update()
    listener = listen("127.0.0.1", 0)
    server = PageServer(make_app(store))
    threading.Thread(target=server.run, args=([listener],), daemon=True).start()
    return format_url(listener)


def fill(folder: Path) -> None:
    """Write the runs."""
    for number in range(TINY_RUNS):
        at = {"id": f"202610{number + 1:02}T080000Z-tiny", "started_at": f"2026-10-{number + 1:02}T08:00:00Z"}
        info = {**at, "scenario": "tiny", "question": "Does it run?"}
        RunBuilder([cell("rest")], blocks=1, samples=20, info=info).write(folder)
    for day, seed in ((18, 7), (19, 8)):
        at = {"id": f"202611{day}T090000Z-quick", "started_at": f"2026-11-{day}T09:00:00Z"}
        RunBuilder(
            quick_cells(),
            samples=500,
            seed=seed,
            info=at,
            gates=lambda of, _: (GENERATOR_GATE,) if of.transport == "socket" and of.concurrency == 1 else (passed(),),
        ).write(folder)
        (folder / at["id"] / FILE_NAME).write_text(REPORT)
    hostile: dict[str, object] = {
        "id": "20261117T090000Z-hostile",
        "started_at": "2026-11-17T09:00:00Z",
        "scenario": HOSTILE,
        "question": f"Is {HOSTILE} <script>alert(2)</script> text?",
        "status": "incomplete",
        "reason": "it was <b>killed</b>",
        "machine": OTHER_MACHINE,
    }
    RunBuilder([cell("rest"), cell("grpc")], samples=100, info=hostile).write(folder)
    damaged = folder / "20261116T090000Z-damaged"
    damaged.mkdir()
    (damaged / "run.json").write_text("{")


if __name__ == "__main__":
    main()
