"""The users' operations and their validation, on every store."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from services.domain import echo, seed, stores
from services.domain.errors import AlreadyExists, InvalidArgument, NotFound
from services.domain.stores.memory import MemoryStore
from services.domain.users import User, Users, UserStore

ANN: dict[str, Any] = {"id": 1, "name": "Ann", "email": "ann@example.com"}
FULL: dict[str, Any] = {
    **ANN,
    "phone": "+41 44 000 00 00",
    "address": "Street 1",
    "bio": "ÄÖÜ 漢字",
    "tags": ["a", "b"],
    "avatar": b"\x00\xff",
}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a store's files, made once, since the ledger's tables take most of a second."""
    folder = tmp_path_factory.mktemp("prepared")
    stores.prepare("sqlite", folder)
    return folder


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, prepared: Path, tmp_path: Path) -> Iterator[UserStore]:
    """Open each store, with the seeded users."""
    if request.param == "sqlite":
        shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    opened = stores.open_store(request.param, tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def users(store: UserStore) -> Users:
    """Return the operations over a store."""
    return Users(store)


def test_a_user_comes_back_as_it_was_created(users: Users) -> None:
    """Every field survives the store."""
    created = users.create(FULL)
    assert User(**{**FULL, "tags": ("a", "b")}) == created
    assert created == users.get(1)


def test_creating_a_user_twice_is_refused(users: Users) -> None:
    """The second time names the id, and the first user stays."""
    users.create(ANN)
    with pytest.raises(AlreadyExists, match=r"^User with id 1 already exists\.$"):
        users.create({**ANN, "name": "Bob"})
    assert "Ann" == users.get(1).name


def test_updating_changes_what_is_given_and_nothing_else(users: Users) -> None:
    """A partial update leaves the other fields."""
    users.create(FULL)
    changed = users.update({"id": 1, "email": "new@example.com", "tags": ["c"]})
    assert User(**{**FULL, "email": "new@example.com", "tags": ("c",)}) == changed == users.get(1)


def test_deleting_returns_the_user_as_it_was(users: Users) -> None:
    """After that it is gone."""
    users.create(ANN)
    assert User(**ANN) == users.delete(1)
    with pytest.raises(NotFound, match=r"^User not found\.$"):
        users.get(1)


@pytest.mark.parametrize("call", ["get", "delete"])
def test_a_user_that_is_not_there_is_not_found(users: Users, call: str) -> None:
    """Small ids are free: the seeded ones start high."""
    with pytest.raises(NotFound):
        getattr(users, call)(999)
    with pytest.raises(NotFound):
        users.update({"id": 999, "name": "x"})


def test_a_batch_is_all_or_nothing(users: Users) -> None:
    """One id that is taken keeps the whole batch out."""
    users.create(ANN)
    with pytest.raises(AlreadyExists, match="id 1 already"):
        users.create_batch([{**ANN, "id": 2}, ANN, {**ANN, "id": 3}])
    with pytest.raises(NotFound):
        users.get(2)
    assert [2, 3] == [user.id for user in users.create_batch([{**ANN, "id": 2}, {**ANN, "id": 3}])]


def test_users_are_listed_by_id_in_pages(users: Users) -> None:
    """A page's last id asks for the next; no limit lists all."""
    users.create_batch([{**ANN, "id": each} for each in (5, 3, 4)])
    assert [3, 4] == [user.id for user in users.list(limit=2, after_id=0)]
    assert [5, seed.FIRST_SEEDED_ID] == [user.id for user in users.list(limit=2, after_id=4)]
    assert 3 + seed.SEEDED_USERS == len(users.list(limit=0, after_id=0))


def test_concurrent_creates_of_one_id_succeed_once(users: Users) -> None:
    """However many threads try, one of them creates the user."""
    outcomes = []

    def create() -> None:
        try:
            users.create(ANN)
            outcomes.append("created")
        except AlreadyExists:
            outcomes.append("refused")

    threads = [threading.Thread(target=create) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (1, 7) == (outcomes.count("created"), outcomes.count("refused"))


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
        ({**ANN, "avatar": "x"}, "Field 'avatar' must be bytes."),
        ({**ANN, "avatar": b"x" * 65_537}, "Field 'avatar' must be at most 65536 bytes."),
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


def test_a_sqlite_file_keeps_its_users(tmp_path: Path) -> None:
    """A named file is seeded once and read again."""
    name = f"sqlite:{tmp_path / 'users.db'}"
    for _ in range(2):
        stores.prepare(name, tmp_path)
    store = stores.open_store(name, tmp_path)
    Users(store).create(ANN)
    store.close()
    again = stores.open_store(name, tmp_path)
    assert "Ann" == Users(again).get(1).name
    assert seed.SEEDED_USERS + 1 == len(Users(again).list(0, 0))
    again.close()


@pytest.mark.parametrize("name", ["", "redis", "memory:x", "postgres"])
def test_a_store_that_does_not_exist_is_refused(name: str) -> None:
    """The message lists the stores that do."""
    with pytest.raises(ValueError, match="sqlite:PATH"):
        stores.validate(name)


def test_echo_gives_back_what_it_gets() -> None:
    """Bytes are bytes, and text becomes upper case in any script."""
    assert b"\x00\xff" == echo.echo(b"\x00\xff")
    assert "STRASSE ÄΣ" == echo.upper("straße äς")


@pytest.mark.parametrize("nothing", [None, b"", 5, "text"])
def test_echo_refuses_what_is_no_payload(nothing: object) -> None:
    """No payload, or something else than bytes, is a mistake."""
    with pytest.raises(InvalidArgument, match="payload"):
        echo.echo(nothing)
