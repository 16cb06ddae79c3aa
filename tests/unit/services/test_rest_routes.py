"""REST's table of routes, and the description of the API that clients read."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from services.domain.errors import InvalidArgument
from services.operations import OPERATIONS, STREAMS
from services.rest.api import ENDPOINTS
from services.rest.routes import Route, integer
from wirebench.places import ROOT

ROUTES = [(method, endpoint, route) for endpoint in ENDPOINTS for method, route in endpoint.routes.items()]
METHODS_OF_PATHS = {"get", "put", "post", "delete"}
LIST = Route("GET", "/api/users", "users.list", query=("limit", "after_id"))


def described() -> dict[str, Any]:
    """Return the API's description."""
    document: dict[str, Any] = yaml.safe_load((ROOT / "proto" / "openapi.yaml").read_text(encoding="utf-8"))
    return document


def test_every_operation_is_one_route() -> None:
    """The table leaves no operation out; HEAD is what GET is."""
    assert sorted(OPERATIONS | STREAMS) == sorted(route.operation for method, _, route in ROUTES if method != "HEAD")


def test_the_description_is_the_table() -> None:
    """Paths, methods, operations, query parameters and the status of success are those of the routes."""
    expected = {
        (route.method, route.path): (route.operation, sorted(route.query), str(int(route.status)))
        for _, _, route in ROUTES
    }
    found = {
        (method.upper(), path): (
            operation["operationId"],
            sorted(each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"),
            min(operation["responses"]),
        )
        for path, item in described()["paths"].items()
        for method, operation in item.items()
        if method in METHODS_OF_PATHS
    }
    assert expected == found


def test_described_examples_carry_the_operations_words() -> None:
    """The messages are part of the contract, and the same as on the other transports; streams end without one."""
    for item in described()["paths"].values():
        for method in METHODS_OF_PATHS & set(item):
            operation = item[method]
            if operation["operationId"] in OPERATIONS:
                reply = operation["responses"][min(operation["responses"])]["content"]["application/json"]["example"]
                assert OPERATIONS[operation["operationId"]].message == reply["message"]


def test_described_protobuf_bodies_are_the_operations_messages() -> None:
    """Where the description names a message, it is the one that the operation takes or gives; streams are JSON."""
    for item in described()["paths"].values():
        for method in METHODS_OF_PATHS & set(item):
            described_operation = item[method]
            if described_operation["operationId"] in STREAMS:
                continue
            operation = OPERATIONS[described_operation["operationId"]]
            contents = [(described_operation["responses"][min(described_operation["responses"])], operation.response)]
            if "requestBody" in described_operation:
                contents.append((described_operation["requestBody"], operation.request))
            for holder, message in contents:
                found = holder["content"]["application/x-protobuf"]["x-message"]
                assert message.DESCRIPTOR.full_name == found


def test_a_fixed_path_comes_before_one_that_would_match_it() -> None:
    """Frameworks take the first match: /api/users/batch is no user's id."""
    paths = [endpoint.path for endpoint in ENDPOINTS]
    assert paths.index("/api/users/batch") < paths.index("/api/users/{id}")


def test_endpoints_know_what_they_allow() -> None:
    """The header Allow names every method, HEAD with GET."""
    allowed = {endpoint.path: endpoint.allow for endpoint in ENDPOINTS}
    assert "GET, HEAD, POST" == allowed["/api/users"]
    assert "DELETE, GET, HEAD, PUT" == allowed["/api/users/{id}"]
    assert "POST" == allowed["/upper"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("7", 7), ("007", 7), ("-7", -7), ("99999999999", 99_999_999_999), ("0", 0)],
)
def test_integers(text: str, expected: int) -> None:
    """Digits are an integer, in whatever range."""
    assert expected == integer(text)


@pytest.mark.parametrize(
    "text", ["", "abc", "1.0", "+7", " 7", "7 ", "1_000", "0x7", "\N{ARABIC-INDIC DIGIT SEVEN}", "9" * 5000]
)
def test_what_is_no_integer_stays_text(text: str) -> None:
    """Validation sees the text, and so can name the field."""
    assert text == integer(text)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", {}),
        ("limit=10&after_id=3", {"limit": 10, "after_id": 3}),
        ("limit=1&limit=2", {"limit": 2}),
        ("limit=", {"limit": ""}),
        ("limit=%31", {"limit": 1}),
        ("limit=%ff", {"limit": "\N{REPLACEMENT CHARACTER}"}),
    ],
)
def test_queries(query: str, expected: dict[str, object]) -> None:
    """Parameters are fields; a blank one is a wrong value and not a missing one."""
    assert expected == LIST.fields({}, query)


def test_path_and_query_are_fields_alike() -> None:
    """The values of both come in one dictionary."""
    route = Route("GET", "/things/{id}", "things.get", query=("limit",))
    assert {"id": 5, "limit": 2} == route.fields({"id": "5"}, "limit=2")


def test_parameters_that_mean_nothing_are_refused() -> None:
    """A misspelt parameter is not silently left out."""
    with pytest.raises(InvalidArgument) as caught:
        LIST.fields({}, "limti=5&limit=2&x")
    assert "Unknown fields: limti, x." == caught.value.message
