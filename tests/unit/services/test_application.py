"""Validation, and the data that every store starts with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from wirebench_services.application import echo, seed
from wirebench_services.application.errors import InvalidArgument
from wirebench_services.application.ledger import PAGE_ITEMS, parse_account_id, parse_stream, stream_transactions
from wirebench_services.application.stores.memory import MemoryStore
from wirebench_services.application.users import parse_batch, parse_page, parse_update, parse_user
from wirebench_services.settings import RestSettings, SettingsError, read_settings

from tests.support.stores import make_settings, opened
from wirebench.system.paths import ROOT

VECTORS: dict[str, Any] = json.loads((ROOT / "proto/vectors/ledger.json").read_text())
NOON_S = 1_767_268_800

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
def test_an_invalid_user_is_rejected_with_the_field(fields: Any, message: str) -> None:  # noqa: ANN401
    """The message names what is wrong."""
    with pytest.raises(InvalidArgument) as error:
        parse_user(fields)
    assert message == error.value.message


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
def test_an_invalid_batch_is_rejected(batch: Any, message: str) -> None:  # noqa: ANN401
    """The message says which user of the batch is wrong."""
    with pytest.raises(InvalidArgument) as error:
        parse_batch({"users": batch})
    assert message == error.value.message


def test_an_update_without_fields_is_rejected() -> None:
    """Nothing to change is invalid; so is an empty name."""
    with pytest.raises(InvalidArgument, match="No fields to update"):
        parse_update({"id": 1})
    with pytest.raises(InvalidArgument, match="Field 'name' must not be empty"):
        parse_update({"id": 1, "name": ""})


@pytest.mark.parametrize("limit", [-1, "5", 1.5, True, 10**7])
def test_an_invalid_limit_is_rejected(limit: object) -> None:
    """A page's size is an integer within its range."""
    with pytest.raises(InvalidArgument, match="Field 'limit'"):
        parse_page({"limit": limit})


@pytest.mark.parametrize("name", ["", "redis", "memory:x", "postgres:x"])
def test_a_store_that_does_not_exist_is_rejected(name: str) -> None:
    """The message names the flag."""
    with pytest.raises(SettingsError, match="--store"):
        read_settings(RestSettings, ["--store", name])


def test_echo_returns_the_payload() -> None:
    """Bytes are bytes, and text becomes upper case in any script."""
    assert (b"\x00\xff",) == echo.echo({"payload": b"\x00\xff"})
    assert ("STRASSE ÄΣ",) == echo.upper({"text": "straße äς"})


@pytest.mark.parametrize("payload", [None, b"", 5, "text"])
def test_echo_rejects_an_invalid_payload(payload: object) -> None:
    """No payload, or something else than bytes, is invalid."""
    with pytest.raises(InvalidArgument, match="payload"):
        echo.echo({"payload": payload})


@pytest.mark.parametrize("count", [0, 3])
@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_a_store_starts_with_as_many_users_as_it_is_told(store: str, count: int, tmp_path: Path) -> None:
    """None is an empty store; the ledger is always there."""
    settings = make_settings(store, tmp_path).model_copy(update={"seed_users": count})
    with opened(settings) as users:
        assert count == len(users.list_users(0, 0))
        assert 1 == users.get_balance(1).account_id


def test_balances_follow_from_transactions() -> None:
    """What moved is in the balances, and no cent is lost or made."""
    assert VECTORS["sum_of_balances_cents"] == sum(each.balance_cents for each in seed.balances())
    assert 2 * seed.TRANSACTIONS == sum(each.transactions for each in seed.balances())
    own = [each for each in seed.transactions() if 1 in (each.from_account_id, each.to_account_id)]
    moved = sum(each.amount_cents if each.to_account_id == 1 else -each.amount_cents for each in own)
    opening = 5_000_000 + seed._mix(200_000) % 5_000_000
    balance = seed.balances()[0]
    assert (opening + moved, len(own)) == (balance.balance_cents, balance.transactions)


def test_transactions_make_sense() -> None:
    """Time never goes back, nobody pays himself, and amounts are positive."""
    transactions = list(seed.transactions())
    assert seed.TRANSACTIONS == len(transactions)
    assert sorted(each.time for each in transactions) == [each.time for each in transactions]
    assert {each.time // 86_400 for each in transactions} == {seed.FIRST_TIME_S // 86_400}
    for each in transactions:
        assert each.from_account_id != each.to_account_id
        assert 0 < min(each.from_account_id, each.to_account_id, each.amount_cents)
        assert max(each.from_account_id, each.to_account_id) <= seed.ACCOUNTS


@pytest.mark.parametrize(
    ("since", "limit", "expected"),
    [
        (None, None, range(1, 100_001)),
        (NOON_S, None, range(50_001, 100_001)),
        (NOON_S, PAGE_ITEMS + 1, range(50_001, 50_002 + PAGE_ITEMS)),
        (None, PAGE_ITEMS, range(1, PAGE_ITEMS + 1)),
        (None, 1, range(1, 2)),
        (2**31 - 1, None, range(0)),
    ],
)
def test_a_stream_has_what_was_asked_for(since: int | None, limit: int | None, expected: range) -> None:
    """All transactions since a second, up to the limit, in order, whatever the size of pages."""
    batches = stream_transactions(MemoryStore().list_transactions, parse_stream({"since": since, "limit": limit}))
    assert list(expected) == [transaction.id for batch in batches for transaction in batch]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ((-1, None, None), "Field 'since' must be between 0 and 2147483647."),
        ((2**31, None, None), "Field 'since' must be between 0 and 2147483647."),
        (("noon", None, None), "Field 'since' must be an integer."),
        ((None, 0, None), "Field 'rate_limit' must be between 1 and 1000000."),
        ((None, 1_000_001, None), "Field 'rate_limit' must be between 1 and 1000000."),
        ((None, 1.5, None), "Field 'rate_limit' must be an integer."),
        ((None, None, 0), "Field 'limit' must be between 1 and 100000."),
        ((None, None, 100_001), "Field 'limit' must be between 1 and 100000."),
        ((None, None, True), "Field 'limit' must be an integer."),
    ],
)
def test_an_invalid_stream_query_is_rejected(fields: tuple[object, object, object], expected: str) -> None:
    """The field is named, and its range."""
    with pytest.raises(InvalidArgument) as caught:
        parse_stream(dict(zip(("since", "rate_limit", "limit"), fields, strict=True)))
    assert expected == caught.value.message


@pytest.mark.parametrize("account_id", [0, -1, 2**31, "1"])
def test_an_invalid_account_id_is_rejected(account_id: object) -> None:
    """Ids start at 1, and are integers."""
    with pytest.raises(InvalidArgument, match=r"^Field 'account_id' must be "):
        parse_account_id({"account_id": account_id})


def test_the_ledger_is_that_of_the_vectors() -> None:
    """It is the same in every implementation."""
    found = [seed.transaction(vector["id"])._asdict() for vector in VECTORS["transactions"]]
    assert VECTORS["transactions"] == found
    assert VECTORS["balances"] == [
        seed.balances()[vector["account_id"] - 1]._asdict() for vector in VECTORS["balances"]
    ]
    store = MemoryStore()
    for vector in VECTORS["first_ids"]:
        page = store.list_transactions(vector["since"], 0, 2)
        assert list(range(vector["id"], seed.TRANSACTIONS + 1))[:2] == [each.id for each in page]
