"""Properties of values: any valid user survives."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from wirebench_services.client import Client, Reply

from tests.support.services import fresh_ids

# The fixtures are connections: keeping them for all examples is the point.
few = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def texts(most: int, least: int = 0) -> st.SearchStrategy[str]:
    """Return texts of all characters that a field may hold; surrogates are none."""
    return st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=least, max_size=most)


users = st.fixed_dictionaries(
    {"name": texts(200, least=1), "email": texts(254, least=1)},
    optional={
        "phone": texts(64),
        "address": texts(500),
        "bio": texts(10_000),
        "tags": st.lists(texts(64), min_size=1, max_size=50),
        "avatar": st.binary(max_size=65_536),
    },
)


@few
@given(fields=users)
def test_any_valid_user_survives(client: Client, fields: dict[str, Any]) -> None:
    """What was created is what is got, changed by nothing on the way."""
    user = {"id": next(fresh_ids), **fields}

    assert Reply("ok", "User created successfully", user) == client.call("users.create", {"user": user})
    assert user == client.call("users.get", {"id": user["id"]}).data
