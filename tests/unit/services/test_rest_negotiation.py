"""Which encodings a request's headers ask for."""

from __future__ import annotations

import pytest

from services.operations import OPERATIONS
from services.rest.negotiation import JSON, PROTOBUF, negotiate


@pytest.mark.parametrize(
    ("content_type", "readable"),
    [
        ("", True),
        (JSON, True),
        (PROTOBUF, True),
        ("application/json; charset=utf-8", True),
        ("Application/JSON ;charset=utf-8", True),
        ("application/x-protobuf; messageType=x", True),
        ("text/plain", False),
        ("application/x-www-form-urlencoded", False),
        ("application/jsonx", False),
        ("json", False),
    ],
)
def test_readable_bodies(content_type: str, readable: bool) -> None:  # noqa: FBT001
    """Bodies are JSON or protobuf, with any parameters; a missing header means JSON."""
    assert readable == negotiate(content_type, "").readable


@pytest.mark.parametrize(
    ("content_type", "accept", "expected"),
    [
        ("", "", JSON),
        (PROTOBUF, "", PROTOBUF),
        (PROTOBUF, "*/*", PROTOBUF),
        (PROTOBUF, "application/*", PROTOBUF),
        (JSON, "*/*", JSON),
        (JSON, PROTOBUF, PROTOBUF),
        (PROTOBUF, JSON, JSON),
        (PROTOBUF, "application/json; charset=utf-8", JSON),
        (JSON, "text/html", JSON),
        (PROTOBUF, "text/html", JSON),
        ("text/plain", PROTOBUF, PROTOBUF),
        ("text/plain", "", JSON),
        (JSON, "text/html, application/x-protobuf", PROTOBUF),
        (JSON, "application/json, application/x-protobuf", JSON),
        (JSON, "application/json;q=0.5, application/x-protobuf", PROTOBUF),
        (JSON, "application/x-protobuf;q=0.5, */*;q=0.9", JSON),
        (PROTOBUF, "application/json, text/plain, */*", JSON),
        (JSON, "application/x-protobuf;q=0", JSON),
        (JSON, "application/x-protobuf;q=high", JSON),
        (JSON, ",,", JSON),
    ],
)
def test_encoding_of_replies(content_type: str, accept: str, expected: str) -> None:
    """Accept decides, by quality and then by order; any type means the one that was sent, none means JSON."""
    assert expected == negotiate(content_type, accept).content_type


def test_encodings_mix() -> None:
    """A JSON body can have a protobuf reply."""
    operation = OPERATIONS["echo.upper"]
    codec = negotiate(JSON, PROTOBUF).codec
    reply = operation.response.FromString(codec.encode(operation, "A"))

    assert {"text": "a"} == codec.decode(operation, b'{"text": "a"}')
    assert ["success", "message", "data"] == [field.name for field, _ in reply.ListFields()]
    assert codec.encode_failure("no") == negotiate(PROTOBUF, "").codec.encode_failure("no")


def test_a_new_user_is_the_whole_body() -> None:
    """POST /api/users takes the user itself, as JSON."""
    fields = negotiate(JSON, "").codec.decode(OPERATIONS["users.create"], b'{"id": 1}')
    assert {"user": {"id": 1}} == fields
