"""The ledger: its data, which are the contract's everywhere, and its operations, on every store."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from services.domain import ledger_seed, stores
from services.domain.errors import InvalidArgument, NotFound
from services.domain.ledger import PAGE_ITEMS, Ledger, LedgerStore, TransactionFeed
from services.domain.stores.memory import MemoryStore
from services.domain.stores.settings import StoreSettings
from tests.stores import at_once

VECTORS: dict[str, Any] = json.loads((Path(__file__).parents[3] / "proto/vectors/ledger.json").read_text())
NOON_S = 1_767_268_800


@pytest.fixture(scope="module", params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LedgerStore]:
    """Open each store."""
    folder = tmp_path_factory.mktemp("store")
    settings = StoreSettings(request.param)
    stores.prepare(settings, folder)
    opened = stores.open_store(settings, folder, threads=None)
    yield opened
    opened.close()


def ids_of(feed: TransactionFeed) -> list[int]:
    """Read a feed to its end and return the ids that it gave."""
    ids = []
    while not feed.at_end:
        page = at_once(feed.ask())
        feed.accept(page)
        ids += [each.id for each in page]
    return ids


def test_transactions_are_those_of_the_vectors(store: LedgerStore) -> None:
    """Every store has the same transactions as every other implementation."""
    found = [at_once(store.transactions(0, vector["id"] - 1, 1))[0]._asdict() for vector in VECTORS["transactions"]]
    assert VECTORS["transactions"] == found


def test_balances_are_those_of_the_vectors(store: LedgerStore) -> None:
    """So are the balances."""
    assert VECTORS["balances"] == [
        at_once(store.balance(vector["account_id"]))._asdict() for vector in VECTORS["balances"]
    ]


@pytest.mark.parametrize("vector", VECTORS["first_ids"], ids=lambda vector: str(vector["since"]))
def test_since_selects_by_time(store: LedgerStore, vector: dict[str, int]) -> None:
    """The first transaction is the first of that second or later; behind the last one there is none."""
    found = at_once(store.transactions(vector["since"], 0, 1))
    assert ([] if vector["id"] > ledger_seed.TRANSACTIONS else [vector["id"]]) == [each.id for each in found]


def test_threads_that_ask_first_at_once_work_balances_out_once() -> None:
    """A service's first requests come on all its threads: they get the same balances, not each its own."""
    ledger_seed._balances.cache_clear()
    with ThreadPoolExecutor(max_workers=4) as pool:
        answers = [each.result() for each in [pool.submit(ledger_seed.balances) for _ in range(4)]]
    assert 1 == len({id(answer) for answer in answers})


def test_balances_follow_from_transactions() -> None:
    """What moved is in the balances, and no cent is lost or made."""
    assert VECTORS["sum_of_balances_cents"] == sum(each.balance_cents for each in ledger_seed.balances())
    assert 2 * ledger_seed.TRANSACTIONS == sum(each.transactions for each in ledger_seed.balances())
    own = [each for each in ledger_seed.transactions() if 1 in (each.from_account_id, each.to_account_id)]
    moved = sum(each.amount_cents if each.to_account_id == 1 else -each.amount_cents for each in own)
    opening = 5_000_000 + ledger_seed._mix(200_000) % 5_000_000
    balance = ledger_seed.balances()[0]
    assert (opening + moved, len(own)) == (balance.balance_cents, balance.transactions)


def test_transactions_make_sense() -> None:
    """Time never goes back, nobody pays himself, and amounts are positive."""
    transactions = list(ledger_seed.transactions())
    assert ledger_seed.TRANSACTIONS == len(transactions)
    assert sorted(each.time for each in transactions) == [each.time for each in transactions]
    assert {each.time // 86_400 for each in transactions} == {ledger_seed.FIRST_TIME_S // 86_400}
    for each in transactions:
        assert each.from_account_id != each.to_account_id
        assert 0 < min(each.from_account_id, each.to_account_id, each.amount_cents)
        assert max(each.from_account_id, each.to_account_id) <= ledger_seed.ACCOUNTS


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
def test_a_feed_gives_what_was_asked_for(
    store: LedgerStore, since: int | None, limit: int | None, expected: range
) -> None:
    """All transactions since a second, up to the limit, in order, whatever the size of pages."""
    assert list(expected) == ids_of(Ledger(store).stream_transactions(since, None, limit))


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
def test_what_can_not_be_streamed_is_refused(fields: tuple[object, object, object], expected: str) -> None:
    """The field is named, and its range."""
    with pytest.raises(InvalidArgument) as caught:
        Ledger(MemoryStore()).stream_transactions(*fields)
    assert expected == caught.value.message


@pytest.mark.parametrize("account_id", [10_001, 2**31 - 1])
def test_accounts_that_are_not_there(store: LedgerStore, account_id: int) -> None:
    """There are 10,000."""
    with pytest.raises(NotFound, match=r"^Account not found\.$"):
        Ledger(store).get_balance(account_id)


@pytest.mark.parametrize("account_id", [0, -1, 2**31, "1", None])
def test_accounts_that_can_not_be(account_id: object) -> None:
    """Ids start at 1, and are integers."""
    with pytest.raises(InvalidArgument, match=r"^Field 'account_id' must be "):
        Ledger(MemoryStore()).get_balance(account_id)
