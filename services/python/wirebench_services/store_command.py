"""The command `wirebench-store`: the tables of a PostgreSQL database, before services use it."""

import argparse
import os
import signal
import sys
import time
from pathlib import Path

_RETRY_PAUSE_S = 0.5


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends the command without a traceback, also during imports
    parser = argparse.ArgumentParser(
        prog="wirebench-store",
        description="Prepare a PostgreSQL database for wirebench's services.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    text = "create the tables that are missing and fill them; it can be repeated"
    parser.add_argument("command", choices=["migrate"], help=text)
    text = "file with the database's URL; without it, the environment variable WIREBENCH_STORE_URL has it"
    file = os.environ.get("WIREBENCH_STORE_URL_FILE")
    parser.add_argument("--store-url-file", type=Path, default=file and Path(file), help=text)
    users = os.environ.get("WIREBENCH_SEED_USERS", "10000")
    parser.add_argument("--seed-users", type=int, default=users, help="users that a new table starts with")
    parser.add_argument("--wait-s", type=float, default=0.0, help="how long to wait for a server that is starting")
    given = parser.parse_args()
    try:
        created = migrate(given.store_url_file, given.seed_users, time.monotonic() + given.wait_s)
    except ValueError as error:
        parser.error(str(error))
    print("wirebench-store:", f"created {', '.join(created)}" if created else "nothing to do")


def migrate(url_file: Path | None, seed_users: int, deadline_s: float) -> list[str]:
    """Create the tables that are missing, and return their names. Raises ValueError; ends the process without them."""
    from sqlalchemy.exc import DBAPIError, OperationalError  # noqa: PLC0415

    from wirebench_services.application.stores.tables import create_tables  # noqa: PLC0415
    from wirebench_services.settings import read_store_url  # noqa: PLC0415

    url = read_store_url(url_file)
    while True:
        try:
            return create_tables(url, seed_users)
        except DBAPIError as error:
            if not isinstance(error, OperationalError) or time.monotonic() + _RETRY_PAUSE_S > deadline_s:
                # libpq's first line names the problem.
                sys.exit(f"wirebench-store: {str(error.orig).partition(chr(10))[0]}")
            time.sleep(_RETRY_PAUSE_S)


if __name__ == "__main__":
    main()
