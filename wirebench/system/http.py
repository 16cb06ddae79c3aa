"""How addresses are asked: without redirects, and, where load is sent or measured, past proxies."""

from __future__ import annotations

import urllib.request


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """An address that answers in place of the one that was named is an error, as any status but 200 is."""

    def redirect_request(self, *_: object) -> None:
        """Follow none."""


def build_direct_opener() -> urllib.request.OpenerDirector:
    """Return what asks past the proxies that the environment may name, as drivers send their load."""
    return urllib.request.build_opener(urllib.request.ProxyHandler({}), NoRedirects)
