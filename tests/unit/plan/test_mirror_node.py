"""Fetching the times of a topic's messages, from a local server that speaks the mirror node's REST API."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support.command_line import wirebench
from tests.support.http_servers import QuietHandler, serving
from wirebench.errors import UsageError, WirebenchError
from wirebench.model.recording import read_recording
from wirebench.plan.mirror_node import NETWORKS, read_message_times

TOPIC = "0.0.4321"
MESSAGES = 250


def time_of(number: int) -> str:
    """Return the consensus timestamp of a message, counted from 0; a second and a little apart."""
    return f"{1_700_000_000 + number}.{number:09d}"


def page_of(path: str) -> tuple[int, str]:
    """Answer as the API does: a page of messages, and the way to the next one."""
    parts, query = urlsplit(path).path, parse_qs(urlsplit(path).query)
    assert parts == f"/api/v1/topics/{TOPIC}/messages"
    numbers = list(reversed(range(MESSAGES)))
    if "timestamp" in query:
        after = query["timestamp"][0].partition(":")[2]
        numbers = numbers[[time_of(number) for number in numbers].index(after) + 1 :]
    limit = int(query["limit"][0])
    shown, rest = numbers[:limit], numbers[limit:]
    following = f"{parts}?limit={limit}&order=desc&timestamp=lt:{time_of(shown[-1])}" if rest else None
    messages = [{"consensus_timestamp": time_of(number), "message": "bQ=="} for number in shown]
    return 200, json.dumps({"messages": messages, "links": {"next": following}})


#: Requests that a mirror node got; has it answer something else, if it is called.
Api = tuple[list[str], Callable[[int, str], None]]


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    """Start a mirror node of the test network."""
    paths: list[str] = []
    instead: list[tuple[int, str]] = []

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            status, body = instead[0] if instead else page_of(self.path)
            self.answer(status, body.encode())

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as address:
        monkeypatch.setitem(NETWORKS, "testnet", f"http://{address}")
        yield paths, lambda status, body: instead.append((status, body))


@pytest.mark.parametrize(("limit", "count", "pages"), [(1000, 250, 3), (150, 150, 2)])
def test_the_newest_messages_are_fetched_page_by_page(api: Api, limit: int, count: int, pages: int) -> None:
    """They are as many as were asked for, or all that there are, in order of time."""
    assert list(map(time_of, range(MESSAGES)))[-count:] == read_message_times(TOPIC, "testnet", limit, lambda _: None)
    assert pages == len(api[0])


@pytest.mark.parametrize(
    ("status", "body", "problem"),
    [
        (200, '{"messages": [{"consensus_timestamp": "now"}]}', "not a page of messages"),
        (200, '{"messages": [], "links": {"next": "http://elsewhere/api/"}}', "not a page of messages"),
        (503, "", "503"),
    ],
)
def test_another_reply_is_an_error(api: Api, status: int, body: str, problem: str) -> None:
    """It names the address."""
    api[1](status, body)
    with pytest.raises(WirebenchError, match=rf"http://127.*{problem}"):
        read_message_times(TOPIC, "testnet", 10, lambda _: None)


@pytest.mark.parametrize("topic", ["4321", "0.0.1/../2", "0.0.٣"])
def test_what_is_no_topic_is_rejected(topic: str) -> None:
    """The mirror node isn't asked."""
    with pytest.raises(UsageError, match="isn't a topic"):
        read_message_times(topic, "testnet", 10, lambda _: None)


@pytest.mark.usefixtures("api")
def test_the_command_makes_a_timing_file(tmp_path: Path) -> None:
    """It can be replayed."""
    out = tmp_path / "topic.json"
    status, printed, _ = wirebench("timing", "--topic", TOPIC, "--network", "testnet", "--limit", "30", "--out", out)
    assert 0 == status
    assert f"{out}: 30 messages from {time_of(220)} to {time_of(249)}" in printed
    assert 29_000_000_029 == read_recording(out).offsets_ns[-1]
