"""A server of the contract whose latency is known."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wirebench.measure.truth import run_server
from wirebench.model.contract import Transport

HOST = "127.0.0.1"


@contextmanager
def truth_server(transport: Transport, folder: Path, *flags: str) -> Iterator[str]:
    """Run the server of accuracy/truth with these flags, and yield its address."""
    with run_server(transport, flags, frozenset(os.sched_getaffinity(0)), folder / "truth.log") as (port, _):
        yield f"{HOST}:{port}"
