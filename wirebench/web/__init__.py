"""Results over HTTP: an API for programs under `/api/v1`, and pages for people."""

from __future__ import annotations

from wirebench.web.app import make_app
from wirebench.web.guard import Hosts
from wirebench.web.server import PageServer, format_url, listen

__all__ = ["Hosts", "PageServer", "format_url", "listen", "make_app"]
