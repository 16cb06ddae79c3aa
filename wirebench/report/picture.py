"""A chart with its title."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart with its title."""

    title: str
    svg: Markup
