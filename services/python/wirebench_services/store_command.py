"""The command `wirebench-store`: the tables of a PostgreSQL database, before services use it."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from sqlalchemy import URL
from sqlalchemy.exc import DBAPIError, OperationalError

from wirebench_services.application.stores.tables import create_tables, parse_url
from wirebench_services.settings import ENVIRONMENT_PREFIX, read_store_url

_RETRY_PAUSE_S = 0.5


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="wirebench-store",
        description="Prepare a PostgreSQL database for wirebench's services.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    text = "create the tables that are missing and fill them; it can be repeated"
    parser.add_argument("command", choices=["migrate"], help=text)
    text = "file with the database's URL; without it, the environment variable WIREBENCH_STORE_URL has it"
    file = os.environ.get(f"{ENVIRONMENT_PREFIX}STORE_URL_FILE")
    parser.add_argument("--store-url-file", type=Path, default=file and Path(file), help=text)
    users = int(os.environ.get(f"{ENVIRONMENT_PREFIX}SEED_USERS", "10000"))
    parser.add_argument("--seed-users", type=int, default=users, help="users that a new table starts with")
    parser.add_argument("--wait-s", type=float, default=0.0, help="how long to wait for a server that is starting")
    given = parser.parse_args()
    try:
        created = _migrate(parse_url(read_store_url(given.store_url_file)), given.seed_users, given.wait_s)
    except ValueError as error:
        parser.error(str(error))
    except DBAPIError as error:
        # libpq's first line names the problem.
        sys.exit(f"wirebench-store: {str(error.orig).partition(chr(10))[0]}")
    except KeyboardInterrupt:
        sys.exit(130)
    done = f"created {', '.join(created)}" if created else "nothing to do"
    print(f"wirebench-store: {done}")


def _migrate(url: URL, seed_users: int, wait_s: float) -> list[str]:
    deadline = time.monotonic() + wait_s
    while True:
        try:
            return create_tables(url, seed_users)
        except OperationalError:
            if time.monotonic() + _RETRY_PAUSE_S > deadline:
                raise
            time.sleep(_RETRY_PAUSE_S)


if __name__ == "__main__":
    main()
