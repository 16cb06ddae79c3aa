"""The ledger: balances, on every transport and runtime."""

from __future__ import annotations

import json
import random
import socket
import time
from typing import Any

import pytest
from wirebench_services.client import Client, Reply

from tests.support.services import UVICORN, Service
from tests.support.waiting import TIMEOUT_S
from wirebench.system.paths import ROOT

VECTORS: dict[str, Any] = json.loads((ROOT / "proto/vectors/ledger.json").read_text())


def test_the_ledger_is_that_of_the_vectors(client: Client) -> None:
    """Every implementation has the same accounts and transactions."""
    for balance in VECTORS["balances"]:
        expected = Reply("ok", "Balance retrieved successfully", balance)
        assert expected == client.call("ledger.get_balance", {"account_id": balance["account_id"]})
    if client.transport == "socket":  # it has no streams
        return
    for transaction in VECTORS["transactions"]:
        *items, _ = client.stream("ledger.stream_transactions", {"since": transaction["time"], "limit": 2})
        assert transaction in items
    for vector in VECTORS["first_ids"]:
        *items, _ = client.stream("ledger.stream_transactions", {"since": vector["since"], "limit": 1})
        assert [vector["id"]] * (vector["id"] <= 100_000) == [each["id"] for each in items]


@pytest.mark.parametrize("account_id", [10_001, 2**31 - 1])
def test_accounts_that_are_not_there(client: Client, account_id: int) -> None:
    """There are 10,000."""
    assert Reply("not_found", "Account not found.") == client.call("ledger.get_balance", {"account_id": account_id})


@pytest.mark.parametrize("account_id", [0, -1])
def test_accounts_that_can_not_be(client: Client, account_id: int) -> None:
    """The field is named, and its range."""
    expected = Reply("invalid_argument", "Field 'account_id' must be between 1 and 2147483647.")
    assert expected == client.call("ledger.get_balance", {"account_id": account_id})


@pytest.mark.parametrize("service", [UVICORN._replace(store="postgres")], ids=str, indirect=True)
def test_streams_that_are_cut_cost_no_connection(service: Service) -> None:
    """Whenever a client leaves a stream, also in the middle of a query, the pool has its connection back."""
    pause = random.Random(1)  # noqa: S311 - no secret
    for _ in range(200):
        with socket.create_connection(service.address, TIMEOUT_S) as connection:
            connection.sendall(b"GET /transactions/stream?rate_limit=100000 HTTP/1.1\r\nHost: x\r\n\r\n")
            connection.recv(100)
            time.sleep(pause.uniform(0, 0.02))
        with service.connect() as client:
            assert client.call("users.get", {"id": 1_000_001}).ok
