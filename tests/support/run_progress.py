"""The progress of a run, as its file has it."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from typing import Any

from wirebench.results.progress import RunProgress


def make_progress(**changes: Any) -> RunProgress:  # noqa: ANN401 - fields of RunProgress
    """Return the progress of a run that has just begun here, changed."""
    made = RunProgress(
        updated_at=datetime.now(UTC), host=platform.node(), done=0, total=64, variants={"REST": "rest", "gRPC": "grpc"},
        step="", left_s=1, cell=None, driver=None, writes_snapshots=False, now=None, last=None, history=(),
    )  # fmt: skip
    return made.model_copy(update=changes)
