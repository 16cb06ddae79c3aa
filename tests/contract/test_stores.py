"""The stores, as far as a client can tell them apart."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.contract.services import ASYNCIO, GRPC_SYNC, GTHREAD, Kind, started

ADA = {"name": "Ada", "email": "ada@example.com"}
DEFAULTS = pytest.mark.parametrize("kind", [GTHREAD, GRPC_SYNC, ASYNCIO], ids=str)


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
