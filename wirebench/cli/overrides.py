"""Options that override keys of a scenario."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Annotated

import typer

from wirebench.cli.duration import parse_duration_s
from wirebench.model.contract import Driver
from wirebench.model.scenario import BLOCKS_MAX
from wirebench.plan.overrides import Override, parse_assignment, parse_override

_override_option = functools.partial(typer.Option, rich_help_panel="Overrides of the scenario")


@dataclass(frozen=True, slots=True)
class Overrides:
    """Options that override keys of a scenario."""

    concurrency: Annotated[str | None, _override_option(metavar="N,…", help="Connections (factors.concurrency).")] = (
        None
    )
    rate: Annotated[
        str | None,
        _override_option(
            metavar="N,…", help="Requests per second (factors.rate_per_s). A closed load becomes an open one."
        ),
    ] = None
    duration: Annotated[
        str | None,
        _override_option(metavar="TIME", help="Length of a window, such as 30s or 1m30s (load.window_s)."),
    ] = None
    transport: Annotated[
        str | None, _override_option(metavar="NAME,…", help="rest, grpc, socket (factors.transport).")
    ] = None
    operation: Annotated[
        str | None, _override_option(metavar="NAME,…", help="Operations or workloads (factors.operation).")
    ] = None
    driver: Annotated[
        Driver | None, _override_option(help="Driver of all cells (factors.driver), without cross-checks.")
    ] = None
    blocks: Annotated[int | None, _override_option(min=1, max=BLOCKS_MAX, help="Repetitions (blocks).")] = None
    assignments: Annotated[
        list[str] | None,
        _override_option(
            "--set",
            metavar="KEY=VALUE",
            help="Any other key, as YAML: factors.workers=1,2; null removes it. Repeatable.",
        ),
    ] = None

    def parse(self) -> tuple[Override, ...]:
        """Return the overrides that were asked for. Raises UsageError."""
        factors = {
            "concurrency": "concurrency",
            "rate": "rate_per_s",
            "transport": "transport",
            "operation": "operation",
        }
        overrides = [
            parse_override(f"--{option} {text}", ("factors", name), text)
            for option, name in factors.items()
            if (text := getattr(self, option)) is not None
        ]
        if self.driver:
            overrides.append(Override(f"--driver {self.driver}", ("factors", "driver"), self.driver))
        if self.duration:
            window_s = parse_duration_s(self.duration)
            overrides.append(Override(f"--duration {self.duration}", ("load", "window_s"), window_s))
        if self.blocks:
            overrides.append(Override(f"--blocks {self.blocks}", ("blocks",), self.blocks))
        return (*overrides, *map(parse_assignment, self.assignments or ()))
