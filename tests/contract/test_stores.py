"""The stores: what all do alike, and as far as a client can tell them apart."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from services.domain import seed, stores
from services.domain.errors import AlreadyExists, NotFound
from services.domain.users import User
from tests.contract.services import ASYNCIO, GRPC_SYNC, GTHREAD, Kind, started
from tests.stores import Asked, opened

ADA = {"name": "Ada", "email": "ada@example.com"}
ANN: dict[str, Any] = {"id": 1, "name": "Ann", "email": "ann@example.com"}
FULL: dict[str, Any] = {
    **ANN,
    "phone": "+41 44 000 00 00",
    "address": "Street 1",
    "bio": "ÄÖÜ 漢字",
    "tags": ["a", "b"],
    "avatar": b"\x00\xff",
}
DEFAULTS = pytest.mark.parametrize("kind", [GTHREAD, GRPC_SYNC, ASYNCIO], ids=str)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a store's files, made once, since the ledger's tables take most of a second."""
    folder = tmp_path_factory.mktemp("prepared")
    stores.prepare("sqlite", folder)
    return folder


@pytest.fixture(params=["memory", "sqlite", "sqlite, awaited"])
def users(request: pytest.FixtureRequest, prepared: Path, tmp_path: Path) -> Iterator[Asked]:
    """Return the operations over each store, with the seeded users."""
    name, _, awaited = request.param.partition(", ")
    if name == "sqlite":
        shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    with opened(name, tmp_path, asynchronous=bool(awaited)) as (users, _):
        yield users


def test_a_user_comes_back_as_it_was_created(users: Asked) -> None:
    """Every field survives the store."""
    created = users.create(FULL)
    assert User(**{**FULL, "tags": ("a", "b")}) == created
    assert created == users.get(1)


def test_creating_a_user_twice_is_refused(users: Asked) -> None:
    """The second time names the id, and the first user stays."""
    users.create(ANN)
    with pytest.raises(AlreadyExists, match=r"^User with id 1 already exists\.$"):
        users.create({**ANN, "name": "Bob"})
    assert "Ann" == users.get(1).name


def test_updating_changes_what_is_given_and_nothing_else(users: Asked) -> None:
    """A partial update leaves the other fields."""
    users.create(FULL)
    changed = users.update({"id": 1, "email": "new@example.com", "tags": ["c"]})
    assert User(**{**FULL, "email": "new@example.com", "tags": ("c",)}) == changed == users.get(1)


def test_deleting_returns_the_user_as_it_was(users: Asked) -> None:
    """After that it is gone."""
    users.create(ANN)
    assert User(**ANN) == users.delete(1)
    with pytest.raises(NotFound, match=r"^User not found\.$"):
        users.get(1)


@pytest.mark.parametrize("call", ["get", "delete"])
def test_a_user_that_is_not_there_is_not_found(users: Asked, call: str) -> None:
    """Small ids are free: the seeded ones start high."""
    with pytest.raises(NotFound):
        getattr(users, call)(999)
    with pytest.raises(NotFound):
        users.update({"id": 999, "name": "x"})


def test_a_batch_is_all_or_nothing(users: Asked) -> None:
    """One id that is taken keeps the whole batch out."""
    users.create(ANN)
    with pytest.raises(AlreadyExists, match="id 1 already"):
        users.create_batch([{**ANN, "id": 2}, ANN, {**ANN, "id": 3}])
    with pytest.raises(NotFound):
        users.get(2)
    assert [2, 3] == [user.id for user in users.create_batch([{**ANN, "id": 2}, {**ANN, "id": 3}])]


def test_users_are_listed_by_id_in_pages(users: Asked) -> None:
    """A page's last id asks for the next; no limit lists all."""
    users.create_batch([{**ANN, "id": each} for each in (5, 3, 4)])
    assert [3, 4] == [user.id for user in users.list(limit=2, after_id=0)]
    assert [5, seed.FIRST_SEEDED_ID] == [user.id for user in users.list(limit=2, after_id=4)]
    assert 3 + seed.SEEDED_USERS == len(users.list(limit=0, after_id=0))


def test_concurrent_creates_of_one_id_succeed_once(users: Asked) -> None:
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


@DEFAULTS
def test_workers_share_sqlite(kind: Kind, tmp_path: Path) -> None:
    """What one worker has written, all workers read; writers of all workers wait for each other and lose nothing."""
    with started(kind._replace(store="sqlite"), tmp_path, "--workers", 2) as service:

        def create(first_id: int) -> list[str]:
            with service.connect() as client:
                users = [{"id": user_id, **ADA} for user_id in range(first_id, first_id + 10)]
                return [client.call("users.create", {"user": user}).code for user in users]

        with ThreadPoolExecutor(8) as pool:
            codes = list(pool.map(create, range(1, 81, 10)))

        assert [["ok"] * 10] * 8 == codes
        for _ in range(8):  # each connection may be another worker's
            with service.connect() as client:
                users = client.call("users.list", {"limit": 100}).data
                assert isinstance(users, list)
                assert list(range(1, 81)) == [user["id"] for user in users if user["id"] <= 1_000_000]


@DEFAULTS
def test_a_sqlite_file_outlives_the_service(kind: Kind, tmp_path: Path) -> None:
    """A file that is given by its path is found again, with what was changed in it, and not seeded twice."""
    store = f"sqlite:{tmp_path / 'users.sqlite'}"
    with started(kind._replace(store=store), tmp_path) as service, service.connect() as client:
        client.call("users.create", {"user": {"id": 1, **ADA}})
        client.call("users.delete", {"id": 1_000_001})

    with started(kind._replace(store=store), tmp_path) as service, service.connect() as client:
        assert {"id": 1, **ADA} == client.call("users.get", {"id": 1}).data
        assert "not_found" == client.call("users.get", {"id": 1_000_001}).code


@DEFAULTS
def test_memory_starts_afresh(kind: Kind, tmp_path: Path) -> None:
    """A memory store begins with the seeded users, whatever was done to it before."""
    for _ in range(2):
        with started(kind, tmp_path) as service, service.connect() as client:
            assert client.call("users.create", {"user": {"id": 1, **ADA}}).ok
            assert client.call("users.delete", {"id": 1_000_001}).ok
