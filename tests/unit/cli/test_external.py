"""Services that run already: their addresses say whether they speak TLS, and their metrics what they are."""

from __future__ import annotations

from http.server import HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.support.http_servers import QuietHandler, serving
from wirebench.cli.options import TlsOptions
from wirebench.errors import UsageError
from wirebench.model.address import Address
from wirebench.model.cell import ServiceSpec
from wirebench.model.scenario import Scenario
from wirebench.plan.plan import make_plan
from wirebench.run.target_options import set_tls_levels
from wirebench.targets.external import ExternalTarget, find_admin

ADDRESSES = {"rest": "https://127.0.0.1:5000", "grpc": "tls://127.0.0.1:50051"}


def scenario(**factors: Any) -> Scenario:  # noqa: ANN401 - levels of factors
    """Return a scenario on two transports."""
    return Scenario.model_validate({"question": "?", "factors": {"transport": ["rest", "grpc"], **factors}})


def test_the_address_sets_the_factor() -> None:
    """What is measured is what is there, and so it is named."""
    plan = make_plan(set_tls_levels(scenario(), ExternalTarget(ADDRESSES)), 1, "external")
    assert {"server"} == {cell.tls for cell in plan.cells}


def test_transports_that_differ_in_tls_are_not_compared() -> None:
    """A comparison of plain text with TLS would compare TLS as well."""
    found = set_tls_levels(scenario(), ExternalTarget({**ADDRESSES, "grpc": "127.0.0.1:50051"}))
    with pytest.raises(UsageError, match="nothing to compare"):
        make_plan(found, 1, "external")


@pytest.mark.parametrize("tls", ["none", ["none", "server"], {"rest": "none"}])
def test_a_scenario_that_says_otherwise_is_rejected(tls: object) -> None:
    """Nothing here can make a service speak TLS, or not."""
    with pytest.raises(UsageError, match="tls: the address of rest has the level server"):
        set_tls_levels(scenario(tls=tls), ExternalTarget(ADDRESSES))


def test_a_file_that_can_not_be_used_is_named(tmp_path: Path) -> None:
    """A file that is missing or isn't PEM is named before anything is connected."""
    (tmp_path / "empty").touch()
    for name, said in (("missing", "can't read .*missing: No such file"), ("empty", "empty holds no certificate in")):
        with pytest.raises(UsageError, match=said):
            TlsOptions(tmp_path / name).load()


class Metrics(QuietHandler):
    """Answers as the admin port of a service does."""

    def do_GET(self) -> None:
        """Say that it is a service in Go."""
        self.answer(200, b'wirebench_build_info{implementation="go",runtime="net-http",store="memory"} 1\n')


def test_a_service_is_what_the_scenario_says() -> None:
    """Else its figures would have a wrong name; what serves no metrics on its port + 1000 isn't known."""
    service = ServiceSpec(transport="rest", implementation="go", runtime="net-http")
    with serving(HTTPServer(("127.0.0.1", 0), Metrics)) as admin:
        address = Address("127.0.0.1", int(admin.partition(":")[2]) - 1000)
        assert f"http://{admin}" == find_admin(service, address)
        with pytest.raises(UsageError, match="has the implementation go, and the scenario has python") as error:
            find_admin(ServiceSpec(transport="rest", runtime="gunicorn-gthread"), address)
        assert "add --set factors.implementation.rest=go" == error.value.hint
    assert find_admin(service, address) is None
    assert find_admin(service, Address("127.0.0.1", 65_535)) is None
