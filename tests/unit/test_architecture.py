"""The house's one direction: a module imports only what stands to its left."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from wirebench.places import ROOT

#: From left to right, as a measurement goes.
STAGES = (
    "model",
    "timing",
    "scenario",
    "targets",
    "network",
    "clients",
    "drivers",
    "measure",
    "generator",
    "store",
    "stats",
    "index",
    "selection",
    "history",
    "tables",
    "report",
    "progress",
    "runner",
    "resumption",
    "share",
    "web",
    "cli",
)
#: What every stage may use.
COMMON = (
    "cgroup",
    "cgroup_agent",
    "errors",
    "files",
    "findings",
    "interrupts",
    "places",
    "ports",
    "processes",
    "readiness",
    "tls",
)


def imports_of(path: Path) -> Iterator[str]:
    """Yield every name that a file imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def modules(package: str) -> list[Path]:
    """Return the files of a package."""
    return sorted((ROOT / package).rglob("*.py"))


@pytest.mark.parametrize("path", modules("wirebench"), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_stage_imports_only_stages_to_its_left(path: Path) -> None:
    """`scenario → targets → drivers → measure → store → stats → index → report`, and no way back."""
    stage = path.relative_to(ROOT / "wirebench").parts[0].removesuffix(".py")
    if stage == "__init__":
        return
    allowed = {*COMMON, *(STAGES[: STAGES.index(stage) + 1] if stage in STAGES else ())}
    used = {name.split(".")[1] for name in imports_of(path) if name.startswith("wirebench.")}
    assert set() == used - allowed


@pytest.mark.parametrize(("folder", "other"), [("wirebench", "wirebench_services"), ("services/python", "wirebench")])
def test_harness_and_services_meet_only_at_the_contract(folder: str, other: str) -> None:
    """Neither imports the other."""
    crossing = {
        str(path.relative_to(ROOT))
        for path in modules(folder)
        for name in imports_of(path)
        if name == other or name.startswith(f"{other}.")
    }
    assert set() == crossing
