"""The stores: what all do alike, and as far as a client can tell them apart."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from services.domain import ledger_seed, seed, stores
from services.domain.errors import AlreadyExists, NotFound
from services.domain.stores.settings import StoreSettings
from services.domain.users import User
from tests.contract.services import ASYNCIO, GRPC_SYNC, GTHREAD, Kind, started
from tests.stores import Asked, opened
from wirebench.places import ROOT

VECTORS: dict[str, Any] = json.loads((ROOT / "proto/vectors/ledger.json").read_text())
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
    stores.prepare(StoreSettings("sqlite"), folder)
    return folder


@pytest.fixture(params=["memory", "sqlite", "sqlite, awaited", "postgres", "postgres, awaited"])
def either(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Asked, Asked]]:
    """Return the operations on users over each store, with what all start with, and the store itself."""
    kind, _, awaited = request.param.partition(", ")
    url = ""
    if kind == "sqlite":
        shutil.copytree(request.getfixturevalue("prepared"), tmp_path, dirs_exist_ok=True)
    elif kind == "postgres":
        url = request.getfixturevalue("postgres").fresh()
    with opened(StoreSettings(kind, url=url), tmp_path, asynchronous=bool(awaited)) as pair:
        yield pair


@pytest.fixture
def users(either: tuple[Asked, Asked]) -> Asked:
    """Return the operations on users."""
    return either[0]


@pytest.fixture
def store(either: tuple[Asked, Asked]) -> Asked:
    """Return the store."""
    return either[1]


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


def test_a_large_batch_names_the_first_taken_ids(users: Asked) -> None:
    """Ten thousand users with everything that they can have are one batch; of taken ids ten are named, in order."""
    batch = [{**FULL, "id": each, "avatar": bytes(8)} for each in range(1, 10_001)]
    assert 10_000 == len(users.create_batch(batch))
    assert User(**{**FULL, "id": 9_999, "tags": ("a", "b"), "avatar": bytes(8)}) == users.get(9_999)
    with pytest.raises(AlreadyExists, match=r"^Users with ids 9990, 9991, .*, 9999, … already exist\.$"):
        users.create_batch([{**ANN, "id": each} for each in range(10_005, 9_989, -1)])
    with pytest.raises(NotFound):
        users.get(10_001)


def test_batches_that_share_ids_wait_for_each_other(users: Asked) -> None:
    """Of batches in opposite orders, at the same time, one is added as a whole, and the others are refused."""
    batch = [{**ANN, "id": each} for each in range(1, 101)]

    def create(turn: int) -> bool:
        try:
            return bool(users.create_batch(batch[:: 1 if turn % 2 else -1]))
        except AlreadyExists:
            return False

    with ThreadPoolExecutor(8) as pool:
        assert 1 == sum(pool.map(create, range(8)))


def test_the_ledger_is_that_of_the_vectors(store: Asked) -> None:
    """Every store has the same accounts and transactions as every other implementation."""
    accounts = [each["account_id"] for each in VECTORS["balances"]]
    assert VECTORS["balances"] == [store.balance(each)._asdict() for each in accounts]
    ids = [each["id"] for each in VECTORS["transactions"]]
    assert VECTORS["transactions"] == [store.transactions(0, each - 1, 1)[0]._asdict() for each in ids]
    for vector in VECTORS["first_ids"]:
        page = store.transactions(vector["since"], 0, 2)
        assert list(range(vector["id"], ledger_seed.TRANSACTIONS + 1))[:2] == [each.id for each in page]
    with pytest.raises(NotFound, match=r"^Account not found\.$"):
        store.balance(10_001)


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
