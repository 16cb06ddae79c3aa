"""A connection's conversation: bytes in, bytes out, and when it is over."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.domain import seed
from services.domain.application import Application
from services.domain.stores.memory import MemoryStore
from services.operations import Codec
from services.platform import settings as settings_module
from services.platform.lifecycle import Worker
from services.platform.metrics import Recorder
from services.platform.settings import Settings
from services.socket.calls import Calls
from services.socket.frames import Request
from services.socket.main import DEFAULTS
from services.socket.session import REPLY_BYTES_MAX, Session
from services.socket.streams import Streams

from .test_socket_frames import frame

SETTINGS: Settings = settings_module.parse(DEFAULTS, ["--read-timeout-s=10", "--idle-timeout-s=75"], {})
STORE = MemoryStore(seed.users())
ID = seed.FIRST_SEEDED_ID
GET = frame(1, b"users.get", b'{"id":%d}' % ID)
LIST = frame(2, b"users.list", b"{}")


class Counts:
    """Stands in for the recorder of a worker, and keeps what is counted."""

    def __init__(self) -> None:
        self.in_flight = 0
        self.finished_as: Counter[tuple[str, str]] = Counter()

    def started(self) -> float:
        """Count a request as begun."""
        self.in_flight += 1
        return time.perf_counter()

    def finished(self, operation: str, code: str, *_figures: float) -> None:
        """Count a request as answered."""
        self.in_flight -= 1
        self.finished_as[operation, code] += 1


class Talk:
    """A session at time 0, with its counts."""

    def __init__(self) -> None:
        self.counts = Counts()
        worker = Worker(0, SETTINGS, Application.over(STORE), STORE, cast("Recorder", self.counts), lambda: None)
        self.calls = Calls(worker)
        self.streams = Streams(worker)
        self.session = Session(SETTINGS, self.calls, self.calls.answer, self.streams, 0.0)

    def say(self, data: bytes, now_s: float = 1.0) -> bytes:
        """Send bytes to the session."""
        return self.session.receive(data, now_s)


@pytest.fixture
def talk() -> Talk:
    """Return a session that nothing was said to."""
    return Talk()


def replies(data: bytes) -> list[tuple[int, int, str, bytes]]:
    """Return id, status, message and body of each reply frame."""
    found = []
    while data:
        end = 4 + int.from_bytes(data[:4])
        message_end = 12 + int.from_bytes(data[10:12])
        found.append(
            (int.from_bytes(data[4:8]), data[8], data[12:message_end].decode(), data[message_end:end]),
        )
        data = data[end:]
    return found


def user_json(user_id: int) -> bytes:
    """Return the JSON of a seeded user."""
    return f'{{"id":{user_id},"name":"User {user_id}","email":"user{user_id}@example.com"}}'.encode()


def test_json_frames_are_answered_in_json(talk: Talk) -> None:
    """A request after the preface gets its reply, and is counted."""
    assert [(1, 0, "User retrieved successfully", user_json(ID))] == replies(talk.say(b"WB1J" + GET))
    assert {("users.get", "ok"): 1} == talk.counts.finished_as
    assert 0 == talk.counts.in_flight


def test_protobuf_frames_are_answered_in_protobuf(talk: Talk) -> None:
    """The other preface selects the other encoding."""
    [(_, status, _, body)] = replies(talk.say(b"WB1P" + frame(1, b"echo.upper", b"\x0a\x01a")))
    assert (0, b"\x1a\x03\x0a\x01A") == (status, body)


@given(st.lists(st.integers(1, 40), max_size=12))
def test_the_stream_may_be_cut_anywhere(sizes: list[int]) -> None:
    """What is answered doesn't depend on how the bytes arrive."""
    stream = b"WB1J" + b"".join(frame(number, b"users.get", b'{"id":%d}' % (ID + number)) for number in range(4))
    talk = Talk()
    answered = b""
    for size in sizes:
        answered += talk.say(stream[:size])
        stream = stream[size:]
    answered += talk.say(stream)
    expected = [(number, 0, "User retrieved successfully", user_json(ID + number)) for number in range(4)]
    assert expected == replies(answered)


@given(st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=20), st.integers(0, 20))
def test_a_line_may_be_cut_anywhere(text: str, cut: int) -> None:
    """Lines come back upper-cased, even those that start as a preface does."""
    talk = Talk()
    data = f"WB1{text}\n".encode()
    if data[3:4] in (b"J", b"P"):
        return
    assert f"WB1{text.upper()}\n".encode() == talk.say(data[:cut]) + talk.say(data[cut:])


def test_a_short_first_line_needs_no_fourth_byte(talk: Talk) -> None:
    """Line mode begins with the first byte that no preface has there."""
    assert b"W\n" == talk.say(b"w\n")


def test_unknown_methods_are_refused_and_the_connection_goes_on(talk: Talk) -> None:
    """UNIMPLEMENTED is an answer like any other, and counted under one name."""
    assert [(7, 12, "Unknown method: users.fly.", b"")] == replies(talk.say(b"WB1J" + frame(7, b"users.fly", b"")))
    assert not talk.session.closing
    assert {("unknown", "unimplemented"): 1} == talk.counts.finished_as
    assert 0 == replies(talk.say(GET))[0][1]


def test_a_body_that_does_not_parse_is_refused_and_the_connection_goes_on(talk: Talk) -> None:
    """INVALID_ARGUMENT without a body."""
    [(_, status, message, body)] = replies(talk.say(b"WB1J" + frame(1, b"users.get", b"\xff{")))
    assert (3, b"") == (status, body)
    assert message.startswith("The body is not valid JSON")
    assert not talk.session.closing


def test_a_message_that_quotes_the_client_fits_its_frame(talk: Talk) -> None:
    """A field's name of 100,000 characters is not said back in full: the length field holds 65,535."""
    [(_, status, message, _)] = replies(talk.say(b"WB1J" + frame(1, b"users.get", b'{"%s":1}' % (b"x" * 100_000))))
    assert (3, 500) == (status, len(message))


def test_after_a_bad_frame_nothing_more_is_read(talk: Talk) -> None:
    """The error is the last reply, though more requests may be there."""
    answered = replies(talk.say(b"WB1J" + GET + bytes.fromhex("00000000") + GET))
    assert [(1, 0), (0, 3)] == [(request_id, status) for request_id, status, _, _ in answered]
    assert talk.session.closing


def test_after_a_bad_line_nothing_more_is_read(talk: Talk) -> None:
    """The error comes as a line."""
    assert b"A\nERROR: The line is not valid UTF-8.\n" == talk.say(b"a\n\xff\nb\n")
    assert talk.session.closing
    assert {("echo.upper", "ok"): 1, ("echo.upper", "invalid_argument"): 1} == talk.counts.finished_as


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        pytest.param(b"", b"", id="nothing"),
        pytest.param(b"WB1J", b"", id="a preface"),
        pytest.param(b"WB1J\x00", b"", id="half a frame"),
        pytest.param(b"WB1", b"WB1\n", id="what only looked like a preface"),
        pytest.param(b"a\nb", b"B\n", id="a last line"),
    ],
)
def test_the_end_answers_a_last_line_only(talk: Talk, said: bytes, expected: bytes) -> None:
    """A client that sends no more gets its last line back; half a frame is nothing."""
    talk.say(said)
    assert expected == talk.session.end()
    assert talk.session.closing


def test_a_client_has_the_read_timeout_until_its_first_request(talk: Talk) -> None:
    """10 s from connecting, and 10 s from the preface."""
    assert 10.0 == talk.session.deadline_s
    talk.say(b"WB1J", now_s=4.0)
    assert 14.0 == talk.session.deadline_s


def test_between_requests_a_client_has_the_idle_timeout(talk: Talk) -> None:
    """75 s from the last request."""
    talk.say(b"WB1J" + GET, now_s=2.0)
    assert 77.0 == talk.session.deadline_s


def test_sending_slowly_does_not_stop_the_clock(talk: Talk) -> None:
    """A request has 10 s from its first byte, however many pieces it comes in."""
    talk.say(b"WB1J" + GET, now_s=1.0)
    for second in range(5):
        talk.say(GET[second : second + 1], now_s=20.0 + second)
    assert 30.0 == talk.session.deadline_s
    talk.say(GET[5:] + GET[:1], now_s=29.0)
    assert 39.0 == talk.session.deadline_s


def test_replies_do_not_pile_up(talk: Talk) -> None:
    """A turn ends when enough is answered; the rest is the backlog, and comes when asked for."""
    answered = talk.say(b"WB1J" + LIST * 3)
    assert 1 == len(replies(answered))
    assert REPLY_BYTES_MAX < len(answered)
    turns = [len(replies(talk.say(b""))) for _ in range(3) if talk.session.backlog]
    assert [1, 1] == turns
    assert not talk.session.backlog


def test_a_paused_session_begins_nothing(talk: Talk) -> None:
    """Requests wait until the caller has room, also those behind a frame that came in pieces."""
    talk.say(b"WB1J" + LIST[:12])
    talk.say(LIST[12:])
    talk.session.paused = True
    assert b"" == talk.say(GET[:14])
    assert b"" == talk.say(GET[14:])
    assert talk.session.backlog
    talk.session.paused = False
    assert 1 == len(replies(talk.say(b"")))
    assert not talk.session.backlog


def test_a_request_may_be_answered_later(talk: Talk) -> None:
    """A dispatch that gives nothing gets the request, and the session goes on with the next."""
    taken: list[tuple[Codec, Request]] = []

    def dispatch(codec: Codec, request: Request) -> bytes:
        taken.append((codec, request))
        return b""

    session = Session(SETTINGS, talk.calls, dispatch, talk.streams, 0.0)
    assert b"" == session.receive(b"WB1J" + GET * 2, 1.0)
    later = [talk.calls.answer(codec, request) for codec, request in taken]
    assert [1, 1] == [replies(each)[0][0] for each in later]


def drained(said: bytes) -> Talk:
    """Return a session that was told to drain after something was said."""
    talk = Talk()
    talk.say(said)
    talk.session.drain()
    talk.say(b"")
    return talk


@pytest.mark.parametrize("said", [b"", b"WB1J", b"WB1J" + GET, b"a\n"], ids=repr)
def test_draining_closes_between_requests(said: bytes) -> None:
    """With nothing half-way, there is nothing to wait for."""
    assert drained(said).session.closing


def test_draining_answers_what_has_begun() -> None:
    """A frame that is half here is waited for, answered, and the last."""
    talk = drained(b"WB1J" + GET[:9])
    assert not talk.session.closing
    answered: Any = replies(talk.say(GET[9:]))
    assert [(1, 0)] == [each[:2] for each in answered]
    assert talk.session.closing


def test_a_drained_client_may_linger_for_a_second_only() -> None:
    """A client that doesn't close must not hold up a service that is told to stop."""
    assert 10.0 == Talk().session.linger_s
    assert 1.0 == drained(b"").session.linger_s
