"""The one HTTP client: it bypasses the proxies of the environment, as drivers do, and follows no redirects."""

from __future__ import annotations

import urllib.request
from http.client import HTTPException, HTTPResponse
from typing import NamedTuple
from urllib.error import URLError

from wirebench.system.tls import ClientTls, make_context

_BYTES_MAX = 16 * 2**20


class Reply(NamedTuple):
    """An HTTP status, and what came with it."""

    status: int
    body: bytes


class _KeepReplies(urllib.request.HTTPErrorProcessor):
    """Returns each reply as it is, where urllib would follow redirects and raise errors."""

    def http_response(self, request: urllib.request.Request, response: HTTPResponse) -> HTTPResponse:  # noqa: ARG002
        return response

    https_response = http_response


def fetch(
    url: str,
    body: bytes | None = None,
    *,
    method: str | None = None,
    timeout_s: float = 10.0,
    tls: ClientTls | None = None,
) -> Reply:
    """Send a request, with JSON if there is a body, and return the reply, whatever its status.

    Raises OSError if there is no whole reply.
    """
    handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({}), _KeepReplies()]
    if tls:
        handlers.append(urllib.request.HTTPSHandler(context=make_context(tls)))
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"}, method=method)  # noqa: S310 - http
    try:
        with urllib.request.build_opener(*handlers).open(request, timeout=timeout_s) as reply:
            return Reply(reply.status, reply.read(_BYTES_MAX))
    except URLError as error:
        raise OSError(str(error.reason)) from error
    except HTTPException as error:
        raise OSError(f"the reply broke off: {error}") from error
