"""The ledger: balances, on every transport and runtime."""

from __future__ import annotations

import pytest

from wirebench.clients import Client, Reply

FIRST_BALANCE = {
    "account_id": 1,
    "owner": "Owner of account 1",
    "currency": "EUR",
    "balance_cents": 5_900_222,
    "transactions": 14,
}


def test_a_balance(client: Client) -> None:
    """What an account holds is the same everywhere."""
    expected = Reply("ok", "Balance retrieved successfully", FIRST_BALANCE)
    assert expected == client.call("ledger.get_balance", {"account_id": 1})


@pytest.mark.parametrize("account_id", [10_001, 2**31 - 1])
def test_accounts_that_are_not_there(client: Client, account_id: int) -> None:
    """There are 10,000."""
    assert Reply("not_found", "Account not found.") == client.call("ledger.get_balance", {"account_id": account_id})


@pytest.mark.parametrize("account_id", [0, -1])
def test_accounts_that_can_not_be(client: Client, account_id: int) -> None:
    """The field is named, and its range."""
    expected = Reply("invalid_argument", "Field 'account_id' must be between 1 and 2147483647.")
    assert expected == client.call("ledger.get_balance", {"account_id": account_id})
