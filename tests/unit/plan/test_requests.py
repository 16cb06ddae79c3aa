"""Requests without a scenario: what they become, and how mistakes are named. test_own_requests measures some."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.command_line import reject
from wirebench.model.application import Application
from wirebench.model.scenario import Scenario
from wirebench.model.variant import Limit
from wirebench.plan.load import read_scenario
from wirebench.plan.overrides import Override, parse_assignment
from wirebench.plan.plan import make_plan
from wirebench.plan.requests import APPLICATION_NAME, compare_requests
from wirebench.system.tls import ClientTls

REST = "GET http://127.0.0.1:8080/items/1?full=true"
GRPC = '127.0.0.1:50051 shop.Catalog/GetItem {"id": 1, "lang": "DE"}'
SOCKET = "[::1]:9000 get  1 full "


def read(
    folder: Path,
    *requests: list[str],
    status: int | None = None,
    limit: Limit | None = None,
    tls: ClientTls | None = None,
    overrides: Sequence[Override] = (),
) -> Scenario:
    """Return the scenario of requests on REST, gRPC and the socket."""
    rest, grpc, socket = (*requests, [], [], [])[:3]
    application, scenario = compare_requests(rest, grpc, socket, status=status, tls=tls, limit=limit)
    (folder / APPLICATION_NAME).write_text(application)
    (folder / "requests.yaml").write_text(scenario)
    return read_scenario(folder / "requests.yaml", overrides=overrides)


def sent_to(application: Application, variant: str) -> object:
    """Return the request that a variant gets."""
    return application.operations["request"].find_request(application.variants[variant].transport, variant)


def test_each_request_is_a_variant(tmp_path: Path) -> None:
    """Several of a transport are numbered, and each has its own request."""
    scenario = read(
        tmp_path,
        [REST, 'https://[::1]/v2 {"a": [1]}', "PUT http://localhost/x some text"],
        [GRPC],
        [SOCKET],
        status=201,
        overrides=[parse_assignment("factors.concurrency=3"), parse_assignment("load.window_s=2")],
    )
    variants = {
        name: (each.transport, each.address, each.tls is not None)
        for name, each in scenario.application.variants.items()
    }
    assert {
        "rest": ("rest", "127.0.0.1:8080", False),
        "rest-2": ("rest", "[::1]:443", True),
        "rest-3": ("rest", "localhost:80", False),
        "grpc": ("grpc", "127.0.0.1:50051", False),
        "socket": ("socket", "[::1]:9000", False),
    } == variants
    status = {"status": 201}
    assert {"request": "GET /items/1?full=true", "expect": status} == sent_to(scenario.application, "rest")
    post = {"request": "POST /v2", "body": {"a": [1]}, "expect": status}
    assert post == sent_to(scenario.application, "rest-2")
    assert {"request": "PUT /x", "body": "some text", "expect": status} == sent_to(scenario.application, "rest-3")
    call = {"call": "shop.Catalog/GetItem", "message": {"id": 1, "lang": "DE"}}
    assert call == sent_to(scenario.application, "grpc")
    assert {"line": "get  1 full "} == sent_to(scenario.application, "socket")
    plan = make_plan(scenario, 1, "external")
    assert {(3, None)} == {(cell.concurrency, cell.rate_per_s) for cell in plan.cells}
    load = scenario.load
    assert (5, "closed", 2.0, "variant") == (len(plan.cells), load.model, load.window_s, scenario.compare)
    assert 1 == len(make_plan(read(tmp_path, [REST]), 1, "external").cells), "one alone is measured too"


def test_other_machines_need_a_limit(tmp_path: Path) -> None:
    """Rate and connections are the limit, which the load keeps to; those on this machine have none."""
    foreign = "GET https://shop.example/items/1"
    for options in ((), ("--rate", 5), ("--concurrency", 2)):
        errors = reject("run", "--rest", foreign, "--rest", REST, *options, "--out", tmp_path)
        assert "https://shop.example:443: not a loopback address" in errors
        assert "--rate N and --concurrency N" in errors
    overrides = [parse_assignment("factors.concurrency=2"), parse_assignment("factors.rate_per_s=5")]
    limit = Limit(rate_per_s=5, connections=2)
    scenario = read(tmp_path, [foreign, REST], limit=limit, overrides=overrides)
    assert [limit, None] == [each.limit for each in scenario.application.variants.values()]
    assert "open" == scenario.load.model
    assert {(5, 2)} == {(cell.rate_per_s, cell.concurrency) for cell in make_plan(scenario, 1, "external").cells}


def test_files_for_tls_are_those_of_the_command_line(tmp_path: Path) -> None:
    """A scheme decides where it is, and the files are used for TLS."""
    tls = ClientTls(authority=tmp_path / "ca.pem")
    requests = [GRPC, f"https://{GRPC}", f"http://{GRPC}"]
    variants = read(tmp_path, [], requests, tls=tls).application.variants
    found = [each.tls and each.tls.authority for each in variants.values()]
    assert [str(tmp_path / "ca.pem"), str(tmp_path / "ca.pem"), None] == found


def test_headers_and_bodies_are_those_of_an_application_file(tmp_path: Path) -> None:
    """Headers go to all variants of a transport; replies have equal bodies, unless they needn't or there is one."""
    headers = {"rest": {"X-Key": "${KEY}"}}
    for requests, ignored, expected in (
        ([REST, REST], False, ({"rest": ""},)),
        ([REST, REST], True, ()),
        ([REST], False, ()),
    ):
        application, scenario = compare_requests(requests, [], [], headers=headers, ignore_bodies=ignored)
        (tmp_path / APPLICATION_NAME).write_text(application)
        (tmp_path / "requests.yaml").write_text(scenario)
        read_application = read_scenario(tmp_path / "requests.yaml").application
        assert expected == read_application.operations["request"].same
        assert [headers["rest"]] * len(requests) == [each.headers for each in read_application.variants.values()]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--header", "X-A: {b}"), "error: --header: {b}: there is no input"),
        (("--header", "X-A: ${NO_SUCH_KEY}"), "error: --header: the environment variable NO_SUCH_KEY is not set"),
        (("--header", "s3cret"), "error: --header, --metadata: not a name and a value"),
        (("--rest", "GET http://localhost/{id}"), "error: --rest: {id}: there is no input"),
        (("--grpc", GRPC, "--metadata", "key-bin: ?"), "error: --metadata: its value isn't base64"),
        (("--blocks", "x"), "error: --blocks x: blocks: must be"),
    ],
)
def test_mistakes_name_options(options: Sequence[str], expected: str, tmp_path: Path) -> None:
    """The user has no application file, whose line would be named; a secret isn't shown."""
    errors = reject("run", "--rest", REST, *options, "--out", tmp_path)
    assert expected in errors
    assert [False] * 3 == [text in errors for text in ("yaml", "s3cret", "applications.md")]
