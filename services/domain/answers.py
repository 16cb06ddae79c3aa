"""What a store answers with: a value, or, from an asynchronous store, something to await for it."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeAlias, TypeVar

T = TypeVar("T")
Answer: TypeAlias = T | Awaitable[T]
