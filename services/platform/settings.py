"""Settings of a service: one object, bound to flags and to environment variables."""

from __future__ import annotations

import argparse
import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from services.domain.stores.settings import FILL, WAIT, StoreSettings
from services.platform import tls
from services.platform.tls import CertificateError, Tls

ENVIRONMENT_PREFIX = "WIREBENCH_"
PORT_MAX = 65_535
#: Where the metrics of CPU and memory come from.
PROCESS_TREE, CGROUP = "process-tree", "cgroup"


@dataclasses.dataclass(frozen=True, slots=True)
class Defaults:
    """What differs from one transport to the next."""

    transport: str
    port: int
    runtimes: tuple[str, ...]
    threads: int
    #: What clients with TLS may choose by ALPN, where they have a choice.
    alpn_protocols: tuple[str, ...] = ()

    @property
    def program(self) -> str:
        """The command's name."""
        return f"wirebench-{self.transport}"


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """How one service runs; durations in seconds, sizes in bytes."""

    transport: str
    #: The command's name, which starts every line that it logs.
    program: str
    host: str
    port: int
    admin_port: int
    runtime: str
    workers: int
    threads: int
    store: StoreSettings
    #: None is plain text. The admin port never has TLS: it is for probes and scrapes inside.
    tls: Tls | None
    body_bytes_max: int
    read_timeout_s: float
    idle_timeout_s: float
    drain_pause_s: float
    drain_timeout_s: float
    resources_from: str
    #: gRPC alone hands connections over by their age; 0 is for ever.
    max_connection_age_s: float = 0.0


def parse(defaults: Defaults, arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> Settings:
    """Read the settings: a flag wins over its environment variable, which wins over the default.

    Exits with status 2 and one line that names the flag if a value is wrong.
    """
    parser = _parser(defaults, environment)
    values = vars(parser.parse_args(arguments))
    if values["admin_port"] is None:
        # Port 0 asks the system for a free port, and then so does the admin port.
        values["admin_port"] = values["port"] + 1000 if values["port"] else 0
    if values["admin_port"] > PORT_MAX:
        parser.error(f"--admin-port: {values['admin_port']} is over {PORT_MAX}; name a free port")
    if values["admin_port"] == values["port"] != 0:
        parser.error("--admin-port: must differ from --port")
    try:
        chain, key, authorities = (values.pop(name) for name in ("tls_cert", "tls_key", "tls_client_ca"))
        values["tls"] = tls.load(chain, key, defaults.alpn_protocols, authorities)
    except CertificateError as error:
        parser.error(str(error))
    values["store"] = _complete_store(parser, values, environment)
    return Settings(transport=defaults.transport, program=defaults.program, **values)


def _complete_store(
    parser: argparse.ArgumentParser, values: dict[str, Any], environment: Mapping[str, str]
) -> StoreSettings:
    """Take what belongs to the store out of the values, and put it together."""
    store: StoreSettings = values.pop("store")
    url_file = values.pop("store_url_file")
    more = {name: values.pop(f"store_{name}") for name in ("connections", "timeout_s", "when_empty")}
    if store.kind != "postgres":
        return store
    from services.platform import store_url  # noqa: PLC0415 - a process loads only what it runs

    try:
        return dataclasses.replace(store, url=store_url.read(url_file, environment), **more)
    except store_url.StoreUrlError as error:
        parser.error(str(error))


def _parser(defaults: Defaults, environment: Mapping[str, str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=defaults.program,
        description=f"wirebench's application behind {defaults.transport}.",
        epilog=f"Each flag is also an environment variable: --port is {ENVIRONMENT_PREFIX}PORT.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )

    def add(flag: str, default: object, convert: Callable[[str], object], text: str, **more: Any) -> None:  # noqa: ANN401
        variable = ENVIRONMENT_PREFIX + flag.removeprefix("--").replace("-", "_").upper()
        # argparse converts and checks a default that is a string as it does a flag's value.
        parser.add_argument(flag, default=environment.get(variable, default), type=convert, help=text, **more)

    add("--host", "127.0.0.1", str, "address to listen on")
    add("--port", defaults.port, _integer(0, PORT_MAX), "port of the service; 0 takes a free one")
    add("--admin-port", None, _integer(0, PORT_MAX), "port of /livez, /readyz, /metrics, /usage; default: port + 1000")
    add("--runtime", defaults.runtimes[0], _one_of(defaults.runtimes), f"one of {', '.join(defaults.runtimes)}")
    add("--workers", 1, _integer(1, 64), "processes")
    add("--threads", defaults.threads, _integer(1, 1024), "threads a worker, in runtimes that have a thread pool")
    add("--store", "memory", _store, "memory, sqlite (a temporary file), sqlite:PATH or postgres")
    text = "file that holds the URL of postgres; without it, the environment variable WIREBENCH_STORE_URL holds it"
    add("--store-url-file", None, str, text)
    add("--store-connections", 10, _integer(1, 1000), "connections that each worker may have to postgres")
    text = "how long a request may wait for a connection to postgres, and how long its statement may take"
    add("--store-timeout-s", 5.0, _seconds(0.1), text)
    text = "what to do if an empty postgres takes the place of the one at the start: wait for its tables, or fill it"
    add("--store-when-empty", WAIT, _one_of((WAIT, FILL)), text)
    text = "PEM file of a certificate and its chain: the service then speaks TLS; the admin port stays plain HTTP"
    add("--tls-cert", None, str, text)
    add("--tls-key", None, str, "PEM file of the certificate's private key, not encrypted")
    text = "PEM file of authorities: clients without a certificate that one of them has signed are refused (mutual TLS)"
    add("--tls-client-ca", None, str, text)
    add("--body-bytes-max", 4 * 1024 * 1024, _integer(1024, 2**30), "largest request")
    add("--read-timeout-s", 10.0, _seconds(0.1), "how long a client may take to send a request")
    add("--idle-timeout-s", 75.0, _seconds(0.1), "how long a connection may stay without a request")
    add("--drain-pause-s", 0.5, _seconds(0.0), "how long to go on serving after readiness goes off")
    add("--drain-timeout-s", 10.0, _seconds(0.0), "how long requests in flight may take to finish")
    sources = (PROCESS_TREE, CGROUP)
    text = f"where the metrics of CPU and memory come from: {' or '.join(sources)}, which in a container is right"
    add("--resources-from", PROCESS_TREE, _one_of(sources), text)
    if defaults.transport == "grpc":
        text = "how long a connection lives before its client is told to open another; 0: for ever"
        add("--max-connection-age-s", 0.0, _seconds(0.0), text)
    return parser


def _store(text: str) -> StoreSettings:
    try:
        return StoreSettings.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _integer(least: int, most: int) -> Callable[[str], int]:
    def convert(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{value} is not between {least} and {most}")
        return value

    return convert


def _seconds(least: float) -> Callable[[str], float]:
    def convert(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds") from None
        if not least <= value <= 3600:  # noqa: PLR2004 - an hour; also refuses NaN
            raise argparse.ArgumentTypeError(f"{text} is not between {least} and 3600")
        return value

    return convert


def _one_of(choices: tuple[str, ...]) -> Callable[[str], str]:
    def convert(text: str) -> str:
        if text not in choices:
            raise argparse.ArgumentTypeError(f"{text!r} is not one of {', '.join(choices)}")
        return text

    return convert
