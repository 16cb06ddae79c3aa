"""What exactly was run on what, enough to run it again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from wirebench.errors import pluralise
from wirebench.model.run_info import RunInfo
from wirebench.present.numbers import format_duration


def list_facts(info: RunInfo) -> dict[str, list[tuple[str, str]]]:
    """Return terms with what is to be said of them, by their heading; the load is that of the scenario's text."""
    machine = {name.replace("_", " ").replace("cpu", "CPU"): text for name, text in info.machine.items()}
    groups = {
        "The run": list(_list_run_facts(info)),
        "The machine": list(machine.items()),
        "Versions": list(info.versions.items()),
    }
    return {heading: terms for heading, terms in groups.items() if terms}


def make_repeat_command(info: RunInfo) -> str:
    """Return the command line that repeats the run; that of `wirebench` includes the seed."""
    has_seed = "--seed" in info.command or not info.command.startswith("wirebench ")
    return info.command if has_seed else f"{info.command} --seed {info.seed}"


def _list_run_facts(info: RunInfo) -> Iterator[tuple[str, str]]:
    if info.overrides:
        yield "overrides", "; ".join(info.overrides)
    if info.application:
        yield "application", Path(info.application).name  # a report is for others, and its folder is the user's
    yield "took", "not known: it did not end" if info.duration_s is None else format_duration(info.duration_s)
    yield "order", f"cells in every block shuffled by seed {info.seed}"
    yield "compared", f"levels of {info.compare}; differences within a margin of {info.margin} count as equivalent"
    if info.conformance_requests:
        wrong = len(info.conformance_mismatches)
        answer = pluralise(wrong, "mismatch", "mismatches")
        yield "conformance", f"{info.conformance_requests:,} requests before the windows: {answer}"
    yield "commit", info.commit or "not known"
