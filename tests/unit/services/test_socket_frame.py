"""Frames of the new socket servers, against the contract's test vectors and beyond."""

from __future__ import annotations

import json
from typing import Any

import pytest
from wirebench_services.contract import PREFACES, STATUSES
from wirebench_services.socket.frame import FrameError, Request, build_reply, parse_request

from wirebench.system.paths import ROOT

PAYLOAD_BYTES_MAX = 4 * 1024 * 1024
VECTORS: dict[str, Any] = json.loads((ROOT / "proto/vectors/socket.json").read_text())
CODES = {status: code for code, status in STATUSES.items()}


def named(kind: str) -> list[Any]:
    """Return the vectors of a kind as parameters."""
    return [pytest.param(vector, id=vector["name"]) for vector in VECTORS[kind]]


def test_prefaces() -> None:
    """Both encodings open as the vectors say."""
    assert VECTORS["prefaces"] == {encoding: preface.hex() for preface, encoding in PREFACES.items()}


@pytest.mark.parametrize("vector", named("requests"))
def test_requests(vector: dict[str, Any]) -> None:
    """A whole frame is read as its vector says; a part of it is neither a frame nor an error."""
    data = bytes.fromhex(vector["hex"])
    expected = Request(len(data), vector["id"], vector["method"], bytes.fromhex(vector["body_hex"]))

    assert expected == parse_request(data + b"more", PAYLOAD_BYTES_MAX)
    assert [None] * len(data) == [parse_request(data[:size], PAYLOAD_BYTES_MAX) for size in range(len(data))]


@pytest.mark.parametrize("vector", named("replies"))
def test_replies(vector: dict[str, Any]) -> None:
    """Replies are the vectors' bytes."""
    body = bytes.fromhex(vector["body_hex"])

    reply = build_reply(vector["id"], CODES[vector["status"]], vector["message"], body)

    assert vector["hex"] == reply.hex()


@pytest.mark.parametrize("vector", named("malformed_requests"))
def test_malformed_requests(vector: dict[str, Any]) -> None:
    """A malformed frame is an invalid argument."""
    with pytest.raises(FrameError) as raised:
        parse_request(bytes.fromhex(vector["hex"]), PAYLOAD_BYTES_MAX)

    assert "invalid_argument" == raised.value.code
