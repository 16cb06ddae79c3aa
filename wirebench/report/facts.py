"""What exactly was run on what: enough to run it again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from wirebench.report.numbers import count, duration, moment
from wirebench.scenario import Load
from wirebench.scenario.words import describe_load
from wirebench.stats import summarise
from wirebench.stats.differences import load_of
from wirebench.stats.handshakes import handshakes
from wirebench.stats.names import counted
from wirebench.store import Run, RunInfo


@dataclass(frozen=True, slots=True)
class Facts:
    """Terms with what is to be said of them, under a heading."""

    heading: str
    terms: tuple[tuple[str, str], ...]


def facts(run: Run) -> tuple[Facts, ...]:
    """Return all facts; those that are not known are left out."""
    info = run.info
    groups = (
        Facts("The run", tuple(_of_run(run))),
        Facts("The machine", tuple((_term(name), text) for name, text in info.machine.items())),
        Facts("Versions", tuple(info.versions.items())),
    )
    return tuple(group for group in groups if group.terms)


def command(info: RunInfo) -> str:
    """Return the command line that repeats the run, its seed included."""
    return info.command if "--seed" in info.command else f"{info.command} --seed {info.seed}"


def _term(name: str) -> str:
    return name.replace("_", " ").replace("cpu", "CPU")


def _of_run(run: Run) -> Iterator[tuple[str, str]]:
    info = run.info
    yield "run", info.id
    yield "scenario", info.scenario
    yield "target", info.target
    yield "started", moment(info.started_at)
    for resumed_at in info.resumed_at:
        yield "resumed", moment(resumed_at.isoformat())
    yield "took", _took(info)
    yield "measured", _measured(run)
    if load := load_of(info.scenario_text):
        yield "load", f"{describe_load(load)}; warm-up {load.warmup_s:g} s, window {_window(load)}"
    yield "order", f"cells in every block shuffled by seed {info.seed}"
    yield "compared", f"levels of {info.compare}; ratios within {info.equivalence_margin:.0%} of 1 count as equivalent"
    if info.conformance_requests:
        wrong = len(info.conformance_mismatches)
        answer = counted(wrong, "mismatch", "mismatches") if wrong else "answered alike by all"
        when = "before the first window" + (", and again when it was resumed" if info.resumed_at else "")
        yield "conformance", f"{count(info.conformance_requests)} random requests {when}: {answer}"
    if told := handshakes(summarise(run.records)):
        yield "TLS", " ".join(told)
    yield "commit", info.commit or "not known"


def _window(load: Load) -> str:
    return f"until all calls are made, at most {load.window_s:g} s" if load.calls else f"{load.window_s:g} s"


def _took(info: RunInfo) -> str:
    if info.duration_s is None:
        return "not known: it did not end"
    parts = [duration(info.duration_s)]
    if info.measured_s is not None and info.duration_s > 0:
        parts.append(f"{duration(info.measured_s)} of it ({info.measured_s / info.duration_s:.0%}) under load")
    if info.services_start_s is not None:
        parts.append(f"{duration(info.services_start_s)} starting services")
    return ", ".join(parts)


def _measured(run: Run) -> str:
    records, planned = len(run.records), run.info.cells * run.info.blocks
    requests = sum(record.requests for record in run.records)
    items = sum(record.streams.items for record in run.records if record.streams)
    of_streams = f", {counted(items, 'item')} of streams" if items else ""
    done = f"{records}" if records == planned else f"{records} of {planned}"
    return (
        f"{done} windows ({counted(run.info.cells, 'cell')} × {counted(run.info.blocks, 'block')}), "
        f"{counted(requests, 'request')}{of_streams}"
    )
