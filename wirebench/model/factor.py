"""What a factor is. Each is declared once, as a field of `Cell` or `ServiceSpec`: all that depends on it reads that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from wirebench.model.contract import Implementation, LoadModel, TargetName, TransportFacts

Level = str | int | float | None
#: A level of each factor, by name.
Factors = Mapping[str, Level]
#: What a factor is of, in the order in which cells are named.
Group = Literal["implementation", "service", "driver", "network", "load"]
#: The groups in the order in which cells are sorted.
SORTED_GROUPS: tuple[Group, ...] = ("load", "service", "network", "implementation", "driver")


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """A dimension that a scenario may vary: where it applies, and how its levels are named."""

    group: Group
    #: Its part of a cell's id; empty where other parts imply it.
    mark: str = "{}"
    #: Whether the id has its default, too.
    marks_default: bool = True
    #: The least and the greatest level.
    limits: tuple[float, float] | None = None
    #: The type of the levels in a scenario, where it isn't that of the field.
    levels: Any = None
    #: The possible levels of a transport and an implementation, where they depend on these; the first is the default.
    choices: Callable[[TransportFacts, Implementation | None], Sequence[Level]] | None = None
    cluster_default: Level = None
    #: Targets that have it; others leave a single level out.
    targets: tuple[TargetName, ...] = ("local", "external", "kubernetes")
    #: Load models whose scenarios may name levels.
    load_models: tuple[LoadModel, ...] = get_args(LoadModel)
    is_built_in_only: bool = False
    #: Whether a run can't set it on a service that runs in a cluster already.
    is_fixed_in_cluster: bool = False
    #: The levels of other factors that it needs, and which of its own levels need them: by default all but the default.
    needs: Mapping[str, tuple[Level, ...]] = field(default_factory=dict)
    needed_by: tuple[Level, ...] = ()
    #: Whether its levels can be compared with each other, and what may differ then as it comes with a level.
    is_comparable: bool = True
    comes_with: tuple[str, ...] = ()
    #: What is counted, if it is a number of things; or else a noun for a level, and nouns of single levels.
    unit: str = ""
    noun: str = "{}"
    nouns: Mapping[Level, str] = field(default_factory=dict)
    #: The noun of no level; scenarios then write `none`.
    none: str = ""


def declare(default: Any, group: Group, **factor: Any) -> Any:  # noqa: ANN401 - the field of a dataclass
    """Declare a factor as a field of a dataclass, which has the type of the levels."""
    return field(default=default, metadata={"factor": Factor(group=group, **factor)})
