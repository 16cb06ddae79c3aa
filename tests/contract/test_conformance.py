"""Conformance against real services: equal ones pass, a different one is found, and all is left as it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from wirebench_services.client import Client, ClientError, Fields, Reply, RestClient

from tests.support.services import (
    ASYNCIO,
    GO_KINDS,
    GRPC_AIO,
    GRPC_SYNC,
    GTHREAD,
    THREADED,
    UVICORN,
    Kind,
    started,
)
from wirebench.errors import WirebenchError
from wirebench.measure.conformance import IDS, check


def connected(stack: ExitStack, folder: Path, *kinds: Kind) -> list[Client]:
    """Start services and return a client of each."""
    return [stack.enter_context(stack.enter_context(started(kind, folder)).connect()) for kind in kinds]


@pytest.fixture(scope="module")
def clients(logs: Path) -> Iterator[list[Client]]:
    """Return a client of each transport."""
    with ExitStack() as stack:
        yield connected(stack, logs, UVICORN, GRPC_SYNC, ASYNCIO)


class Lying(RestClient):
    """A client whose service is different in one word."""

    def call(self, operation: str, fields: Fields) -> Reply:
        """Answer as the service does, but for one message."""
        reply = super().call(operation, fields)
        return Reply(reply.code, reply.message.replace("User not found.", "No such user."), reply.data)


def users_of(client: Client) -> object:
    """Return all users."""
    return client.call("users.list", {}).data


@pytest.mark.parametrize("seed", range(2))
def test_services_answer_alike(clients: list[Client], seed: int) -> None:
    """All transports agree on every request, whatever the seed, and keep their users."""
    before = [users_of(client) for client in clients]

    outcome = check(clients, seed, count=200)

    assert () == outcome.mismatches
    assert 200 == outcome.requests
    assert before == [users_of(client) for client in clients]


@pytest.mark.slow
def test_all_runtimes_answer_alike(logs: Path, clients: list[Client]) -> None:
    """The other runtimes agree with the first ones."""
    with ExitStack() as stack:
        others = connected(
            stack, logs, GTHREAD, UVICORN, GRPC_AIO, THREADED, ASYNCIO._replace(codec="protobuf"), *GO_KINDS
        )

        assert () == check([*clients, *others], seed=1, count=100).mismatches


def test_a_difference_is_found(clients: list[Client]) -> None:
    """One different word is a line that names the request and both answers, and the store is cleared all the same."""
    before = users_of(clients[0])

    with Lying(clients[0].address) as lying:
        outcome = check([clients[0], lying], seed=1, count=100)

    assert outcome.mismatches
    assert all("No such user." in line and "User not found." in line for line in outcome.mismatches)
    assert all(len(line.splitlines()) == 1 for line in outcome.mismatches)
    assert before == users_of(clients[0])


def test_left_overs_are_cleared(clients: list[Client]) -> None:
    """Users that a killed run has left behind don't disturb later runs."""
    user = {"id": IDS[3], "name": "left over", "email": "user1@conformance.invalid"}
    clients[0].call("users.create", {"user": user})

    assert () == check(clients, seed=4, count=50).mismatches


def test_foreign_users_are_spared(clients: list[Client]) -> None:
    """A user in the range who isn't ours is named, and not deleted."""
    user = {"id": IDS[3], "name": "Ada", "email": "ada@example.com"}
    clients[0].call("users.create", {"user": user})

    with pytest.raises(WirebenchError, match=f"rest has a user with id {IDS[3]}"):
        check(clients, seed=4, count=50)

    assert user == clients[0].call("users.delete", {"id": IDS[3]}).data


def test_a_service_that_dies(logs: Path, clients: list[Client]) -> None:
    """The failure is raised, and the others are cleared."""
    before = users_of(clients[0])
    with started(ASYNCIO, logs) as service, service.connect() as dying:
        dying.call("users.get", {"id": 1})
        service.stop()

        with pytest.raises(ClientError, match=r"nothing listens|hung up"):
            check([clients[0], dying], seed=1, count=50)

    assert before == users_of(clients[0])
