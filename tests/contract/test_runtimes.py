"""Every runtime, store and codec once: it starts, answers as the contract says, and stops.

The rest of the contract is tested on CONTRACT_KINDS, and on other runtimes only by slow tests.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from wirebench_services.client import Reply

from tests.support.postgres import PostgresServer, url_file
from tests.support.services import CONTRACT_KINDS, OTHER_KINDS, RUNTIME_KINDS, Kind, started

USER: dict[str, Any] = {"id": 7, "name": "Žofie", "email": "z@example.com", "tags": ["a"], "avatar": b"\x00\xff"}


@pytest.mark.parametrize("name", [str(kind) for kind in (*RUNTIME_KINDS, *OTHER_KINDS) if kind not in CONTRACT_KINDS])
def test_a_runtime_serves_the_contract(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Users, batches, the ledger, a stream and echo; invalid, missing and taken users; health, and a clean stop."""
    (kind,) = (each for each in (*RUNTIME_KINDS, *OTHER_KINDS) if str(each) == name)
    with started(kind, tmp_path, *find_store(kind, request, tmp_path)) as service:
        assert [(200, "ok\n")] * 2 == [service.admin("/livez"), service.admin("/readyz")]
        with service.connect() as client:
            assert Reply("ok", "User created successfully", USER) == client.call("users.create", {"user": USER})
            assert Reply("already_exists", "User with id 7 already exists.") == client.call(
                "users.create_batch", {"users": [{**USER, "id": 8}, USER]}
            )
            assert Reply("invalid_argument", "Missing required fields: id, email.") == client.call(
                "users.create", {"user": {"name": "x"}}
            )
            changed = {**USER, "phone": "+44", "tags": ["b", "c"]}
            reply = client.call("users.update", {"id": 7, "phone": "+44", "tags": ["b", "c"]})
            assert Reply("ok", "User updated successfully", changed) == reply
            assert [changed] == client.call("users.list", {"limit": 1}).data
            assert Reply("ok", "User deleted successfully", changed) == client.call("users.delete", {"id": 7})
            assert Reply("not_found", "User not found.") == client.call("users.get", {"id": 7})
            assert client.call("users.get", {"id": 1_000_001}).ok
            assert client.call("ledger.get_balance", {"account_id": 1}).ok
            if kind.transport != "socket":
                *items, ended = client.stream("ledger.stream_transactions", {"limit": 300})
                assert list(range(1, 301)) == [each["id"] for each in items]
                assert Reply("ok", "") == ended
            assert {"payload": bytes(100_000)} == client.call("echo.echo", {"payload": bytes(100_000)}).data
            assert {"text": "ŽOFIE"} == client.call("echo.upper", {"text": "Žofie"}).data
        assert 0 == service.stop()


def find_store(kind: Kind, request: pytest.FixtureRequest, folder: Path) -> tuple[object, ...]:
    """Return the flags that name a kind's database."""
    if kind.store != "postgres":
        return ()
    server: PostgresServer = request.getfixturevalue("postgres")
    return "--store-url-file", url_file(folder, server.fresh())
