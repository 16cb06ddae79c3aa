"""The one place that executes a plan: run, resume.

from wirebench.plan import make_plan, read_scenario
from wirebench.run import execute

run = execute(make_plan(read_scenario("quick"), seed=1))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wirebench.run.runner import execute

__all__ = ["execute"]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - as Python defines it
    """Import `execute` when it is used: load pods import this package too, and don't have all that it needs."""
    if name == "execute":
        from wirebench.run import runner

        return runner.execute
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
