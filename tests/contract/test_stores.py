"""The stores: what all do alike, and as far as a client can tell them apart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from wirebench_services.application import seed
from wirebench_services.application.errors import AlreadyExists, NotFound
from wirebench_services.application.users import User

from tests.support.postgres import PostgresServer, url_file
from tests.support.services import GTHREAD, NET_HTTP, Kind, started
from tests.support.stores import StoreClient, make_settings, opened
from wirebench.system.paths import ROOT

VECTORS: dict[str, Any] = json.loads((ROOT / "proto/vectors/ledger.json").read_text())
ADA = {"name": "Ada", "email": "ada@example.com"}
ANN: dict[str, Any] = {"id": 1, "name": "Ann", "email": "ann@example.com"}
FULL: dict[str, Any] = {
    **ANN,
    "phone": "+41 44 000 00 00",
    "address": "Street 1",
    "bio": "ÄÖÜ 漢字",
    "tags": ("a", "b"),
    "avatar": b"\x00\xff",
}


@pytest.fixture(params=["memory", "postgres", "postgres, awaited"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoreClient]:
    """Return each store, with the data that all start with."""
    kind, _, awaited = request.param.partition(", ")
    url = request.getfixturevalue("postgres").fresh() if kind == "postgres" else ""
    with opened(make_settings(kind, tmp_path, url), asynchronous=bool(awaited)) as client:
        yield client


def user(**fields: Any) -> User:  # noqa: ANN401 - any field of a user
    """Return Ann, with these fields."""
    return User(**{**ANN, **fields})


def test_a_user_is_added_changed_listed_and_removed(store: StoreClient) -> None:
    """Whether the store is awaited or not; tests/contract/test_operations.py asks services for all of it."""
    assert User(**FULL) == store.add_user(User(**FULL)) == store.get_user(1)
    changes = {"email": "new@example.com", "tags": ("c",)}
    changed = User(**{**FULL, **changes})
    assert changed == store.change_user(1, changes)
    assert [1, seed.FIRST_SEEDED_ID] == [each.id for each in store.list_users(0, 2)]
    assert changed == store.remove_user(1)
    for method, more in (("get_user", ()), ("remove_user", ()), ("change_user", (changes,))):
        with pytest.raises(NotFound, match=r"^User not found\.$"):
            getattr(store, method)(1, *more)


def test_concurrent_additions_of_one_id_succeed_once(store: StoreClient) -> None:
    """However many threads try, one of them adds the user."""

    def add(_: int) -> bool:
        try:
            return bool(store.add_user(user()))
        except AlreadyExists:
            return False

    with ThreadPoolExecutor(8) as pool:
        assert 1 == sum(pool.map(add, range(8)))


def test_a_large_batch_names_the_first_taken_ids(store: StoreClient) -> None:
    """Ten thousand users with all their fields are one batch; of taken ids ten are named, in order."""
    batch = [User(**{**FULL, "id": each, "avatar": bytes(8)}) for each in range(1, 10_001)]
    assert 10_000 == len(store.add_users(batch))
    assert batch[9_998] == store.get_user(9_999)
    with pytest.raises(AlreadyExists, match=r"^Users with ids 9990, 9991, .*, 9999, … already exist\.$"):
        store.add_users([user(id=each) for each in range(10_005, 9_989, -1)])
    with pytest.raises(NotFound):
        store.get_user(10_001)


def test_the_ledger_is_that_of_the_vectors(store: StoreClient) -> None:
    """Every store has the same accounts and transactions as every other implementation."""
    accounts = [each["account_id"] for each in VECTORS["balances"]]
    assert VECTORS["balances"] == [store.get_balance(each)._asdict() for each in accounts]
    before = [(each["time"], each["id"] - 1) for each in VECTORS["transactions"]]
    assert VECTORS["transactions"] == [store.list_transactions(*each, 1)[0]._asdict() for each in before]
    for vector in VECTORS["first_ids"]:
        page = store.list_transactions(vector["since"], 0, 2)
        assert list(range(vector["id"], seed.TRANSACTIONS + 1))[:2] == [each.id for each in page]
    with pytest.raises(NotFound, match=r"^Account not found\.$"):
        store.get_balance(10_001)


@pytest.mark.parametrize(("first", "second"), [(GTHREAD, NET_HTTP), (NET_HTTP, GTHREAD)], ids=str)
def test_both_languages_share_a_database(first: Kind, second: Kind, postgres: PostgresServer, tmp_path: Path) -> None:
    """What one language writes, the other one reads and changes: every column."""
    flags = ("--store-url-file", url_file(tmp_path, postgres.fresh()))
    full = {**FULL, "tags": ["a", "b"], "avatar": b"\x00\xff"}
    empty = {"id": 2, **ADA, "bio": "", "avatar": b""}
    with started(first._replace(store="postgres"), tmp_path, *flags) as service, service.connect() as client:
        assert client.call("users.create_batch", {"users": [full, empty]}).ok

    with started(second._replace(store="postgres"), tmp_path, *flags) as service, service.connect() as client:
        assert [full, empty] == client.call("users.list", {"limit": 2}).data
        changes = {"id": 1, "tags": ["c"], "avatar": b""}
        assert {**full, **changes} == client.call("users.update", changes).data
        (balance, *_) = VECTORS["balances"]
        assert balance == client.call("ledger.get_balance", {"account_id": balance["account_id"]}).data
        *items, _ = client.stream("ledger.stream_transactions", {"limit": 200})
        assert list(range(1, 201)) == [each["id"] for each in items]
