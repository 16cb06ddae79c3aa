"""Options of a run that is repeated until its verdicts are settled."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Annotated

import typer

from wirebench.cli.duration import parse_duration_s
from wirebench.errors import UsageError
from wirebench.model.run_info import Looks
from wirebench.model.scenario import BLOCKS_MAX
from wirebench.run.settling import schedule_looks

_MAX_TIME_S = 24 * 3600.0
_option = functools.partial(typer.Option, rich_help_panel="Until verdicts are settled")


@dataclass(frozen=True, slots=True)
class Settling:
    """Options of a run that is repeated until its verdicts are settled."""

    until_settled: Annotated[
        bool,
        _option(
            "--until-settled",
            help="Repeat blocks until no verdict is inconclusive. Verdicts are corrected for being looked at.",
        ),
    ] = False
    max_blocks: Annotated[
        int | None, _option(min=1, max=BLOCKS_MAX, help="At most so many blocks; default: 8 times --blocks.")
    ] = None
    max_time: Annotated[str | None, _option(metavar="TIME", help="Begin no block after this time, such as 30m.")] = None

    def parse(self, blocks: int) -> Looks | None:
        """Return when a run looks at its verdicts, first after so many blocks; None if it isn't repeated.

        Raises UsageError.
        """
        if not self.until_settled:
            if self.max_blocks is not None or self.max_time is not None:
                option = "--max-time" if self.max_blocks is None else "--max-blocks"
                hint = "add --until-settled, or set the number by --blocks"
                raise UsageError(f"{option} limits --until-settled", hint)
            return None
        duration_max_s = None if self.max_time is None else parse_duration_s(self.max_time, _MAX_TIME_S)
        return schedule_looks(blocks, self.max_blocks, duration_max_s)
