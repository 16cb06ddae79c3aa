"""Services that run already: where their addresses come from, and that those say whether they speak TLS."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from wirebench.cli.options import TlsOptions
from wirebench.cli.target import make_target_options
from wirebench.errors import UsageError, WirebenchError
from wirebench.model.scenario import Scenario
from wirebench.plan.plan import make_plan
from wirebench.run.target_options import TargetOptions, set_tls_levels
from wirebench.targets.external import ExternalTarget

ADDRESSES = {"rest": "https://127.0.0.1:5000", "grpc": "tls://127.0.0.1:50051"}


def scenario(**factors: Any) -> Scenario:  # noqa: ANN401 - levels of factors
    """Return a scenario on two transports."""
    return Scenario.model_validate({"question": "?", "factors": {"transport": ["rest", "grpc"], **factors}})


def test_the_address_sets_the_factor() -> None:
    """What is measured is what is there, and so it is named."""
    plan = make_plan(set_tls_levels(scenario(), ExternalTarget(ADDRESSES)), 1, "external")
    assert {"server"} == {cell.tls for cell in plan.cells}


def test_transports_that_differ_in_tls_are_not_compared() -> None:
    """One in plain text against one with TLS would compare TLS as well."""
    found = set_tls_levels(scenario(), ExternalTarget({**ADDRESSES, "grpc": "127.0.0.1:50051"}))
    with pytest.raises(UsageError, match="nothing to compare"):
        make_plan(found, 1, "external")


@pytest.mark.parametrize("tls", ["none", ["none", "server"], {"rest": "none"}])
def test_a_scenario_that_says_otherwise_is_rejected(tls: object) -> None:
    """Nothing here can make a service speak TLS, or not."""
    with pytest.raises(UsageError, match="tls: the address of rest has the level server"):
        set_tls_levels(scenario(tls=tls), ExternalTarget(ADDRESSES))


def test_a_name_that_no_host_can_have_is_a_clear_error() -> None:
    """Python finds no name for it, and so no error of the network."""
    target = ExternalTarget({"rest": "http://a..b:80"})
    (rest,) = {each.service for each in make_plan(scenario(transport="rest"), 1, "external").cells}
    with pytest.raises(WirebenchError, match=r"nothing answers at a\.\.b:80"):
        target.start([rest])


def test_a_file_that_can_not_be_used_is_named(tmp_path: Path) -> None:
    """Before anything is connected: none at all, and not PEM."""
    empty = tmp_path / "empty"
    empty.touch()
    cases = [
        (tmp_path / "missing", "can't read .*missing: No such file"),
        (empty, "empty holds no certificate in PEM form"),
    ]
    for file, said in cases:
        with pytest.raises(UsageError, match=said):
            TlsOptions(file).load()


def options(target: str, **addresses: str) -> TargetOptions:
    """Return the target that a command's options name."""
    return make_target_options(target, addresses)


def levels(**addresses: str) -> Mapping[str, str]:
    """Return the TLS level of each transport that has an address, which tells its source."""
    external = options("external", **addresses).external
    assert external is not None
    return external.tls_levels


def test_options_win_over_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable gives the address of a transport that has no option; an empty variable gives none."""
    monkeypatch.setenv("WIREBENCH_REST", "https://variable:5000")
    monkeypatch.setenv("WIREBENCH_GRPC", "tls://variable:50051")
    monkeypatch.setenv("WIREBENCH_SOCKET", "")

    assert {"rest": "server", "grpc": "server"} == levels()
    assert {"rest": "none", "grpc": "server"} == levels(rest="http://option:5000")


def test_other_targets_have_no_use_for_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """They start their services; an option for one is a mistake, and a variable is meant for another command."""
    monkeypatch.setenv("WIREBENCH_REST", "127.0.0.1:5000")

    assert options("local").external is None
    with pytest.raises(UsageError, match="the local target starts its services itself"):
        options("local", rest="127.0.0.1:5000")
