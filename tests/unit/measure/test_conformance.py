"""The requests of conformance: repeatable, of every kind, and only where they may be."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from wirebench.measure.conformance import ID_SPAN, _generate_requests, _SampleRequest
from wirebench.model.application import load_builtin

BASE = 100_000
OPERATIONS = load_builtin().operations


def requests(seed: int = 1, base: int = BASE, *, writes: bool = True) -> list[_SampleRequest]:
    """Return the first thousand requests of a seed."""
    return list(islice(_generate_requests(random.Random(seed), base, writes=writes), 1000))  # noqa: S311 - no secrets


def ids_in(value: Any) -> Iterator[int]:  # noqa: ANN401 - fields of any shape
    """Yield all ids in fields."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == "id":
                yield inner
            else:
                yield from ids_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from ids_in(inner)


def test_requests_are_of_every_kind() -> None:
    """No operation is left out."""
    assert set(OPERATIONS) == {request.operation for request in requests()}


def test_without_writes() -> None:
    """What could change a store is left out when asked for."""
    reading = OPERATIONS.keys() - {"users.create", "users.update", "users.delete", "users.create_batch"}
    assert reading == {each.operation for each in requests(writes=False)}


@pytest.mark.parametrize("operation", ["users.create", "users.create_batch", "users.update", "users.delete"])
def test_writes_keep_to_their_ids(operation: str) -> None:
    """A valid id that is written is one of the client's own; seeded users are never touched."""
    written = [each for request in requests() if request.operation == operation for each in ids_in(request.fields)]

    assert written
    assert all(BASE <= each < BASE + ID_SPAN for each in written if each > 0)


def test_users_are_marked_as_ours() -> None:
    """What a killed run leaves behind is known by its email, whatever else is wrong with it."""
    users = [request.fields["user"] for request in requests() if request.operation == "users.create"]

    assert all(user["email"].endswith("@conformance.invalid") for user in users if user["email"])


def test_clients_differ_in_their_ids_only() -> None:
    """Requests of two clients draw the same, so that their replies can be compared."""
    ours, others = requests(base=BASE), requests(base=BASE + ID_SPAN)

    assert [each.operation for each in ours] == [each.operation for each in others]
    shifts = {
        there - here
        for mine, theirs in zip(ours, others, strict=True)
        for here, there in zip(ids_in(mine.fields), ids_in(theirs.fields), strict=True)
    }
    assert {0, ID_SPAN} == shifts
