"""When messages came to a Hedera consensus topic: from the REST API of a mirror node.

https://docs.hedera.com/api-reference/topics/list-topic-messages-by-id describes it: pages of 100 messages at most, each
with a `consensus_timestamp`, and in `links.next` the way to the next page, null on the last.
"""

from __future__ import annotations

import http.client
import random
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal
from urllib.parse import urlencode, urljoin, urlsplit

import orjson

from wirebench.errors import UsageError, WirebenchError

Network = Literal["mainnet", "testnet", "previewnet"]
Order = Literal["newest", "oldest"]

NETWORKS: dict[Network, str] = {
    "mainnet": "https://mainnet.mirrornode.hedera.com",
    "testnet": "https://testnet.mirrornode.hedera.com",
    "previewnet": "https://previewnet.mirrornode.hedera.com",
}
_ORDERS: dict[Order, str] = {"newest": "desc", "oldest": "asc"}
_PAGE = 100
#: A hundred messages of 1,024 bytes, in base64 and with all that is said of them, are a quarter of this.
_PAGE_BYTES_MAX = 2_000_000
_CHUNK_BYTES = 65_536
#: Of connecting and of each read; and of a whole page, which might come in drops.
_TIMEOUT_S = 15.0
_PAGE_TIMEOUT_S = 60.0
_ATTEMPTS = 6
_BACKOFF_S = 0.5
#: Who is told to wait for longer had better come back later.
_RETRY_AFTER_S_MAX = 60.0
_WORTH_A_RETRY = frozenset({408, 429, 500, 502, 503, 504})
_TOPIC = re.compile(r"\d{1,10}\.\d{1,10}\.\d{1,10}", re.ASCII)
_TIMESTAMP = re.compile(r"\d{1,12}\.\d{9}", re.ASCII)


@dataclass(slots=True)
class _Retry(Exception):  # noqa: N818 - no error of the user's
    """Something that may go well the next time, and after how long the server wants to be asked again."""

    reason: str
    after_s: float | None = None


@dataclass(frozen=True, slots=True)
class MirrorNode:
    """A mirror node's REST API. `on_wait` is told why and for how long it waits; `sleep` does so."""

    base_url: str
    on_wait: Callable[[str, float], None] = lambda _reason, _wait_s: None
    sleep: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        """Raise UsageError if the address is none."""
        if not _is_address(self.base_url):
            raise UsageError(f"--base-url: {self.base_url!r} is no address", f"write it like {NETWORKS['mainnet']}")

    def message_times(self, topic: str, limit: int, order: Order, on_page: Callable[[int], None]) -> tuple[str, ...]:
        """Return the consensus timestamps of a topic's newest or oldest messages, so many at most, in order of time.

        `on_page` is told how many there are after each page. Raises UsageError for what is no topic, and WirebenchError
        if the mirror node can't be reached, refuses, or answers with what it shouldn't.
        """
        if not _TOPIC.fullmatch(topic):
            raise UsageError(f"--topic: {topic!r} is no topic", "write SHARD.REALM.NUMBER, such as 0.0.4321")
        times: list[str] = []
        query = urlencode({"limit": min(limit, _PAGE), "order": _ORDERS[order]})
        url: str | None = f"{self.base_url.rstrip('/')}/api/v1/topics/{topic}/messages?{query}"
        while url and len(times) < limit:
            page = self._page(url)
            found = _times_of(page, url)
            _check_order([*times[-1:], *found], order, url)
            times += found
            on_page(min(len(times), limit))
            following = self._next(page, url)
            if following and not found:
                raise WirebenchError(f"{url}: a page without messages that isn't the last", _NOT_THE_API)
            url = following
        kept = times[:limit]
        return tuple(kept if order == "oldest" else reversed(kept))

    def _next(self, page: dict[str, Any], url: str) -> str | None:
        """Return the address of the next page; None after the last. Raises WirebenchError if it is on another host."""
        links = page.get("links")
        following = links.get("next") if isinstance(links, dict) else None
        if following is None:
            return None
        address = _on_the_same_host(url, following)
        if not address:
            raise WirebenchError(f"{url}: links.next leads elsewhere: {str(following)[:200]!r}", _NOT_THE_API)
        return address

    def _page(self, url: str) -> dict[str, Any]:
        """Return a page, and try again where that may help. Raises WirebenchError."""
        attempt = 1
        while True:
            try:
                return _parse(_get(url), url)
            except _Retry as failed:
                if attempt == _ATTEMPTS:
                    hint = "see whether the mirror node is well"
                    raise WirebenchError(f"{url}: {failed.reason}, {_ATTEMPTS} times in a row", hint) from None
                wait_s = _wait_s(attempt, failed, url)
                self.on_wait(failed.reason, wait_s)
                self.sleep(wait_s)
                attempt += 1


_NOT_THE_API = "is this the address of a mirror node's REST API?"


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not parts.query and not parts.fragment


def _on_the_same_host(url: str, link: object) -> str:
    """Return where a link on a page leads; empty if that is no address, or one of another host, port or scheme."""
    if not isinstance(link, str):
        return ""
    try:
        address = urljoin(url, link)
        return address if urlsplit(address)[:2] == urlsplit(url)[:2] else ""
    except ValueError:
        return ""


def _wait_s(attempt: int, failed: _Retry, url: str) -> float:
    """Return how long to wait: as long as the server says, or twice as long each time, with jitter. In seconds."""
    if failed.after_s is None:
        return float(_BACKOFF_S * 2 ** (attempt - 1) * random.uniform(0.5, 1.0))  # noqa: S311 - no secret
    if failed.after_s > _RETRY_AFTER_S_MAX:
        raise WirebenchError(
            f"{url}: {failed.reason}", f"it asks for {failed.after_s:.0f} s of patience; wait for that"
        )
    return failed.after_s


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """The API has none, and where one would lead is not for it to say."""

    def redirect_request(self, *_: object) -> None:
        """Follow none: what it came with is an error, as all that isn't 200 is."""


_opener = urllib.request.build_opener(_NoRedirects)


def _get(url: str) -> bytes:
    """Return what stands there. Raises _Retry, WirebenchError."""
    request = urllib.request.Request(url, headers={"Accept": "application/json", "User-Agent": "wirebench"})  # noqa: S310 - http or https: checked
    try:
        with _opener.open(request, timeout=_TIMEOUT_S) as reply:
            return _read(reply, url)
    except urllib.error.HTTPError as error:
        with error:
            said = _words(error.read(_CHUNK_BYTES)) or error.reason
        if error.code in _WORTH_A_RETRY:
            raise _Retry(f"{error.code} {said}", _retry_after_s(error.headers.get("Retry-After"))) from None
        hint = "see whether the topic is on this network: --network" if error.code == http.client.NOT_FOUND else ""
        raise WirebenchError(f"{url}: {error.code} {said}", hint or _NOT_THE_API) from None
    except urllib.error.URLError as error:
        raise _Retry(f"can't be reached: {getattr(error.reason, 'strerror', None) or error.reason}") from None
    except (OSError, http.client.HTTPException) as error:  # while the reply is read
        raise _Retry(f"the reply broke off: {error}") from None


def _read(reply: http.client.HTTPResponse, url: str) -> bytes:
    content, deadline = b"", time.monotonic() + _PAGE_TIMEOUT_S
    while chunk := reply.read1(_CHUNK_BYTES):
        content += chunk
        if len(content) > _PAGE_BYTES_MAX:
            raise WirebenchError(f"{url}: over {_PAGE_BYTES_MAX:,} bytes for {_PAGE} messages", _NOT_THE_API)
        if time.monotonic() > deadline:
            raise _Retry(f"the reply was not whole after {_PAGE_TIMEOUT_S:.0f} s")
    if reply.length:  # what was announced and didn't come
        raise _Retry("the reply broke off")
    return content


def _retry_after_s(header: str | None) -> float | None:
    """Return a Retry-After in seconds: https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3; None if there is none."""
    if header is None:
        return None
    if header.isascii() and header.isdigit():
        return float(header)
    try:
        return max(0.0, (parsedate_to_datetime(header).astimezone(UTC) - datetime.now(UTC)).total_seconds())
    except ValueError:
        return None


def _words(body: bytes) -> str:
    """Return the words of the API's error form, `{"_status": {"messages": [{"message": …}]}}`; empty without them."""
    try:
        messages = orjson.loads(body)["_status"]["messages"]
        said = "; ".join(str(each["message"]) for each in messages)
    except (ValueError, LookupError, TypeError):
        return ""
    return "".join(each if each.isprintable() else "?" for each in said[:500])


def _parse(content: bytes, url: str) -> dict[str, Any]:
    try:
        page = orjson.loads(content)
    except ValueError as error:
        raise WirebenchError(f"{url}: not JSON: {error}", _NOT_THE_API) from None
    if not isinstance(page, dict):
        raise WirebenchError(f"{url}: not a page of messages", _NOT_THE_API)
    return page


def _times_of(page: dict[str, Any], url: str) -> list[str]:
    """Return a page's consensus timestamps. Raises WirebenchError if it has none where they should be."""
    try:
        times = [message["consensus_timestamp"] for message in page["messages"]]
    except (LookupError, TypeError):
        raise WirebenchError(f"{url}: not a page of messages", _NOT_THE_API) from None
    for each in times:
        if not (isinstance(each, str) and _TIMESTAMP.fullmatch(each)):
            raise WirebenchError(f"{url}: {str(each)[:40]!r} is no consensus timestamp", _NOT_THE_API)
    return times


def _check_order(times: list[str], order: Order, url: str) -> None:
    """Raise WirebenchError unless each message is later, or earlier, than the one before: else there is no end."""
    keys = [tuple(map(int, each.split("."))) for each in times]
    ordered = sorted(set(keys), reverse=order == "newest")
    if keys != ordered:
        raise WirebenchError(f"{url}: the messages are not in order, or come again", _NOT_THE_API)
