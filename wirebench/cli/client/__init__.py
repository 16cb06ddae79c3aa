"""`wirebench client`: one call, an interactive menu, a demo."""

from __future__ import annotations

from wirebench.cli.client.commands import app

__all__ = ["app"]
