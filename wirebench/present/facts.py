"""What exactly was run on what, enough to run it again."""

from __future__ import annotations

from collections.abc import Iterator

from wirebench.analysis.differences import read_load
from wirebench.model.labels import pluralise
from wirebench.model.run_info import Run, RunInfo
from wirebench.model.scenario import Load
from wirebench.present.numbers import format_duration, format_moment


def list_facts(run: Run) -> dict[str, list[tuple[str, str]]]:
    """Return terms with what is to be said of them, by their heading."""
    machine = {name.replace("_", " ").replace("cpu", "CPU"): text for name, text in run.info.machine.items()}
    groups = {
        "The run": list(_list_run_facts(run)),
        "The machine": list(machine.items()),
        "Versions": list(run.info.versions.items()),
    }
    return {heading: terms for heading, terms in groups.items() if terms}


def make_repeat_command(info: RunInfo) -> str:
    """Return the command line that repeats the run; that of `wirebench` includes the seed."""
    has_seed = "--seed" in info.command or not info.command.startswith("wirebench ")
    return info.command if has_seed else f"{info.command} --seed {info.seed}"


def _list_run_facts(run: Run) -> Iterator[tuple[str, str]]:
    info = run.info
    yield "run", info.id
    yield "scenario", info.scenario
    if info.overrides:
        yield "overrides", "; ".join(info.overrides)
    if info.application:
        yield "application", info.application
    yield "target", info.target
    yield "started", format_moment(info.started_at)
    for resumed_at in info.resumed_at:
        yield "resumed", format_moment(resumed_at)
    yield "took", _describe_duration(info)
    yield "measured", _describe_records(run)
    if load := read_load(info.scenario_text):
        window = f"until all calls are made, at most {load.window_s:g} s" if load.calls else f"{load.window_s:g} s"
        yield "load", f"{describe_load(load)}; warm-up {load.warmup_s:g} s, window {window}"
    yield "order", f"cells in every block shuffled by seed {info.seed}"
    yield "compared", f"levels of {info.compare}; ratios within {info.equivalence_margin:.0%} of 1 count as equivalent"
    if info.conformance_requests:
        wrong = len(info.conformance_mismatches)
        answer = pluralise(wrong, "mismatch", "mismatches") if wrong else "answered alike by all"
        yield "conformance", f"{info.conformance_requests:,} random requests before the windows: {answer}"
    yield "commit", info.commit or "not known"


def _describe_duration(info: RunInfo) -> str:
    if info.duration_s is None:
        return "not known: it did not end"
    parts = [format_duration(info.duration_s)]
    if info.measured_s is not None and info.duration_s > 0:
        parts.append(f"{format_duration(info.measured_s)} of it ({info.measured_s / info.duration_s:.0%}) under load")
    if info.services_start_s is not None:
        parts.append(f"{format_duration(info.services_start_s)} starting services")
    return ", ".join(parts)


def _describe_records(run: Run) -> str:
    records, planned = len(run.records), run.info.cells * run.info.blocks
    requests = sum(record.requests for record in run.records)
    items = sum(record.streams.items for record in run.records if record.streams)
    of_streams = f", {pluralise(items, 'item')} of streams" if items else ""
    done = f"{records}" if records == planned else f"{records} of {planned}"
    return (
        f"{done} windows ({pluralise(run.info.cells, 'cell')} × {pluralise(run.info.blocks, 'block')}), "
        f"{pluralise(requests, 'request')}{of_streams}"
    )


def describe_load(load: Load) -> str:
    """Name the model of a load, and what it sets besides rates, warm-up and window."""
    return ", ".join(_list_settings(load))


def _list_settings(load: Load) -> Iterator[str]:
    yield f"{load.calls:,} calls a connection" if load.calls else load.model
    if load.warmup_calls:
        yield f"{load.warmup_calls:,} to warm up"
    if load.concurrency_max is not None:
        yield f"up to {load.concurrency_max:,} connections"
    if load.spawn_rate_per_s is not None:
        yield f"{load.spawn_rate_per_s:g} users start a second"
    if load.objective is not None:
        yield f"p99 at most {load.objective.p99_ms:g} ms, errors at most {100 * load.objective.error_share:g} %"
    if load.timeout_s is not None:
        yield f"timeout {load.timeout_s:g} s"
