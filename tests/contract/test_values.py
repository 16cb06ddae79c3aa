"""Properties of values: any valid user survives, and no body at all is too strange for an answer."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from wirebench_services.client import Client, Reply, SocketClient

from tests.support.services import SOCKET_KINDS, fresh_ids

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
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts(20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts(10), inner, max_size=3),
    max_leaves=10,
)
#: Bodies that nearly mean something: fields of the contract with values of any type, but no whole user, so that
#: nothing is created which other tests would meet.
bodies = json_values | st.dictionaries(
    st.sampled_from(["id", "name", "tags", "avatar", "user", "users", "text", "payload", "limit"]),
    json_values | users,
    max_size=4,
)


def as_json(value: object) -> bytes:
    """Return any value as JSON; bytes are base64."""
    return json.dumps(value, default=lambda data: base64.b64encode(data).decode("ascii")).encode()


@few
@given(fields=users)
def test_any_valid_user_survives(client: Client, fields: dict[str, Any]) -> None:
    """What was created is what is got, changed by nothing on the way."""
    user = {"id": next(fresh_ids), **fields}

    assert Reply("ok", "User created successfully", user) == client.call("users.create", {"user": user})
    assert user == client.call("users.get", {"id": user["id"]}).data


@pytest.mark.parametrize("service", SOCKET_KINDS, ids=str, indirect=True)
@few
@given(
    method=st.sampled_from(
        ["users.create", "users.get", "users.update", "users.list", "users.create_batch", "echo.echo"]
    ),
    body=bodies,
)
def test_any_json_gets_an_answer_from_socket(client: SocketClient, method: str, body: object) -> None:
    """JSON of any shape is carried out or rejected, and the connection keeps working."""
    client.send_frame(5, method, as_json(body))

    frame = client.receive_frame()

    assert 5 == frame.id
    assert frame.status in {0, 3, 5, 6}
