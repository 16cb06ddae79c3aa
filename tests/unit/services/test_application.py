"""Validation, and the data that every store starts with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from wirebench_services.application import seed
from wirebench_services.application.errors import InvalidArgument
from wirebench_services.application.ledger import PAGE_ITEMS, parse_stream, stream_transactions
from wirebench_services.application.stores.memory import MemoryStore
from wirebench_services.application.users import parse_user
from wirebench_services.settings import RestSettings, SettingsError, read_settings

from tests.support.stores import make_settings, opened
from wirebench.system.paths import ROOT

VECTORS: dict[str, Any] = json.loads((ROOT / "proto/vectors/ledger.json").read_text())
NOON_S = 1_767_268_800

ANN: dict[str, Any] = {"id": 1, "name": "Ann", "email": "ann@example.com"}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({**ANN, "name": None}, "Missing required fields: name."),
        ({**ANN, "avatar": "x"}, "Field 'avatar' must be bytes."),
        ({**ANN, "tags": ["\0"], "phone": "1" * 65}, "Field 'phone' must be at most 64 characters."),
        ([], "A user must be an object."),
        (None, "A user must be an object."),
    ],
)
def test_an_invalid_user_is_rejected_with_the_field(fields: Any, message: str) -> None:  # noqa: ANN401
    """The message names what is wrong. tests/contract asks services for all that a request can hold."""
    with pytest.raises(InvalidArgument) as error:
        parse_user(fields)
    assert message == error.value.message


@pytest.mark.parametrize("name", ["", "redis", "memory:x", "postgres:x"])
def test_a_store_that_does_not_exist_is_rejected(name: str) -> None:
    """The message names the flag."""
    with pytest.raises(SettingsError, match="--store"):
        read_settings(RestSettings, ["--store", name])


@pytest.mark.parametrize("count", [0, 3])
def test_a_store_starts_with_as_many_users_as_it_is_told(count: int, tmp_path: Path) -> None:
    """None is an empty store; the ledger is always there."""
    settings = make_settings("memory", tmp_path).model_copy(update={"seed_users": count})
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
    """Time never goes back, no account pays itself, and amounts are positive."""
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
