"""`/runs/<id>/progress`: how a run goes."""

from __future__ import annotations

from dataclasses import dataclass

from wirebench.store.progress import RunProgress, read_progress
from wirebench.store.results import load_info
from wirebench.web.api.endpoint import Asked, Endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressAnswer:
    """How a run goes: its progress, and for how many seconds nothing was heard of it.

    Both are null before it has begun and once it is over; `status` tells which.
    """

    run_id: str
    status: str
    reason: str
    silent_s: float | None
    progress: RunProgress | None


def _answer(asked: Asked) -> ProgressAnswer:
    folder = asked.catalogue.run_folder(asked.run_id)
    info = load_info(folder)
    progress = read_progress(folder) if info.status == "running" else None
    return ProgressAnswer(
        run_id=info.id,
        status=info.status,
        reason=info.reason,
        silent_s=round(progress.silent_s(), 1) if progress else None,
        progress=progress,
    )


PROGRESS = Endpoint(
    name="progress",
    path="/runs/{run_id}/progress",
    summary="Tell how a run goes that has not ended.",
    answer=_answer,
    answers=ProgressAnswer,
)
