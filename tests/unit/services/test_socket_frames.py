"""Frames and lines, against the contract's test vectors and beyond."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.domain.errors import Code
from services.socket import lines
from services.socket.frames import (
    JSON_PREFACE,
    PROTOBUF_PREFACE,
    STATUSES,
    FrameError,
    bytes_needed,
    encode_reply,
    next_request,
)
from services.socket.lines import LINE_BYTES_MAX, LineError

PAYLOAD_BYTES_MAX = 4 * 1024 * 1024
VECTORS: dict[str, Any] = json.loads((Path(__file__).parents[3] / "proto/vectors/socket.json").read_text())
CODES = {status: code for code, status in STATUSES.items()}


def named(kind: str) -> list[Any]:
    """Return the vectors of a kind as parameters."""
    return [pytest.param(vector, id=vector["name"]) for vector in VECTORS[kind]]


def frame(request_id: int, method: bytes, body: bytes) -> bytes:
    """Return a request frame, built by the words of proto/socket.md."""
    payload = request_id.to_bytes(4) + len(method).to_bytes(1) + method + body
    return len(payload).to_bytes(4) + payload


def test_prefaces_are_the_contracts() -> None:
    """Both encodings open as the vectors say."""
    expected = {name: bytes.fromhex(preface) for name, preface in VECTORS["prefaces"].items()}
    assert expected == {"json": JSON_PREFACE, "protobuf": PROTOBUF_PREFACE}


@pytest.mark.parametrize("vector", named("requests"))
def test_a_request_is_read_as_the_vector_says(vector: dict[str, Any]) -> None:
    """Id, method and body lie where the contract says, wherever in the stream the frame starts."""
    data = bytes.fromhex(vector["hex"])
    expected = (vector["id"], vector["method"].encode(), bytes.fromhex(vector["body_hex"]))
    assert (len(data), *expected) == next_request(data, 0, PAYLOAD_BYTES_MAX)
    assert (len(data) + 3, *expected) == next_request(b"abc" + data + b"d", 3, PAYLOAD_BYTES_MAX)


@pytest.mark.parametrize("vector", named("requests"))
def test_a_part_of_a_request_is_waited_for(vector: dict[str, Any]) -> None:
    """No part of a good frame is taken for a frame or for a bad one, and what it needs is told as soon as it can be."""
    data = bytes.fromhex(vector["hex"])
    for size in range(len(data)):
        assert next_request(data[:size], 0, PAYLOAD_BYTES_MAX) is None
        assert (len(data) if size >= 9 else 0) == bytes_needed(data[:size], 0)


@pytest.mark.parametrize("vector", [each for each in VECTORS["replies"] if not each["flags"]], ids=lambda v: v["name"])
def test_a_reply_is_written_as_the_vector_says(vector: dict[str, Any]) -> None:
    """Replies are the vectors' bytes; those of streams are not for this encoder."""
    body = bytes.fromhex(vector["body_hex"])
    reply = encode_reply(vector["id"], CODES[vector["status"]], vector["message"], body)
    assert bytes.fromhex(vector["hex"]) == reply


@pytest.mark.parametrize("vector", named("malformed_requests"))
def test_a_malformed_request_is_refused(vector: dict[str, Any]) -> None:
    """Each malformed frame of the vectors is an invalid argument, and nothing else."""
    with pytest.raises(FrameError) as refusal:
        next_request(bytes.fromhex(vector["hex"]), 0, PAYLOAD_BYTES_MAX)
    assert Code.INVALID_ARGUMENT == refusal.value.code


@pytest.mark.parametrize(
    ("start", "request_id"),
    [
        pytest.param("00000000", 0, id="nothing in it"),
        pytest.param("00000000000000160000002a00", 0, id="nothing in it, and another one behind it"),
        pytest.param("00000003000000", 0, id="too short for an id"),
        pytest.param("000000040000002a", 42, id="an id and no more"),
        pytest.param("000000060000002b0261", 43, id="shorter than its method"),
    ],
)
def test_a_refusal_goes_to_the_id_if_there_is_one(start: str, request_id: int) -> None:
    """A reply to a frame that is too short carries its id, or 0."""
    with pytest.raises(FrameError) as refusal:
        next_request(bytes.fromhex(start), 0, PAYLOAD_BYTES_MAX)
    assert request_id == refusal.value.request_id


def test_a_frame_over_the_limit_is_refused_by_its_start() -> None:
    """Eight bytes, length and id, are enough to refuse; seven are waited upon."""
    start = bytes.fromhex("000004010000002a")
    assert next_request(start[:7], 0, 1024) is None
    with pytest.raises(FrameError, match=r"^The request is larger than 1024 bytes\.$") as refusal:
        next_request(start, 0, 1024)
    assert (Code.RESOURCE_EXHAUSTED, 42) == (refusal.value.code, refusal.value.request_id)


def test_a_frame_at_the_limit_is_taken() -> None:
    """The limit counts the payload: id, method length, method and body."""
    data = frame(1, b"m", b"x" * 1018)
    assert (len(data), 1, b"m", b"x" * 1018) == next_request(data, 0, 1024)


@given(st.binary(max_size=64))
def test_no_bytes_at_all_upset_the_reader(data: bytes) -> None:
    """Whatever comes is a frame, the start of one, or refused."""
    try:
        request = next_request(data, 0, 1024)
    except FrameError:
        return
    assert request is None or data[: request[0]] == frame(*request[1:])


def test_every_code_has_its_grpc_status() -> None:
    """No outcome is without a status, and no two share one."""
    assert set(Code) == set(STATUSES)
    assert len(STATUSES) == len(set(STATUSES.values()))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"a\nb", (2, "a")),
        (b"a\r\nb", (3, "a")),
        (b"\n", (1, "")),
        (b"\r\r\n", (3, "\r")),
        (b"abc", None),
        ("ß\n".encode(), (3, "ß")),
    ],
)
def test_lines_end_with_lf_or_cr_lf(data: bytes, expected: tuple[int, str] | None) -> None:
    """The end is not part of the line, and a line without one is waited for."""
    assert expected == lines.next_line(data, 0)


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_line_at_the_limit_is_taken_whatever_its_end(end: bytes) -> None:
    """64 KiB count without the end."""
    data = b"a" * LINE_BYTES_MAX + end
    assert (len(data), "a" * LINE_BYTES_MAX) == lines.next_line(data, 0)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"aa"])
def test_a_line_over_the_limit_is_refused(end: bytes) -> None:
    """One byte more is too much, and refused even before the end has come."""
    with pytest.raises(LineError, match="longer than 65536 bytes"):
        lines.next_line(b"a" * (LINE_BYTES_MAX + 1) + end, 0)


def test_a_line_that_is_not_utf8_is_refused() -> None:
    """Lines are text."""
    with pytest.raises(LineError, match="not valid UTF-8"):
        lines.next_line(b"\xff\n", 0)


@pytest.mark.parametrize(("text", "expected"), [("Hello", b"HELLO\n"), ("", b"\n"), ("straße", b"STRASSE\n")])
def test_a_line_is_answered_in_upper_case(text: str, expected: bytes) -> None:
    """An empty line too, so that every line has its answer."""
    assert expected == lines.answer(text)
