"""Cursors: where a page has ended, by the values of its last row, so that rows that are added move nothing."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Literal, TypeVar

import orjson
from pydantic import AwareDatetime, Field, TypeAdapter, ValidationError

from wirebench.errors import UsageError

Whole = Annotated[int, Field(ge=-(2**31), lt=2**31)]
#: The start and the name of the run, and the cell's place in it.
AfterResult = tuple[Literal["result"], AwareDatetime, str, str, Whole, str]
AfterRun = tuple[Literal["run"], AwareDatetime, str]

After = TypeVar("After", AfterResult, AfterRun)

_LENGTH_MAX = 4096


def write(after: After) -> str:
    """Return a cursor, which is opaque and fit for an address."""
    return base64.urlsafe_b64encode(orjson.dumps(after)).decode().rstrip("=")


def read(cursor: str, kind: TypeAdapter[After]) -> After:
    """Return where a page goes on. Raises UsageError if no page of this kind has given the cursor."""
    try:
        padded = cursor[:_LENGTH_MAX] + "=" * (-len(cursor) % 4)
        return kind.validate_json(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, binascii.Error, ValidationError):
        hint = "take next_cursor of the page before, or none for the first page"
        raise UsageError("cursor: no page of this list has given it", hint) from None
