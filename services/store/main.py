"""The command `wirebench-store`: schema and data of a PostgreSQL database, before services use it."""

from __future__ import annotations

import argparse
import os
import sys
import time

import psycopg

from services.domain.stores import postgres_schema
from services.domain.stores.postgres_schema import SchemaError
from services.domain.stores.settings import StoreSettings
from services.platform import store_url
from services.platform.store_url import StoreUrlError

_RETRY_PAUSE_S = 0.5
_WAIT_S_MAX = 3600


def main() -> None:
    """Do what the command line asks for."""
    parser = _parser()
    given = parser.parse_args()
    try:
        url = store_url.read(given.store_url_file, os.environ)
    except StoreUrlError as error:
        parser.error(str(error))
    try:
        applied = _migrate(StoreSettings("postgres", url=url), given.wait_s)
    except (SchemaError, psycopg.Error) as error:
        # Of several lines, libpq's first one says what is wrong.
        sys.exit(f"wirebench-store: {str(error).partition(chr(10))[0]}")
    except KeyboardInterrupt:
        sys.exit(130)
    done = f"applied {', '.join(applied)}" if applied else "nothing to do"
    print(f"wirebench-store: {done}")  # noqa: T201 - what a command is for


def _migrate(settings: StoreSettings, wait_s: float) -> list[str]:
    """Migrate as soon as the server takes connections, within a time."""
    deadline = time.monotonic() + wait_s
    while True:
        try:
            return postgres_schema.migrate(settings)
        except psycopg.OperationalError:
            if time.monotonic() + _RETRY_PAUSE_S > deadline:
                raise
            time.sleep(_RETRY_PAUSE_S)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="wirebench-store", description="Make a PostgreSQL database ready for wirebench's services."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    text = "create or update the tables, and fill new ones with the data that all stores start with"
    migrate = commands.add_parser("migrate", help=text, description=f"{text.capitalize()}. Do it as often as you like.")
    text = f"file that holds the database's URL; without it, the environment variable {store_url.VARIABLE} holds it"
    migrate.add_argument("--store-url-file", default=os.environ.get(f"{store_url.VARIABLE}_FILE"), help=text)
    text = "how long to wait for a server that takes no connections yet (default: 0)"
    migrate.add_argument("--wait-s", type=_seconds, default=0.0, help=text)
    return parser


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds") from None
    if not 0 <= value <= _WAIT_S_MAX:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and {_WAIT_S_MAX}")
    return value


if __name__ == "__main__":
    main()
