"""When messages came to a Hedera consensus topic: from the REST API of a mirror node.

https://docs.hedera.com/api-reference/topics/list-topic-messages-by-id describes it: pages of 100 messages at most, each
with a `consensus_timestamp`, and in `links.next` the way to the next page, null on the last.
"""

from __future__ import annotations

import contextlib
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
from typing import Annotated, Literal
from urllib.parse import urlencode, urljoin, urlsplit

import orjson
from pydantic import BaseModel, StringConstraints, ValidationError

from wirebench.errors import UsageError, WirebenchError
from wirebench.model.validation_messages import describe_first
from wirebench.system.http import NoRedirects

Network = Literal["mainnet", "testnet", "previewnet"]
Order = Literal["newest", "oldest"]

NETWORKS: dict[Network, str] = {
    "mainnet": "https://mainnet.mirrornode.hedera.com",
    "testnet": "https://testnet.mirrornode.hedera.com",
    "previewnet": "https://previewnet.mirrornode.hedera.com",
}
_ORDERS: dict[Order, str] = {"newest": "desc", "oldest": "asc"}
_PAGE = 100
#: A hundred messages of 1,024 bytes, in base64 and with their other fields, are a quarter of this.
_PAGE_BYTES_MAX = 2_000_000
_CHUNK_BYTES = 65_536
#: Of connecting and of each read; and of a whole page, which might come in drops.
_TIMEOUT_S = 15.0
_PAGE_TIMEOUT_S = 60.0
_ATTEMPTS = 6
_BACKOFF_S = 0.5
#: A longer wait is an error.
_RETRY_AFTER_S_MAX = 60.0
_WORTH_A_RETRY = frozenset({408, 429, 500, 502, 503, 504})
_TOPIC = re.compile(r"\d{1,10}\.\d{1,10}\.\d{1,10}", re.ASCII)


class _Message(BaseModel):
    consensus_timestamp: Annotated[str, StringConstraints(pattern=r"^[0-9]{1,12}\.[0-9]{9}$")]


class _Links(BaseModel):
    next: str | None = None


class _MessagePage(BaseModel):
    messages: tuple[_Message, ...]
    links: _Links = _Links()


@dataclass(slots=True)
class _Retry(Exception):  # noqa: N818 - no error of the user's
    """Something that may go well the next time, and after how long the server wants to be asked again."""

    reason: str
    after_s: float | None = None


@dataclass(frozen=True, slots=True)
class MirrorNode:
    """A mirror node's REST API. `on_wait` gets the reason and length of each wait."""

    base_url: str
    on_wait: Callable[[str, float], None] = lambda _reason, _wait_s: None
    sleep: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        """Raise UsageError if the address is invalid."""
        if not _is_address(self.base_url):
            raise UsageError(f"--base-url: {self.base_url!r} isn't an address", f"write it like {NETWORKS['mainnet']}")

    def read_message_times(
        self, topic: str, limit: int, order: Order, on_page: Callable[[int], None]
    ) -> tuple[str, ...]:
        """Return the consensus timestamps of a topic's newest or oldest messages, so many at most, in order of time.

        `on_page` gets their number after each page. Raises UsageError for an invalid topic, and WirebenchError
        if the mirror node can't be reached, replies with an error, or sends an invalid reply.
        """
        if not _TOPIC.fullmatch(topic):
            raise UsageError(f"--topic: {topic!r} isn't a topic", "write SHARD.REALM.NUMBER, such as 0.0.4321")
        times: list[str] = []
        query = urlencode({"limit": min(limit, _PAGE), "order": _ORDERS[order]})
        url: str | None = f"{self.base_url.rstrip('/')}/api/v1/topics/{topic}/messages?{query}"
        while url and len(times) < limit:
            page = self._read_page(url)
            found = [each.consensus_timestamp for each in page.messages]
            _check_order([*times[-1:], *found], order, url)
            times += found
            on_page(min(len(times), limit))
            if page.links.next and not found:
                raise WirebenchError(f"{url}: a page without messages that isn't the last", _NOT_THE_API)
            url = _resolve_link(url, page.links.next) if page.links.next else None
        kept = times[:limit]
        return tuple(kept if order == "oldest" else reversed(kept))

    def _read_page(self, url: str) -> _MessagePage:
        """Return a page, and try again where that may help. Raises WirebenchError."""
        attempt = 1
        while True:
            try:
                return _parse(_get(url), url)
            except _Retry as retry:
                if attempt == _ATTEMPTS:
                    hint = "check that the mirror node works"
                    raise WirebenchError(f"{url}: {retry.reason}, {_ATTEMPTS} times in a row", hint) from None
                wait_s = _compute_wait_s(attempt, retry, url)
                self.on_wait(retry.reason, wait_s)
                self.sleep(wait_s)
                attempt += 1


_NOT_THE_API = "is this the address of a mirror node's REST API?"


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not parts.query and not parts.fragment


def _resolve_link(url: str, link: str) -> str:
    """Return where a link on a page leads. Raises WirebenchError if that isn't the same host, port and scheme."""
    with contextlib.suppress(ValueError):
        address = urljoin(url, link)
        if urlsplit(address)[:2] == urlsplit(url)[:2]:
            return address
    raise WirebenchError(f"{url}: links.next leads elsewhere: {link[:200]!r}", _NOT_THE_API)


def _compute_wait_s(attempt: int, failed: _Retry, url: str) -> float:
    """Return how long to wait: as the server's Retry-After, or twice as long each time, with jitter. In seconds."""
    if failed.after_s is None:
        return float(_BACKOFF_S * 2 ** (attempt - 1) * random.uniform(0.5, 1.0))  # noqa: S311 - no secret
    if failed.after_s > _RETRY_AFTER_S_MAX:
        raise WirebenchError(f"{url}: {failed.reason}", f"try again in {failed.after_s:.0f} s, as its Retry-After asks")
    return failed.after_s


_opener = urllib.request.build_opener(NoRedirects)


def _get(url: str) -> bytes:
    """Return what stands there. Raises _Retry, WirebenchError."""
    request = urllib.request.Request(url, headers={"Accept": "application/json", "User-Agent": "wirebench"})  # noqa: S310 - http or https: checked
    try:
        with _opener.open(request, timeout=_TIMEOUT_S) as reply:
            return _read(reply, url)
    except urllib.error.HTTPError as error:
        with error:
            try:
                problem = _extract_problem(error.read(_CHUNK_BYTES)) or error.reason
            except (OSError, http.client.HTTPException):
                problem = error.reason
        if error.code in _WORTH_A_RETRY:
            raise _Retry(f"{error.code} {problem}", _parse_retry_after_s(error.headers.get("Retry-After"))) from None
        hint = "see whether the topic is on this network: --network" if error.code == http.client.NOT_FOUND else ""
        raise WirebenchError(f"{url}: {error.code} {problem}", hint or _NOT_THE_API) from None
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


def _parse_retry_after_s(header: str | None) -> float | None:
    """Return a Retry-After in seconds: https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3; None if there is none."""
    if header is None:
        return None
    if header.isascii() and header.isdigit():
        return float(header)
    try:
        return max(0.0, (parsedate_to_datetime(header).astimezone(UTC) - datetime.now(UTC)).total_seconds())
    except ValueError:
        return None


def _extract_problem(body: bytes) -> str:
    """Return the words of the API's error form, `{"_status": {"messages": [{"message": …}]}}`; empty without them."""
    try:
        messages = orjson.loads(body)["_status"]["messages"]
        problem = "; ".join(str(each["message"]) for each in messages)
    except (ValueError, LookupError, TypeError):
        return ""
    return "".join(each if each.isprintable() else "?" for each in problem[:500])


def _parse(content: bytes, url: str) -> _MessagePage:
    try:
        return _MessagePage.model_validate_json(content)
    except ValidationError as error:
        raise WirebenchError(f"{url}: not a page of messages: {describe_first(error)}", _NOT_THE_API) from None


def _check_order(times: list[str], order: Order, url: str) -> None:
    """Raise WirebenchError unless each message is later, or earlier, than the one before: else there is no end."""
    keys = [tuple(map(int, each.split("."))) for each in times]
    ordered = sorted(set(keys), reverse=order == "newest")
    if keys != ordered:
        raise WirebenchError(f"{url}: the messages are not in order, or come again", _NOT_THE_API)
