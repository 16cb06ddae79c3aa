"""The requests of conformance: repeatable, of every kind, and only where they may be."""

from __future__ import annotations

import json
import re

import pytest

from wirebench.measure.conformance import EMAIL_DOMAIN, IDS, draw_requests
from wirebench.model.application import load_builtin

OPERATIONS = load_builtin().operations
REQUESTS = draw_requests(seed=1, count=1000, writes=True)


def test_requests_are_of_every_kind() -> None:
    """What could change a store is left out when asked for."""
    assert set(OPERATIONS) == {operation for operation, _ in REQUESTS}
    reading = OPERATIONS.keys() - {"users.create", "users.update", "users.delete", "users.create_batch"}
    assert reading == {operation for operation, _ in draw_requests(seed=1, count=1000, writes=False)}


@pytest.mark.parametrize("operation", ["users.create", "users.create_batch", "users.update", "users.delete"])
def test_writes_keep_to_their_ids(operation: str) -> None:
    """A valid id that is written is one of ours; seeded users are never touched."""
    fields = json.dumps([each for name, each in REQUESTS if name == operation], default=repr)
    written = list(map(int, re.findall(r'"id": (-?\d+)', fields)))
    assert written
    assert all(each in IDS for each in written if each > 0)


def test_users_are_marked_as_ours() -> None:
    """What a killed run leaves behind is known by its email, whatever else is wrong with it."""
    users = [fields["user"] for operation, fields in REQUESTS if operation == "users.create"]
    assert all(user["email"].endswith(EMAIL_DOMAIN) for user in users if user["email"])


def test_a_seed_repeats_its_requests() -> None:
    """All services get the same requests, also when a check is repeated."""
    assert REQUESTS[:50] == draw_requests(seed=1, count=1000, writes=True)[:50]
    assert REQUESTS != draw_requests(seed=2, count=1000, writes=True)
