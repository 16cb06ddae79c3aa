"""Tables in Markdown, for docs/accuracy.md and docs/replication.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from wirebench.run.environment import read_commit, read_machine


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table, each row as soon as it is known."""
    for row in (header, ["---"] * len(header)):
        print(f"| {' | '.join(row)} |")
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)
    print()


def describe_origin() -> str:
    """Return when and on what figures are measured."""
    machine = read_machine()
    hardware = f"{machine['cpu']}, {machine['cores']} cores, {machine['kernel']}"
    return f"{datetime.now(UTC):%Y-%m-%d}, commit {read_commit() or 'unknown'}, {hardware}."
