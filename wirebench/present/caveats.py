"""What to doubt in a run's figures, as sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from wirebench.analysis.summary import CellSummary
from wirebench.errors import pluralise
from wirebench.model.metric import METRICS
from wirebench.model.record import CALIBRATED_CONNECTIONS_MAX
from wirebench.model.run_info import Run, RunInfo
from wirebench.present.labels import name_fully_in_run
from wirebench.present.numbers import format_moment

#: Loads that are not calibrated: the factor, and its level where it makes no difference.
_LARGER_ERRORS = {
    "TLS": ("tls", "none"),
    "reopened connections": ("connection", "keep"),
    "other payloads": ("payload", None),
    "a proxy": ("delay_ms", None),
    "REST over HTTP/2": ("http", None),
}


def list_caveats(run: Run, cells: Sequence[CellSummary]) -> tuple[str, ...]:
    """Return the caveats of a run's figures: what it noted itself, its calibration and its pauses."""
    return (
        *run.info.notes,
        *describe_calibration(cells),
        *describe_retries(cells),
        *_describe_resumption(run.info),
    )


def describe_calibration(cells: Sequence[CellSummary]) -> Iterator[str]:
    """Say which cells' drivers are calibrated coarsely, and for which loads the error may be larger."""
    if coarse := sum(any(each.instrument and each.instrument.coarse for each in cell.records) for cell in cells):
        where = f"{coarse} of {pluralise(len(cells), 'cell')}"
        yield (
            f"the drivers' error and ceiling are known coarsely in {where}, measured briefly at the start of a run; "
            f"`wirebench calibrate` renews it, for up to {CALIBRATED_CONNECTIONS_MAX} connections"
        )
    larger = {
        kind: None
        for cell in cells
        if any(cell.instrument_error_ms(METRICS[name]) for name in ("p50", "p99"))
        for kind, (factor, plain) in _LARGER_ERRORS.items()
        if cell.factors.get(factor) not in (plain, None)
    }
    if larger:
        yield (
            "the drivers' error is that of small requests in plain text on kept connections: "
            f"with {' or '.join(larger)} it may be larger"
        )


def describe_retries(cells: Iterable[CellSummary]) -> Iterator[str]:
    """Say of each cell how many requests were sent again: they took longer, and don't count as errors."""
    for cell in cells:
        if retried := int(cell.figure(METRICS["retried"]) or 0):
            yield (
                f"{name_fully_in_run(cell)}: {pluralise(retried, 'request was', 'requests were')} sent again, because "
                "the service rejected them unprocessed or closed their connection; their latencies include all attempts"
            )
        if replaced := int(cell.figure(METRICS["reconnects"]) or 0):
            yield f"{name_fully_in_run(cell)}: {pluralise(replaced, 'connection')} replaced one that had ended"


def _describe_resumption(run: RunInfo) -> Iterator[str]:
    """Say when a run was resumed: the cells of a block are paired because they share the moment."""
    if run.resumed_at:
        moments = ", ".join(map(format_moment, run.resumed_at))
        yield f"it was stopped, and resumed at {moments}: a block in two parts adds noise to its ratios"
