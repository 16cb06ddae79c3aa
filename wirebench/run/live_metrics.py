"""Whether a Prometheus takes live metrics: what loads push to it for the dashboards (grafana/README.md)."""

from __future__ import annotations

import re

from wirebench.drivers.driver import OTLP
from wirebench.errors import UsageError
from wirebench.system.http import fetch

_REPLY_BYTES_MAX = 500
#: Without user and password, query and fragment.
_BASE_URL = re.compile(r"https?://([\w.-]+|\[[\da-f:.]+\])(:\d{2,5})?(/[^\s@?#]*)?", re.ASCII | re.IGNORECASE)


def parse_base_url(text: str, name: str) -> str:
    """Return the base URL of a server of that name. Raises UsageError, without the text: it may have a password."""
    if not _BASE_URL.fullmatch(text):
        raise UsageError(f"not the URL of a {name}", "write it like http://127.0.0.1:9090, without user and password")
    return text.rstrip("/")


def check_receiver(url: str) -> None:
    """Push nothing to a Prometheus. Raises UsageError if it isn't there or takes no pushes."""
    try:
        reply = fetch(url + OTLP, b'{"resourceMetrics": []}')
    except OSError as error:
        problem = str(error)
    else:
        if reply.status // 100 == 2:  # noqa: PLR2004 - 2xx
            return
        problem = f"{reply.status}: {reply.body[:_REPLY_BYTES_MAX].decode(errors='replace').strip()}"
    hint = "start Prometheus with --web.enable-otlp-receiver, or correct or leave out its URL; nothing was started"
    raise UsageError(f"can't push live metrics: {url}{OTLP}: {problem}", hint)
