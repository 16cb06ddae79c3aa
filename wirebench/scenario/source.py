"""Where each field of a scenario stands in its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

#: The way to a field: keys, and places in lists.
FieldPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """A file, and the line of every key and item in it, counted from 1."""

    path: Path
    lines: Mapping[FieldPath, int]

    def where(self, field: FieldPath) -> str:
        """Name a field with file and line; the line of what it stands in, if it is left out itself."""
        known = field
        while known and known not in self.lines:
            known = known[:-1]
        return f"{self.path}:{self.lines.get(known, 1)}: {dotted(field)}"


def dotted(field: FieldPath) -> str:
    """Name a field by its keys: `factors.driver.rest`."""
    return ".".join(part for part in field if isinstance(part, str))
