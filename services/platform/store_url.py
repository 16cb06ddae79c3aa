"""The URL of a store that is a server: a secret, from the environment or from a file, and never by a flag."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from services.domain.stores.postgres_connection import check_url

VARIABLE = "WIREBENCH_STORE_URL"


class StoreUrlError(Exception):
    """A URL that is missing or none; the message names the next step, and quotes nothing."""


def read(file: str | None, environment: Mapping[str, str]) -> str:
    """Return the URL that the file holds, or else the environment variable. Raises StoreUrlError."""
    if file:
        source = file
        try:
            url = Path(file).read_text().strip()
        except (OSError, UnicodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no text"
            raise StoreUrlError(
                f"--store-url-file: can't read {file}: {reason}; name a file that this user may read"
            ) from None
    else:
        source, url = VARIABLE, environment.get(VARIABLE, "")
    if not url:
        raise StoreUrlError(
            f"the store postgres needs a URL: set {VARIABLE}=postgresql://USER:PASSWORD@HOST:PORT/DATABASE, "
            "or name a file that holds it with --store-url-file"
        )
    try:
        check_url(url)
    except ValueError as error:
        raise StoreUrlError(f"{source}: {error}") from None
    return url
