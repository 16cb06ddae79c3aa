"""The settings of the services in Python."""

from __future__ import annotations

import errno
import socket
import sys

import pytest
from wirebench_services.service_command import choose_ports, make_server_command
from wirebench_services.settings import RestSettings, SettingsError, SocketSettings, read_settings
from wirebench_services.store_command import main

from wirebench.system.ports import reserve_ports


def test_a_flag_wins_over_its_variable_in_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server inherits the variables, so it gets each flag that was given, also one with the default's value."""
    monkeypatch.setenv("WIREBENCH_RUNTIME", "uvicorn")
    monkeypatch.setenv("WIREBENCH_THREADS", "4")
    settings = read_settings(RestSettings, ["--runtime", "gunicorn-gthread", "--workers", "2"])
    expected = {"RUNTIME": "gunicorn-gthread", "THREADS": "4", "WORKERS": "2", "ADMIN_PORT": "6000"}
    assert {f"WIREBENCH_{name}": value for name, value in expected.items()} == settings.to_environment()


def test_invalid_variables_of_the_store_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are reported in one line, as an invalid flag is."""
    monkeypatch.setenv("WIREBENCH_SEED_USERS", "many")
    monkeypatch.setattr("sys.argv", ["wirebench-store", "migrate"])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert capsys.readouterr().err.startswith("wirebench-store: error: --seed-users: Input should be a valid integer")


def test_a_short_idle_timeout_keeps_connections() -> None:
    """With 0, uvicorn closes each connection after its reply; it counts whole seconds."""
    assert "--timeout-keep-alive=1" in make_server_command(RestSettings(runtime="uvicorn", idle_timeout_s=0.1))


def test_all_addresses_are_those_of_ipv4_where_the_kernel_has_no_ipv6(monkeypatch: pytest.MonkeyPatch) -> None:
    """The images say `::`, wherever they run."""
    monkeypatch.setattr("socket.has_dualstack_ipv6", lambda: False)
    assert "0.0.0.0" == choose_ports(RestSettings(host="::", port=0)).host  # noqa: S104 - what is tested


def test_an_address_that_the_kernel_does_not_know_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of IPv6 is named like any other that can't be listened on, with a next step."""
    monkeypatch.setattr("socket.AF_INET6", 1234)
    with pytest.raises(OSError, match=r"listen on \[::1\]:0: Address family not supported .*; choose another --port"):
        choose_ports(RestSettings(host="::1", port=0))


@pytest.mark.parametrize("name", ["", "redis", "memory:x", "postgres:x"])
def test_a_store_that_does_not_exist_is_rejected(name: str) -> None:
    """The message names the flag."""
    with pytest.raises(SettingsError, match="--store"):
        read_settings(RestSettings, ["--store", name])


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has names that end with their process")
def test_services_that_start_at_once_do_not_share_a_port() -> None:
    """Those with several workers could: each worker listens on the port for itself."""
    with reserve_ports(1) as (port,):
        pass
    settings = read_settings(SocketSettings, ["--port", str(port), "--admin-port", "0", "--workers", "2"])
    choose_ports(settings)
    with pytest.raises(OSError, match=f"can't listen on 127.0.0.1:{port}: Address already in use"):
        choose_ports(settings)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has names that end with their process")
def test_a_free_port_that_another_service_has_just_chosen_is_left_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel may name one port to two services that don't listen yet; a port that was asked for has no other."""
    already_in_use = OSError(errno.EADDRINUSE, "Address already in use")
    faults = [already_in_use, already_in_use]

    class Socket(socket.socket):
        def bind(self, address: object) -> None:
            if isinstance(address, str) and faults:
                raise faults.pop()
            super().bind(address)  # type: ignore[arg-type]

    monkeypatch.setattr("socket.socket", Socket)
    assert choose_ports(RestSettings(port=0, admin_port=0)).port > 0
    assert not faults
    faults = [already_in_use]
    with pytest.raises(OSError, match="choose another --port"):
        choose_ports(RestSettings(port=15_000))
