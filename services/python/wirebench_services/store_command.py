"""The command `wirebench-store`: the tables of a PostgreSQL database, before services use it."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import psycopg

from wirebench_services.application.stores import schema
from wirebench_services.settings import ENVIRONMENT_PREFIX, read_store_url

_RETRY_PAUSE_S = 0.5


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="wirebench-store", description="Prepare a PostgreSQL database for wirebench's services."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    text = "create or upgrade the tables and fill new ones; it can be repeated"
    migrate = commands.add_parser(
        "migrate", help=text, description=text, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    text = "file with the database's URL; without it, the environment variable WIREBENCH_STORE_URL has it"
    file = os.environ.get(f"{ENVIRONMENT_PREFIX}STORE_URL_FILE")
    migrate.add_argument("--store-url-file", type=Path, default=file and Path(file), help=text)
    users = int(os.environ.get(f"{ENVIRONMENT_PREFIX}SEED_USERS", "10000"))
    migrate.add_argument("--seed-users", type=int, default=users, help="users that a new table starts with")
    migrate.add_argument("--wait-s", type=float, default=0.0, help="how long to wait for a server that is starting")
    given = parser.parse_args()
    try:
        applied = _migrate(read_store_url(given.store_url_file), given.seed_users, given.wait_s)
    except ValueError as error:
        parser.error(str(error))
    except (schema.SchemaError, psycopg.Error) as error:
        # libpq's first line names the problem.
        sys.exit(f"wirebench-store: {str(error).partition(chr(10))[0]}")
    except KeyboardInterrupt:
        sys.exit(130)
    done = f"applied {', '.join(applied)}" if applied else "nothing to do"
    print(f"wirebench-store: {done}")


def _migrate(url: str, seed_users: int, wait_s: float) -> list[str]:
    deadline = time.monotonic() + wait_s
    while True:
        try:
            return schema.migrate(url, seed_users)
        except psycopg.OperationalError:
            if time.monotonic() + _RETRY_PAUSE_S > deadline:
                raise
            time.sleep(_RETRY_PAUSE_S)


if __name__ == "__main__":
    main()
