"""Results over HTTP: an API for programs under `/api/v1`, and pages for people."""

from __future__ import annotations

from wirebench.web.app import make_app
from wirebench.web.hosts import Hosts
from wirebench.web.server import Server, listen, url_of

__all__ = ["Hosts", "Server", "listen", "make_app", "url_of"]
