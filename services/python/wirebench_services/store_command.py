"""The command `wirebench-store`: the tables of a PostgreSQL database, before services use it."""

import signal
import sys
import time


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends the command without a traceback, also during imports
    from sqlalchemy.exc import DBAPIError, OperationalError  # noqa: PLC0415

    from wirebench_services.application.stores.tables import create_tables  # noqa: PLC0415
    from wirebench_services.settings import SettingsError, StoreSettings, read_settings, read_store_url  # noqa: PLC0415

    try:
        given = read_settings(StoreSettings, sys.argv[1:])
        url = read_store_url(given.store_url_file)
    except (SettingsError, ValueError) as error:
        print(f"wirebench-store: error: {error}", file=sys.stderr)
        sys.exit(2)
    deadline_s = time.monotonic() + given.wait_s
    while True:
        try:
            created = create_tables(url, given.seed_users)
        except DBAPIError as error:
            if not isinstance(error, OperationalError) or time.monotonic() > deadline_s:
                # libpq's first line names the problem.
                sys.exit(f"wirebench-store: {str(error.orig).partition(chr(10))[0]}")
            time.sleep(0.5)
        else:
            print("wirebench-store:", f"created {', '.join(created)}" if created else "nothing to do")
            return
