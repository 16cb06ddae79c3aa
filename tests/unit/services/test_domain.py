"""The users' operations and their validation, on every store."""

from __future__ import annotations

from typing import Any

import pytest

from services.domain import echo, seed
from services.domain.errors import InvalidArgument
from services.domain.stores.memory import MemoryStore
from services.domain.stores.settings import StoreSettings
from services.domain.users import Users

ANN: dict[str, Any] = {"id": 1, "name": "Ann", "email": "ann@example.com"}
FULL: dict[str, Any] = {
    **ANN,
    "phone": "+41 44 000 00 00",
    "address": "Street 1",
    "bio": "ÄÖÜ 漢字",
    "tags": ["a", "b"],
    "avatar": b"\x00\xff",
}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": "x"}, "Missing required fields: id, email."),
        ({}, "Missing required fields: id, name, email."),
        ({**ANN, "id": 0}, "Missing required fields: id."),
        ({**ANN, "name": ""}, "Missing required fields: name."),
        ({**ANN, "name": None}, "Missing required fields: name."),
        ({**ANN, "id": "1"}, "Field 'id' must be an integer."),
        ({**ANN, "id": True}, "Field 'id' must be an integer."),
        ({**ANN, "id": False}, "Field 'id' must be an integer."),
        ({**ANN, "id": 1.5}, "Field 'id' must be an integer."),
        ({**ANN, "id": -1}, "Field 'id' must be between 1 and 2147483647."),
        ({**ANN, "id": 2**31}, "Field 'id' must be between 1 and 2147483647."),
        ({**ANN, "name": 5}, "Field 'name' must be a string."),
        ({**ANN, "name": "x" * 201}, "Field 'name' must be at most 200 characters."),
        ({**ANN, "tags": "a"}, "Field 'tags' must be a list of strings."),
        ({**ANN, "tags": [1]}, "Field 'tags' must be a list of strings."),
        ({**ANN, "tags": ["t"] * 51}, "Field 'tags' must hold at most 50 tags."),
        ({**ANN, "name": "A\0"}, "Field 'name' must not hold the character U+0000."),
        ({**ANN, "tags": ["a", "\0"]}, "Field 'tags' must not hold the character U+0000."),
        ({**ANN, "avatar": "x"}, "Field 'avatar' must be bytes."),
        ({**ANN, "avatar": b"x" * 65_537}, "Field 'avatar' must be at most 65536 bytes."),
        ({**ANN, "tags": ["\0"], "phone": "1" * 65}, "Field 'phone' must be at most 64 characters."),
        ({**ANN, "nmae": "x"}, "Unknown fields: nmae."),
        ([], "A user must be an object."),
        (None, "A user must be an object."),
    ],
)
def test_a_bad_user_is_refused_with_the_field(fields: Any, message: str) -> None:  # noqa: ANN401
    """Whatever is wrong is named, and nothing is stored."""
    users = Users(MemoryStore())
    with pytest.raises(InvalidArgument) as error:
        users.create(fields)
    assert message == error.value.message
    assert [] == users.list(0, 0)


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ([], "Missing required fields: users."),
        ({}, "Field 'users' must be a list."),
        ("ab", "Field 'users' must be a list."),
        ([ANN, ANN], "Field 'users' must not hold the same id twice."),
        ([ANN, 5], "User 2 of the batch: A user must be an object."),
        ([ANN, {"id": 2}], "User 2 of the batch: Missing required fields: name, email."),
        ([ANN] * 10_001, "Field 'users' must hold at most 10000 users."),
    ],
)
def test_a_bad_batch_is_refused(batch: Any, message: str) -> None:  # noqa: ANN401
    """The message says which user of the batch is wrong."""
    with pytest.raises(InvalidArgument) as error:
        Users(MemoryStore()).create_batch(batch)
    assert message == error.value.message


def test_an_update_without_fields_is_refused() -> None:
    """Nothing to change is a mistake; so is an empty name."""
    users = Users(MemoryStore(seed.users()))
    with pytest.raises(InvalidArgument, match="No fields to update"):
        users.update({"id": seed.FIRST_SEEDED_ID})
    with pytest.raises(InvalidArgument, match="Field 'name' must not be empty"):
        users.update({"id": seed.FIRST_SEEDED_ID, "name": ""})


@pytest.mark.parametrize("limit", [-1, "5", 1.5, True, 10**7])
def test_an_absurd_limit_is_refused(limit: object) -> None:
    """Pages have a size that is a number and not beyond reason."""
    with pytest.raises(InvalidArgument, match="Field 'limit'"):
        Users(MemoryStore()).list(limit, 0)


@pytest.mark.parametrize("name", ["", "redis", "memory:x", "postgres:x"])
def test_a_store_that_does_not_exist_is_refused(name: str) -> None:
    """The message lists the stores that do."""
    with pytest.raises(ValueError, match="sqlite:PATH"):
        StoreSettings.parse(name)


def test_echo_gives_back_what_it_gets() -> None:
    """Bytes are bytes, and text becomes upper case in any script."""
    assert b"\x00\xff" == echo.echo(b"\x00\xff")
    assert "STRASSE ÄΣ" == echo.upper("straße äς")


@pytest.mark.parametrize("nothing", [None, b"", 5, "text"])
def test_echo_refuses_what_is_no_payload(nothing: object) -> None:
    """No payload, or something else than bytes, is a mistake."""
    with pytest.raises(InvalidArgument, match="payload"):
        echo.echo(nothing)
