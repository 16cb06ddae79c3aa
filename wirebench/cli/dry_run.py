"""`wirebench run --dry-run`: what a run would do and need."""

from __future__ import annotations

from wirebench.cli.console import make_console, print_json
from wirebench.drivers import DRIVERS
from wirebench.errors import pluralise
from wirebench.model.scenario import Scenario
from wirebench.plan.plan import Plan, list_needs
from wirebench.present.labels import name_cell_fully
from wirebench.present.numbers import format_duration
from wirebench.run.progress import TimeLeft
from wirebench.system.paths import KUBECONFIG, POSTGRES_URL


def describe_needs(scenario: Scenario, target: str = "local") -> list[str]:
    """Return what a scenario needs besides this machine, and which of that isn't here."""
    needs = dict.fromkeys(("cluster", *list_needs(scenario)) if target == "kubernetes" else list_needs(scenario))
    files = {"cluster": KUBECONFIG, "PostgreSQL": POSTGRES_URL, **{name: each.path for name, each in DRIVERS.items()}}
    return [need if files[need].exists() else f"{need} (missing)" for need in needs]


def show_plan(plan: Plan, *, json: bool) -> None:
    """Print the cells of a plan, their order, how long they take, and what they need."""
    expected_s, needs = TimeLeft(plan).compute_s(), describe_needs(plan.scenario, plan.target)
    order = [[plan.cells.index(planned.cell) + 1 for planned in block] for block in plan.blocks]
    if json:
        cells = [{"cell": cell.id, **cell.factors} for cell in plan.cells]
        facts = {"target": plan.target, "seed": plan.seed, "expected_s": expected_s, "needs": needs}
        print_json({**facts, "cells": cells, "order": order})
        return
    console = make_console()
    console.print(plan.scenario.question, style="bold")
    for place, cell in enumerate(plan.cells, start=1):
        console.print(f"{place:4}  {name_cell_fully(cell.factors)}")
    for block, places in enumerate(order, start=1):
        console.print(f"block {block}: {' '.join(map(str, places))}")
    size = f"{pluralise(len(plan.cells), 'cell')} × {pluralise(len(plan.blocks), 'block')}"
    console.print(f"{size}, about {format_duration(expected_s)}; seed {plan.seed}; {plan.target} target")
    console.print(f"needs: {', '.join(needs) or 'nothing beside this machine'}; nothing was started")
