"""Every operation, its successes and its rejections, in the words of the contract on every transport and runtime."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from wirebench_services.client import Client, Reply

from tests.support.services import Service, fresh_ids

ADA: dict[str, Any] = {"name": "Ada", "email": "ada@example.com"}
#: A user with every field, at the limits of what is valid, and little of it ASCII.
FULL: dict[str, Any] = {
    "name": "Ž" * 200,
    "email": f"{'e' * 242}@example.com",
    "phone": "☎" * 64,
    "address": "Straße\n" + "x" * 493,
    "bio": "".join(map(chr, range(1, 10_001))),
    "tags": ["标签"] * 49 + ["t" * 64],
    "avatar": bytes(range(256)) * 256,
}


INVALID_USERS: dict[str, tuple[dict[str, Any], str]] = {
    "two missing": ({"name": "x"}, "Missing required fields: id, email."),
    "all missing": ({}, "Missing required fields: id, name, email."),
    "zero values": ({"id": 0, "name": "", "email": ""}, "Missing required fields: id, name, email."),
    "negative id": ({"id": -1, **ADA}, "Field 'id' must be between 1 and 2147483647."),
    "long name": ({"id": 9, **ADA, "name": "x" * 201}, "Field 'name' must be at most 200 characters."),
    "long email": ({"id": 9, **ADA, "email": "é" * 255}, "Field 'email' must be at most 254 characters."),
    "long phone": ({"id": 9, **ADA, "phone": "1" * 65}, "Field 'phone' must be at most 64 characters."),
    "long address": ({"id": 9, **ADA, "address": "x" * 501}, "Field 'address' must be at most 500 characters."),
    "long bio": ({"id": 9, **ADA, "bio": "x" * 10_001}, "Field 'bio' must be at most 10000 characters."),
    "many tags": ({"id": 9, **ADA, "tags": ["x"] * 51}, "Field 'tags' must hold at most 50 tags."),
    "NUL": ({"id": 9, **ADA, "bio": "a\0b"}, "Field 'bio' must not hold the character U+0000."),
    "NUL in a tag": ({"id": 9, **ADA, "tags": ["\0"]}, "Field 'tags' must not hold the character U+0000."),
    "long tag": ({"id": 9, **ADA, "tags": ["x" * 65]}, "Field 'tags' must hold tags of at most 64 characters."),
    "large avatar": ({"id": 9, **ADA, "avatar": bytes(65_537)}, "Field 'avatar' must be at most 65536 bytes."),
}


def create(client: Client, user_id: int, fields: Mapping[str, object] = ADA) -> dict[str, Any]:
    """Create a user and return it as it was asked for."""
    user = {"id": user_id, **fields}
    assert Reply("ok", "User created successfully", user) == client.call("users.create", {"user": user})
    return user


def test_every_field_survives(client: Client, user_id: int) -> None:
    """All optional fields come back, the longest that are valid."""
    user = create(client, user_id, FULL)

    assert user == client.call("users.get", {"id": user_id}).data


def test_create_twice(client: Client, user_id: int) -> None:
    """The second creation is rejected, names the id, and changes nothing."""
    user = create(client, user_id)

    reply = client.call("users.create", {"user": {**user, "name": "Eve"}})

    assert Reply("already_exists", f"User with id {user_id} already exists.") == reply
    assert user == client.call("users.get", {"id": user_id}).data


def test_concurrent_creations_of_one_id_succeed_once(service: Service, user_id: int) -> None:
    """However many clients try, one of them creates the user."""

    def add(_: int) -> bool:
        with service.connect() as client:
            return client.call("users.create", {"user": {"id": user_id, **ADA}}).ok

    with ThreadPoolExecutor(8) as pool:
        assert 1 == sum(pool.map(add, range(8)))


@pytest.mark.parametrize(("fields", "expected"), INVALID_USERS.values(), ids=INVALID_USERS)
def test_invalid_users_are_rejected(client: Client, fields: dict[str, object], expected: str) -> None:
    """What is wrong with a user is named, in the same words everywhere."""
    assert Reply("invalid_argument", expected) == client.call("users.create", {"user": fields})


@pytest.mark.parametrize("operation", ["users.get", "users.delete", "users.update"])
@pytest.mark.parametrize("invalid_id", [0, -1, -(2**31)])
def test_ids_out_of_range(client: Client, operation: str, invalid_id: int) -> None:
    """Ids start at 1, whatever is done with them."""
    fields = {"id": invalid_id, **(ADA if operation == "users.update" else {})}

    expected = Reply("invalid_argument", "Field 'id' must be between 1 and 2147483647.")
    assert expected == client.call(operation, fields)


def test_update_only_email(client: Client, user_id: int) -> None:
    """A field that isn't given stays as it was."""
    user = create(client, user_id, FULL)

    reply = client.call("users.update", {"id": user_id, "email": "new@example.com"})

    expected = {**user, "email": "new@example.com"}
    assert Reply("ok", "User updated successfully", expected) == reply
    assert expected == client.call("users.get", {"id": user_id}).data


def test_update_to_empty(client: Client, user_id: int) -> None:
    """Optional fields can be emptied, and are empty then, not absent; a name can't be."""
    create(client, user_id, FULL)

    emptied = {"phone": "", "address": "", "bio": "", "avatar": b""}
    assert {"id": user_id, **FULL, **emptied} == client.call("users.update", {"id": user_id, **emptied}).data
    rejection = Reply("invalid_argument", "Field 'name' must not be empty.")
    assert rejection == client.call("users.update", {"id": user_id, "name": ""})


def test_update_nothing(client: Client, user_id: int) -> None:
    """An update without a change is rejected."""
    create(client, user_id)

    assert Reply("invalid_argument", "No fields to update.") == client.call("users.update", {"id": user_id})


def test_update_absent(client: Client, user_id: int) -> None:
    """A user that isn't there can't be changed, and isn't created."""
    expected = Reply("not_found", "User not found.")

    assert expected == client.call("users.update", {"id": user_id, **ADA})
    assert expected == client.call("users.get", {"id": user_id})


def test_delete_returns_the_user(client: Client, user_id: int) -> None:
    """Deleting returns the user as it was; then it is gone."""
    user = create(client, user_id, FULL)

    assert Reply("ok", "User deleted successfully", user) == client.call("users.delete", {"id": user_id})
    for operation in ("users.get", "users.delete"):
        assert Reply("not_found", "User not found.") == client.call(operation, {"id": user_id})


def test_list_pages(client: Client) -> None:
    """Pages are in the order of the ids, no longer than asked for, and the last id asks for the next."""
    first = client.call("users.list", {"limit": 3, "after_id": 1_000_000})
    second = client.call("users.list", {"limit": 2, "after_id": 1_000_003})

    assert "Users retrieved successfully" == first.message
    assert [1_000_001, 1_000_002, 1_000_003] == ids_of(first)
    assert [1_000_004, 1_000_005] == ids_of(second)
    assert {"id": 1_000_004, "name": "User 1000004", "email": "user1000004@example.com"} == as_list(second)[0]


def test_list_all(client: Client, user_id: int) -> None:
    """Without a limit all users come: the seeded ones, and what was created before them."""
    create(client, user_id)

    ids = ids_of(client.call("users.list", {}))

    assert user_id in ids
    assert list(range(1_000_001, 1_010_001)) == [each for each in ids if 1_000_000 < each < 1_100_000]
    assert sorted(ids) == ids


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"limit": -1}, "Field 'limit' must be between 0 and 1000000."),
        ({"limit": 1_000_001}, "Field 'limit' must be between 0 and 1000000."),
        ({"after_id": -1}, "Field 'after_id' must be between 0 and 2147483647."),
    ],
)
def test_list_rejections(client: Client, fields: dict[str, object], expected: str) -> None:
    """Limits and ids out of range are rejected."""
    assert Reply("invalid_argument", expected) == client.call("users.list", fields)


def test_batch(client: Client) -> None:
    """A batch creates all its users and returns them in its order."""
    users = [{"id": next(fresh_ids), **fields} for fields in (ADA, FULL, ADA)][::-1]

    assert Reply("ok", "Users created successfully", users) == client.call("users.create_batch", {"users": users})
    assert users == [client.call("users.get", {"id": user["id"]}).data for user in users]


def test_batch_is_all_or_nothing(client: Client, user_id: int) -> None:
    """One taken id rejects the whole batch."""
    create(client, user_id)
    other_id = next(fresh_ids)

    reply = client.call("users.create_batch", {"users": [{"id": other_id, **ADA}, {"id": user_id, **ADA}]})

    assert Reply("already_exists", f"User with id {user_id} already exists.") == reply
    assert "not_found" == client.call("users.get", {"id": other_id}).code


def test_a_batch_names_the_first_taken_ids(client: Client) -> None:
    """Ten of them, in order, however many there are."""
    users = [{"id": user_id, **ADA} for user_id in range(1_000_012, 1_000_000, -1)]

    shown = ", ".join(map(str, range(1_000_001, 1_000_011)))
    expected = Reply("already_exists", f"Users with ids {shown}, … already exist.")
    assert expected == client.call("users.create_batch", {"users": users})


@pytest.mark.parametrize(
    ("users", "expected"),
    [
        ([], "Missing required fields: users."),
        ([{"id": 9, **ADA}, {"id": 10}], "User 2 of the batch: Missing required fields: name, email."),
        ([{"id": 9, **ADA}] * 2, "Field 'users' must not hold the same id twice."),
        ([{"id": 9, **ADA}] * 10_001, "Field 'users' must hold at most 10000 users."),
    ],
    ids=["empty", "invalid member", "same id twice", "too many"],
)
def test_batch_rejections(client: Client, users: list[dict[str, object]], expected: str) -> None:
    """What is wrong with a batch is named."""
    assert Reply("invalid_argument", expected) == client.call("users.create_batch", {"users": users})


@pytest.mark.parametrize("size", [1, 1000, 1024 * 1024, 2 * 1024 * 1024])
def test_echo(client: Client, size: int) -> None:
    """Payloads come back as they were, also long ones."""
    payload = (bytes(range(256)) * (size // 256 + 1))[:size]

    expected = Reply("ok", "Payload echoed successfully", {"payload": payload})
    assert expected == client.call("echo.echo", {"payload": payload})


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Hello World", "HELLO WORLD"), ("größe ﬁ \N{LATIN SMALL LETTER DOTLESS I} 👩‍🚀\n\0", "GRÖSSE FI I 👩‍🚀\n\0")],
)
def test_upper(client: Client, text: str, expected: str) -> None:
    """Text comes back in upper case, by the rules of Unicode."""
    reply = client.call("echo.upper", {"text": text})

    assert Reply("ok", "Text upper-cased successfully", {"text": expected}) == reply


@pytest.mark.parametrize(("operation", "field"), [("echo.echo", "payload"), ("echo.upper", "text")])
@pytest.mark.parametrize("empty", [True, False])
def test_echo_of_nothing(client: Client, operation: str, field: str, *, empty: bool) -> None:
    """An empty field is a missing one, as everywhere in proto3."""
    fields: dict[str, object] = {field: b"" if field == "payload" else ""} if empty else {}

    assert Reply("invalid_argument", f"Missing required fields: {field}.") == client.call(operation, fields)


def as_list(reply: Reply) -> list[dict[str, Any]]:
    """Return the users of a reply."""
    assert isinstance(reply.data, list)
    return reply.data


def ids_of(reply: Reply) -> list[int]:
    """Return the ids of a reply's users."""
    return [user["id"] for user in as_list(reply)]
