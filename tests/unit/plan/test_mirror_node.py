"""Fetching the times of a topic's messages, from a local server that speaks the mirror node's REST API."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support.command_line import wirebench
from tests.support.http_servers import QuietHandler, serving
from wirebench.errors import UsageError, WirebenchError
from wirebench.model.recording import read_recording
from wirebench.plan import mirror_node
from wirebench.plan.mirror_node import MirrorNode, Order

TOPIC = "0.0.4321"
MESSAGES = 250
#: (status, headers, body), and what a page may be replaced by.
Answer = tuple[int, dict[str, str], str]


def time_of(number: int) -> str:
    """Return the consensus timestamp of a message, counted from 0; a second and a little apart."""
    return f"{1_700_000_000 + number}.{number:09d}"


def page_of(path: str) -> Answer:
    """Answer as the API does: a page of messages, and the way to the next one."""
    parts, query = urlsplit(path).path, parse_qs(urlsplit(path).query)
    if parts != f"/api/v1/topics/{TOPIC}/messages":
        return 404, {}, json.dumps({"_status": {"messages": [{"message": "Not found"}]}})
    limit, order = int(query["limit"][0]), query["order"][0]
    numbers = list(range(MESSAGES))[:: 1 if order == "asc" else -1]
    if "timestamp" in query:
        after = query["timestamp"][0].partition(":")[2]
        numbers = numbers[[time_of(number) for number in numbers].index(after) + 1 :]
    shown, rest = numbers[:limit], numbers[limit:]
    comparison = "gt" if order == "asc" else "lt"
    following = f"{parts}?limit={limit}&order={order}&timestamp={comparison}:{time_of(shown[-1])}" if rest else None
    messages = [
        {"consensus_timestamp": time_of(number), "message": "bQ==", "sequence_number": number, "topic_id": TOPIC}
        for number in shown
    ]
    return 200, {}, json.dumps({"messages": messages, "links": {"next": following}})


@dataclass
class Api:
    """A mirror node on this machine; `instead` answers a request in place of the real page, once each, in order."""

    url: str = ""
    paths: list[str] = field(default_factory=list)
    instead: list[Callable[[str], Answer | None]] = field(default_factory=list)


@pytest.fixture
def api() -> Iterator[Api]:
    """Start one."""
    made = Api()

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            made.paths.append(self.path)
            answer = made.instead.pop(0)(self.path) if made.instead else page_of(self.path)
            if answer is None:  # the connection breaks
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            status, headers, body = answer
            self.answer(status, body.encode(), headers)

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as address:
        made.url = f"http://{address}"
        yield made


def fetch(api: Api, limit: int = 1000, order: Order = "oldest", waits: list[float] | None = None) -> tuple[str, ...]:
    """Fetch without really waiting; `waits` gets how long it would have been."""
    node = MirrorNode(api.url, sleep=(waits if waits is not None else []).append)
    return node.read_message_times(TOPIC, limit, order, lambda _: None)


def test_all_pages_are_followed_to_the_last(api: Api) -> None:
    """250 messages are three pages of 100 at most."""
    assert tuple(map(time_of, range(250))) == fetch(api)
    assert f"/api/v1/topics/{TOPIC}/messages?limit=100&order=asc" == api.paths[0]
    assert 3 == len(api.paths)


def test_no_more_is_fetched_than_was_asked_for(api: Api) -> None:
    """The newest 120 are in two pages, and come in order of time."""
    assert tuple(map(time_of, range(130, 250))) == fetch(api, 120, "newest")
    assert 2 == len(api.paths)
    assert tuple(map(time_of, range(7))) == fetch(api, 7)
    assert "limit=7&" in api.paths[-1]


def test_what_passes_is_tried_again(api: Api) -> None:
    """Too many requests waits as long as it is told; errors of the server and of the line wait longer each time."""
    busy = json.dumps({"_status": {"messages": [{"message": "Too many requests"}]}})
    api.instead = [
        lambda _: (429, {"Retry-After": "7"}, busy),
        lambda _: (500, {}, "oops"),
        lambda _: None,
        lambda _: (200, {"Content-Length": "1000"}, '{"messages": ['),
        page_of,
    ]
    waits: list[float] = []
    assert 250 == len(fetch(api, waits=waits))
    assert 7.0 == waits[0]
    assert all(least_s <= wait_s <= 2 * least_s for least_s, wait_s in zip((0.5, 1, 2), waits[1:], strict=True)), waits


def test_what_does_not_pass_is_given_up(api: Api) -> None:
    """With its reason and how often it was tried; nothing listens there, say."""
    api.instead = [lambda _: (503, {}, "")] * 6
    with pytest.raises(WirebenchError, match=r"503 Service Unavailable, 6 times in a row"):
        fetch(api)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        api.url = f"http://127.0.0.1:{closed.getsockname()[1]}"
    with pytest.raises(WirebenchError, match=r"Connection refused, 6 times in a row"):
        fetch(api)


def test_a_wait_that_is_too_long_is_not_waited(api: Api) -> None:
    """It says how long it would be; a date is understood as well."""
    for value in ("3600", "Fri, 31 Dec 2999 23:59:59 GMT"):
        api.instead = [lambda _, value=value: (429, {"Retry-After": value}, "")]  # type: ignore[misc]
        with pytest.raises(WirebenchError) as caught:
            fetch(api)
        assert "as its Retry-After asks" in caught.value.hint


def test_the_words_of_an_error_are_told(api: Api) -> None:
    """A topic that isn't there is a 404 in the API's own form, and nothing to try again."""
    with pytest.raises(WirebenchError) as caught:
        MirrorNode(api.url).read_message_times("0.0.1", 10, "oldest", lambda _: None)
    assert "404 Not found" in caught.value.message
    assert "--network" in caught.value.hint
    assert 1 == len(api.paths)


@pytest.mark.parametrize(
    ("headers", "body"), [({"Content-Length": "1000"}, '{"_status": '), ({"Transfer-Encoding": "chunked"}, "no chunk")]
)
def test_an_error_that_breaks_off_is_told_by_its_status(api: Api, headers: dict[str, str], body: str) -> None:
    """Its words didn't all come."""
    api.instead = [lambda _: (404, headers, body)]
    with pytest.raises(WirebenchError, match="404 Not Found"):
        fetch(api)
    assert 1 == len(api.paths)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("{", "not a page of messages: not valid JSON"),
        ("[]", "not a page of messages"),
        ("{}", "not a page of messages"),
        ('{"messages": [{"message": "m"}]}', "not a page of messages"),
        ('{"messages": [{"consensus_timestamp": "12"}]}', "messages.0.consensus_timestamp: must match"),
        ('{"messages": [{"consensus_timestamp": 12.5}]}', "messages.0.consensus_timestamp: must be text"),
        (
            '{"messages": [{"consensus_timestamp": "2.000000000"}, {"consensus_timestamp": "1.000000000"}]}',
            "not in order",
        ),
        ('{"messages": [], "links": {"next": "/api/v1/topics/0.0.4321/messages"}}', "isn't the last"),
        (
            '{"messages": [{"consensus_timestamp": "1.000000000"}], "links": {"next": "http://127.0.0.2/x"}}',
            "links.next leads elsewhere",
        ),
        ('{"messages": [{"consensus_timestamp": "1.000000000"}], "links": {"next": 5}}', "links.next: must be text"),
        ('{"messages": [{"consensus_timestamp": "1.000000000"}], "links": {"next": "//[x"}}', "leads elsewhere"),
        (json.dumps({"messages": [], "more": "x" * 2_000_000}), "over 2,000,000 bytes"),
    ],
)
def test_what_is_not_the_api_is_rejected(api: Api, body: str, problem: str) -> None:
    """Nothing that it says is believed: it names no other host, has an order, and is no larger than it can be."""
    api.instead = [lambda _: (200, {}, body)]
    with pytest.raises(WirebenchError, match=problem):
        fetch(api)


def test_pages_without_end_are_noticed(api: Api) -> None:
    """The same page again and again brings nothing new."""
    first = page_of(f"/api/v1/topics/{TOPIC}/messages?limit=100&order=asc")
    api.instead = [lambda _: first] * 3
    with pytest.raises(WirebenchError, match="come again"):
        fetch(api)
    assert 2 == len(api.paths)


def test_redirects_are_not_followed(api: Api) -> None:
    """The API has none."""
    api.instead = [lambda _: (302, {"Location": "http://127.0.0.2/"}, "")]
    with pytest.raises(WirebenchError, match="302"):
        fetch(api)


def test_a_reply_that_comes_in_drops_is_given_up(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page has its time."""
    monkeypatch.setattr(mirror_node, "_PAGE_TIMEOUT_S", -1.0)
    with pytest.raises(WirebenchError, match="not whole after"):
        fetch(api)


@pytest.mark.parametrize("topic", ["4321", "0.0", "0.0.x", "0.0.1/../2", "0.0.٣"])
def test_what_is_no_topic_is_rejected(api: Api, topic: str) -> None:
    """Nothing is asked for."""
    with pytest.raises(UsageError, match="isn't a topic"):
        MirrorNode(api.url).read_message_times(topic, 10, "oldest", lambda _: None)
    assert [] == api.paths


@pytest.mark.parametrize("url", ["mainnet", "ftp://a", "http://", "http://a/?b=c", "http://[a", "file:///etc/passwd"])
def test_what_is_no_address_is_rejected(url: str) -> None:
    """In words, with an example."""
    with pytest.raises(UsageError, match="isn't an address"):
        MirrorNode(url)


def test_the_command_makes_a_timing_file(api: Api, tmp_path: Path) -> None:
    """It can be replayed, and says where it comes from."""
    out = tmp_path / "topic.json"
    arguments = ("timing", "fetch-hcs", "--topic", TOPIC, "--limit", "30", "--base-url", api.url, "--out", str(out))
    status, printed, _ = wirebench(*arguments)
    assert 0 == status
    assert "30 requests in 29.000 s" in printed
    assert 30 == read_recording(out).count
    assert f"messages of topic {TOPIC}, the newest 30 of them, by {api.url}" == json.loads(out.read_text())["about"]
