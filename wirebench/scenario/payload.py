"""How large what an operation sends, or asks for, is: names and numbers that the application file has values for."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator

from wirebench.model.application import builtin

#: What a payload of base64 in JSON may come to under the services' limit of 4 MiB.
BYTES_MAX = 3_000_000


def _known(value: Any) -> Any:  # noqa: ANN401 - untrusted
    names = builtin().payloads
    if value in names or (isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= BYTES_MAX):
        return value
    raise ValueError(f"must be one of {', '.join(names)}, or a number of bytes or users up to {BYTES_MAX:,}")


Payload = Annotated[str | int, BeforeValidator(_known)]
