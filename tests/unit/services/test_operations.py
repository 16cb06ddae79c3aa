"""Operations in both encodings: the same fields in, the same values out."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wirebench_proto import users_pb2 as pb

from services.domain.application import Application
from services.domain.errors import Code
from services.domain.stores.memory import MemoryStore
from services.operations import (
    OPERATIONS,
    JsonCodec,
    JsonEnvelopeCodec,
    ProtobufCodec,
    ProtobufEnvelopeCodec,
    run,
)

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=50)
USERS = st.fixed_dictionaries(
    {
        "id": st.integers(1, 2**31 - 1),
        "name": st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=200),
        "email": st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=254),
    },
    optional={
        "phone": TEXT,
        "address": TEXT,
        "bio": TEXT,
        "tags": st.lists(TEXT, min_size=1, max_size=5),
        "avatar": st.binary(max_size=100),
    },
)


def application() -> Application:
    """Return an application over an empty store."""
    return Application.over(MemoryStore())


def as_json(user: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON mapping of a user."""
    avatar = {"avatar": base64.b64encode(user["avatar"]).decode()} if "avatar" in user else {}
    return {**user, **avatar}


@settings(deadline=None)
@given(USERS)
def test_any_valid_user_survives_json(user: dict[str, Any]) -> None:
    """What is created is what is read, field by field, and what was not given is not there."""
    outcome = run(application(), OPERATIONS["users.create"], JsonCodec(), json.dumps({"user": as_json(user)}).encode())
    assert as_json(user) == json.loads(outcome.body)


@settings(deadline=None)
@given(USERS)
def test_any_valid_user_survives_protobuf(user: dict[str, Any]) -> None:
    """What is created is what is read, also fields that are empty but given."""
    body = pb.CreateUserRequest(user=pb.User(**user)).SerializeToString()
    outcome = run(application(), OPERATIONS["users.create"], ProtobufCodec(), body)
    assert pb.User(**user) == pb.CreateUserResponse.FromString(outcome.body).data


@settings(deadline=None)
@given(st.sampled_from(sorted(OPERATIONS)), st.binary(max_size=200), st.booleans())
def test_no_body_brings_an_operation_down(name: str, body: bytes, binary: bool) -> None:  # noqa: FBT001
    """Any bytes at all give an answer or a refusal, and never an internal error."""
    codec = ProtobufCodec() if binary else JsonCodec()
    assert run(application(), OPERATIONS[name], codec, body).code in {Code.OK, Code.INVALID_ARGUMENT, Code.NOT_FOUND}


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False) | TEXT,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "name", "user", "users", "tags", "avatar", "x"]), inner, max_size=4)
    ),
    max_leaves=10,
)


@settings(deadline=None)
@given(st.sampled_from(sorted(OPERATIONS)), JSON_VALUES)
def test_no_json_brings_an_operation_down(name: str, value: Any) -> None:  # noqa: ANN401
    """Any JSON at all gives an answer or a refusal, and never an internal error."""
    outcome = run(application(), OPERATIONS[name], JsonCodec(), json.dumps(value).encode())
    assert outcome.code in {Code.OK, Code.INVALID_ARGUMENT, Code.NOT_FOUND}


def test_the_envelope_is_the_response_message() -> None:
    """JSON and protobuf replies carry the same three things."""
    body = b'{"id": 1, "name": "Ann", "email": "a@b"}'
    codec = JsonEnvelopeCodec({"users.create": "user"})
    outcome = run(application(), OPERATIONS["users.create"], codec, body)
    data: dict[str, Any] = {"id": 1, "name": "Ann", "email": "a@b"}
    assert {"success": True, "message": "User created successfully", "data": data} == json.loads(outcome.body)

    request = pb.CreateUserRequest(user=pb.User(**data))
    outcome = run(application(), OPERATIONS["users.create"], ProtobufEnvelopeCodec(), request.SerializeToString())
    expected = pb.CreateUserResponse(success=True, message="User created successfully", data=pb.User(**data))
    assert expected == pb.CreateUserResponse.FromString(outcome.body)


@pytest.mark.parametrize("codec", [JsonEnvelopeCodec(), ProtobufEnvelopeCodec()])
def test_a_failure_has_an_envelope_too(codec: JsonEnvelopeCodec | ProtobufEnvelopeCodec) -> None:
    """The message of a failure is in the body's encoding."""
    body = codec.encode_failure("User not found.")
    if isinstance(codec, JsonEnvelopeCodec):
        assert {"success": False, "data": None, "message": "User not found."} == json.loads(body)
    else:
        assert "User not found." == pb.GetUserResponse.FromString(body).message


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{", "The body is not valid JSON: "),
        (b"\xff", "The body is not valid JSON: "),
        (b"[1]", "The body must be a JSON object."),
        (b"5", "The body must be a JSON object."),
    ],
)
def test_a_body_that_is_no_object_is_refused(body: bytes, message: str) -> None:
    """The message says what is wrong with the JSON."""
    outcome = run(application(), OPERATIONS["users.get"], JsonCodec(), body)
    assert Code.INVALID_ARGUMENT == outcome.code
    assert outcome.message.startswith(message)


def test_bytes_that_are_no_base64_are_refused() -> None:
    """The field is named."""
    outcome = run(application(), OPERATIONS["echo.echo"], JsonCodec(), b'{"payload": "a?"}')
    assert (Code.INVALID_ARGUMENT, "Field 'payload' must be base64 text.") == (outcome.code, outcome.message)


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("users.get", "id"),
        ("users.update", "id"),
        ("users.delete", "id"),
        ("users.list", "limit"),
        ("users.list", "after_id"),
        ("users.create", "user"),
        ("users.create_batch", "users"),
        ("ledger.get_balance", "account_id"),
        ("echo.echo", "payload"),
        ("echo.upper", "text"),
    ],
)
def test_null_is_a_field_that_was_not_given(name: str, field: str) -> None:
    """It gets the answer that leaving it out gets, and so does the field's zero value in protobuf."""
    operation = OPERATIONS[name]
    null = run(application(), operation, JsonCodec(), json.dumps({field: None}).encode())
    none = run(application(), operation, JsonCodec(), b"{}")
    zero = run(application(), operation, ProtobufCodec(), b"")
    assert none == null
    assert (zero.code, zero.message) == (null.code, null.message)


def test_a_field_of_the_path_must_not_differ_in_the_body() -> None:
    """An id in the body that is not the path's is a mistake, the same one is not."""
    operation = OPERATIONS["users.update"]
    app = application()
    run(app, OPERATIONS["users.create"], JsonCodec(), b'{"user": {"id": 1, "name": "A", "email": "a@b"}}')
    differs = run(app, operation, JsonCodec(), b'{"id": 2, "name": "B"}', {"id": 1})
    assert (Code.INVALID_ARGUMENT, "Field 'id' must be the one of the path.") == (differs.code, differs.message)
    assert Code.OK == run(app, operation, JsonCodec(), b'{"id": 1, "name": "B"}', {"id": 1}).code


def test_a_bug_is_an_internal_error_without_its_details(monkeypatch: pytest.MonkeyPatch) -> None:
    """What went wrong inside is logged, and not told to clients."""
    app = application()
    monkeypatch.setattr(type(app.users), "get", lambda *_: 1 / 0)
    outcome = run(app, OPERATIONS["users.get"], JsonCodec(), b'{"id": 1}')
    assert (Code.INTERNAL, "Internal error.", b"") == outcome
