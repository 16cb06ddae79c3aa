"""Fetching the times of a topic's messages, from a local server that speaks the mirror node's REST API."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.support.command_line import wirebench
from tests.support.http_servers import QuietHandler, serving
from wirebench.errors import UsageError, WirebenchError
from wirebench.model.recording import read_recording
from wirebench.plan import mirror_node
from wirebench.plan.mirror_node import read_message_times

TOPIC = "0.0.4321"
MESSAGES = f"/api/v1/topics/{TOPIC}/messages"
#: The consensus timestamps of a topic, a second and a little apart.
TIMES = [f"{1_700_000_000 + number}.{number:09d}" for number in range(5)]


def page(times: list[str], following: str | None) -> tuple[int, str]:
    """Return a page of messages as the API answers it, and the way to the next one."""
    messages = [{"consensus_timestamp": each, "message": "bQ=="} for each in times]
    return 200, json.dumps({"messages": messages, "links": {"next": following}})


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, tuple[int, str]]]:
    """Start a mirror node of the test network; return its answers by path, the newest messages first."""
    found = {
        f"{MESSAGES}?limit=100&order=desc": page(TIMES[:2:-1], f"{MESSAGES}?timestamp=lt:{TIMES[3]}"),
        f"{MESSAGES}?timestamp=lt:{TIMES[3]}": page(TIMES[2::-1], None),
    }

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            status, body = found[self.path]
            self.answer(status, body.encode())

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as address:
        monkeypatch.setattr(mirror_node, "URL", f"http://{address}")
        yield found


@pytest.mark.usefixtures("answers")
def test_the_newest_messages_become_a_timing_file(tmp_path: Path) -> None:
    """They are fetched page by page, all that there are, in order of time, and can be replayed."""
    out = tmp_path / "topic.json"
    status, printed, _ = wirebench("timing", "--topic", TOPIC, "--network", "testnet", "--limit", "1000", "--out", out)
    assert 0 == status
    assert f"{out}: 5 messages from {TIMES[0]} to {TIMES[-1]}" in printed
    assert 4_000_000_004 == read_recording(out).offsets_ns[-1]


@pytest.mark.parametrize(
    ("status", "body", "problem"),
    [
        (200, '{"messages": [{"consensus_timestamp": "now"}]}', "not a page of messages"),
        (200, '{"messages": [], "links": {"next": "http://elsewhere/api/"}}', "not a page of messages"),
        (503, "", "503"),
    ],
)
def test_another_reply_is_an_error(answers: dict[str, tuple[int, str]], status: int, body: str, problem: str) -> None:
    """It names the address."""
    answers[f"{MESSAGES}?limit=10&order=desc"] = status, body
    with pytest.raises(WirebenchError, match=rf"http://127.*{problem}"):
        read_message_times(TOPIC, "testnet", 10)


@pytest.mark.parametrize("topic", ["4321", "0.0.1/../2", "0.0.٣"])
def test_what_is_no_topic_is_rejected(topic: str) -> None:
    """The mirror node isn't asked."""
    with pytest.raises(UsageError, match="isn't a topic"):
        read_message_times(topic, "testnet", 10)
