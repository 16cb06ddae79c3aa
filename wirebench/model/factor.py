"""What a factor is. Each is declared once, as a field of `Cell` or `ServiceSpec`: all that depends on it reads that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from wirebench.model.contract import Implementation, LoadModel, TargetName, TransportFacts

Level = str | int | float | None
#: What a factor is of, in the order in which cells are named.
Group = Literal["implementation", "service", "driver", "network", "load"]
#: The groups in the order in which cells are sorted.
SORTED_GROUPS: tuple[Group, ...] = ("load", "service", "network", "implementation", "driver")


@dataclass(frozen=True, slots=True)
class Need:
    """What a level needs of another factor, and why: one of these levels. None is a level, too."""

    factor: str
    levels: tuple[Level, ...]
    why: str
    #: The levels that need it; by default all but the factor's default.
    of: tuple[Level, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """A dimension that a scenario may vary: where it applies, and how its levels are named.

    Its field has the type of the levels and the default. Words are to follow a cell's transport, such as `2 workers`,
    or nouns, such as `a delay of 5 ms`.
    """

    group: Group
    #: Its part of a cell's id; empty where other parts imply it.
    mark: str = "{}"
    #: Whether the id has its default, too.
    always_marked: bool = False
    #: The type of the levels in a scenario, where it isn't that of the field.
    levels: Any = None
    #: The possible levels of a transport and an implementation, where they depend on these; the first is the default.
    choices: Callable[[TransportFacts, Implementation | None], Sequence[Level]] | None = None
    cluster_default: Level = None
    #: Targets that have it; others leave a single level out.
    targets: tuple[TargetName, ...] = ("local", "external", "kubernetes")
    #: Load models whose scenarios may name levels.
    load_models: tuple[LoadModel, ...] = get_args(LoadModel)
    #: If only the built-in application has it: what to do with others.
    own_hint: str = ""
    #: Whether a run can't set it on a service that runs in a cluster already.
    is_fixed_in_cluster: bool = False
    needs: tuple[Need, ...] = ()
    #: Whether its levels can be compared with each other, and what may differ then as it comes with a level.
    is_comparable: bool = True
    comes_with: tuple[str, ...] = ()
    #: What stands below a plot over its levels, where it isn't its name.
    label: str = ""
    #: What is counted, if it is a number of things.
    unit: str = ""
    saying: str = "with {}"
    noun: str = ""
    #: What it is as a noun where there is none; scenarios then write `none`.
    none: str = ""
    #: The words, and the noun if it is another, of levels that have their own.
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
