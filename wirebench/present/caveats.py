"""Caveats of runs' figures, as sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from wirebench.analysis.disturbances import find_disturbances
from wirebench.analysis.summary import summarise
from wirebench.model.labels import list_some, pluralise
from wirebench.model.metric import METRICS
from wirebench.model.record import CALIBRATED_CONNECTIONS_MAX
from wirebench.model.run_info import RunInfo
from wirebench.present.numbers import format_moment
from wirebench.results.runs import Run

#: Loads that are not calibrated: the factor, and its level where it makes no difference.
_LARGER_ERRORS = {
    "TLS": ("tls", "none"),
    "reopened connections": ("connection", "keep"),
    "other payloads": ("payload", None),
    "a proxy": ("delay_ms", None),
    "REST over HTTP/2": ("http", None),
}
_WINDOWS_NAMED_MAX, _CELLS_NAMED_MAX = 3, 3
_RUNS_NAMED_MAX, _NOTES_MAX = 3, 20


def list_caveats(run: Run) -> tuple[str, ...]:
    """Return the caveats of a run's figures: what it noted itself, its calibration, pauses and disturbances."""
    calibration = filter(None, [describe_calibration(run), describe_calibrated_load(run)])
    return (
        *run.info.notes,
        *calibration,
        *describe_retries(run),
        *describe_resumption(run.info),
        *describe_disturbances(run),
    )


def list_run_notes(runs: Mapping[str, RunInfo]) -> Iterator[str]:
    """Yield what each of the runs noted itself, by the names that the runs have here; what is equal stands once."""
    noted: dict[str, list[str]] = {}
    for name, run in runs.items():
        for note in run.notes:
            noted.setdefault(note, []).append(name)
    sentences = [f"Noted in {', '.join(list_some(names, _RUNS_NAMED_MAX))}: {note}." for note, names in noted.items()]
    yield from list_some(sentences, _NOTES_MAX)


def describe_calibration(run: Run) -> str:
    """Say which cells' drivers are calibrated coarsely, and what renews that; nothing if none are."""
    cells = summarise(run.records)
    coarse = [cell.full_name for cell in cells if cell.figure(METRICS["coarse"])]
    if not coarse:
        return ""
    where = f"all {pluralise(len(cells), 'cell')}" if len(coarse) > 1 else coarse[0]
    if 1 < len(coarse) < len(cells):
        where = f"{len(coarse)} of {len(cells)} cells ({'; '.join(list_some(coarse, _CELLS_NAMED_MAX))})"
    in_pod = run.info.target == "kubernetes"
    when, option = ("this run, in a pod", " --target kubernetes") if in_pod else ("a run", "")
    return (
        f"the drivers' error and ceiling are known coarsely in {where}, measured briefly at the start of "
        f"{when}; `wirebench calibrate{option}` renews it, for up to {CALIBRATED_CONNECTIONS_MAX} connections"
    )


def describe_calibrated_load(run: Run) -> str:
    """Say which of the run's loads may have a larger error than was calibrated; nothing if none has a known error."""
    found = {
        kind: None
        for cell in summarise(run.records)
        if any(cell.instrument_error_ms(METRICS[name]) for name in ("p50", "p99"))
        for kind, (factor, plain) in _LARGER_ERRORS.items()
        if cell.factors.get(factor) not in (plain, None)
    }
    if not found:
        return ""
    own = " or ".join(found)
    return (
        f"the drivers' error is that of small requests in plain text on kept connections: with {own} it may be larger"
    )


def describe_resumption(run: RunInfo) -> Iterator[str]:
    """Say when a run was resumed: the cells of a block are paired because they share the moment."""
    if run.resumed_at:
        moments = ", ".join(format_moment(each.isoformat()) for each in run.resumed_at)
        yield f"it was stopped, and resumed at {moments}: a block in two parts adds noise to its ratios"


def describe_retries(run: Run) -> Iterator[str]:
    """Say of each cell how many requests were sent again: they took longer, and don't count as errors."""
    for cell in summarise(run.records):
        if retried := int(cell.figure(METRICS["retried"]) or 0):
            yield (
                f"{cell.full_name}: {pluralise(retried, 'request was', 'requests were')} sent again, because the "
                "service rejected them unprocessed or closed their connection; their latencies include all attempts"
            )


def describe_disturbances(run: Run) -> Iterator[str]:
    """Say what disturbed a run that has ended, and what that means for its verdicts."""
    if run.info.status == "running":
        return
    found = find_disturbances(run)
    if found.drift is not None:
        yield (
            f"drift: from the first block to the last, all cells together became {_judge(found.drift)}; ratios are "
            "taken within a block, so absolute figures suffer from it, and verdicts hardly do"
        )
    if found.apart:
        cell, ratio = found.apart
        yield (
            f"drift: from the first block to the last, {cell.full_name} became {_judge(ratio)} by comparison with the "
            "other cells, so its ratios depend on how long the run is"
        )
    for block, ratio in found.blocks:
        yield f"block {block} is an outlier: all cells together are {_judge(ratio)} there; it stays in all figures"
    for block, cell, ratio in found.windows[:_WINDOWS_NAMED_MAX]:
        yield (
            f"block {block} of {cell.full_name} is an outlier: {_judge(ratio)} than its other blocks; it stays in all "
            "figures, and widens the intervals of its ratios"
        )
    if len(found.windows) > _WINDOWS_NAMED_MAX:
        yield f"{pluralise(len(found.windows) - _WINDOWS_NAMED_MAX, 'more window is an outlier', 'more are outliers')}"
    if found.after_heavy is not None:
        yield (
            "order effect: cells that follow the one with the most server CPU are "
            f"{_judge(found.after_heavy)} than those that follow the one with the least; the order is random, so this "
            "favours none, and a longer warm-up may remove it"
        )


def _judge(ratio: float) -> str:
    return f"{abs(ratio - 1) * 100:.0f} % {'better' if ratio > 1 else 'worse'}"
