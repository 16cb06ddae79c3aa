"""When messages came to a Hedera consensus topic: from the REST API of a mirror node.

https://docs.hedera.com/api-reference/topics/list-topic-messages-by-id describes it: pages of 100 messages at most, each
with a `consensus_timestamp`, and in `links.next` the way to the next page, null on the last.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BaseModel, StringConstraints, ValidationError

from wirebench.errors import UsageError, WirebenchError
from wirebench.model.validation_messages import describe_first
from wirebench.system.http import fetch

Network = Literal["mainnet", "testnet", "previewnet"]

URL = "https://{}.mirrornode.hedera.com"
_PAGE = 100
_TIMEOUT_S = 15.0
_TOPIC = re.compile(r"\d{1,10}\.\d{1,10}\.\d{1,10}", re.ASCII)


class _Message(BaseModel):
    consensus_timestamp: Annotated[str, StringConstraints(pattern=r"^[0-9]{1,12}\.[0-9]{9}$")]


class _Links(BaseModel):
    next: Annotated[str, StringConstraints(pattern="^/api/")] | None = None


class _MessagePage(BaseModel):
    messages: tuple[_Message, ...]
    links: _Links = _Links()


def read_message_times(topic: str, network: Network, limit: int) -> list[str]:
    """Return the consensus timestamps of a topic's newest messages, so many at most, in order of time.

    Raises UsageError for an invalid topic, and WirebenchError if the mirror node can't be reached, replies with an
    error, or sends an invalid reply.
    """
    if not _TOPIC.fullmatch(topic):
        raise UsageError(f"--topic: {topic!r} isn't a topic", "write SHARD.REALM.NUMBER, such as 0.0.4321")
    times: list[str] = []
    link: str | None = f"/api/v1/topics/{topic}/messages?limit={min(limit, _PAGE)}&order=desc"
    while link and len(times) < limit:
        page = _read_page(URL.format(network) + link)
        if not page.messages:
            break
        times += [each.consensus_timestamp for each in page.messages]
        link = page.links.next
    return times[:limit][::-1]


def _read_page(url: str) -> _MessagePage:
    try:
        reply = fetch(url, timeout_s=_TIMEOUT_S)
    except OSError as error:
        hint = "check the topic, its --network, and that this machine reaches it; or try again later"
        raise WirebenchError(f"{url}: {error}", hint) from None
    try:
        return _MessagePage.model_validate_json(reply.body)
    except ValidationError as error:
        problem = f"not a page of messages (status {reply.status}): {describe_first(error)}"
        raise WirebenchError(f"{url}: {problem}", "try again later") from None
