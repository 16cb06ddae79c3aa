"""Which store a service has, and how it is reached."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

NAMES = ("memory", "sqlite", "postgres")
#: What a service does where an empty postgres takes the place of the one that it began with.
WAIT, FILL = "wait", "fill"


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """A store by its kind, and what that kind needs to know."""

    kind: str
    #: Of sqlite; None is a temporary file.
    path: Path | None = None
    #: Of postgres, with the password in it: never to be shown.
    url: str = field(default="", repr=False)
    #: Of postgres: how many connections each worker may hold.
    connections: int = 10
    #: Of postgres: how long an operation may wait for a connection, and how long its statement may take.
    timeout_s: float = 5.0
    #: Of postgres: WAIT for somebody to make the tables, or FILL it with what all stores start with.
    when_empty: str = WAIT

    @classmethod
    def parse(cls, text: str) -> StoreSettings:
        """Read `memory`, `sqlite`, `sqlite:PATH` or `postgres`. Raises ValueError."""
        kind, _, path = text.partition(":")
        if kind not in NAMES or (path and kind != "sqlite"):
            message = f"no store {text!r}: memory, sqlite (a temporary file), sqlite:PATH or postgres"
            raise ValueError(message)
        return cls(kind, Path(path) if path else None)

    def __str__(self) -> str:
        """Name it as it was written."""
        return f"{self.kind}:{self.path}" if self.path else self.kind
