"""Options that change keys of a scenario before it is checked, such as `--concurrency 64` or `--set blocks=3`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from wirebench.errors import UsageError
from wirebench.model.source import FieldPath, Source, dump_yaml, join_field, parse_value

#: Keys, from a section to a key in it.
KeyPath = tuple[str, ...]

_RATE: KeyPath = ("factors", "rate_per_s")
_DRIVER: KeyPath = ("factors", "driver")
_MODEL: KeyPath = ("load", "model")
_CROSS_CHECK: KeyPath = ("cross_check",)
_COMPARE: KeyPath = ("compare",)
_LINE_CHARACTERS_MAX = 120


@dataclass(frozen=True, slots=True)
class Override:
    """A key, its new value, and the option that sets it. None removes the key."""

    option: str
    at: KeyPath
    value: Any


def parse_override(option: str, at: KeyPath, text: str) -> Override:
    """Return the override that an option makes of a text: a YAML value, or several with commas between them.

    Raises UsageError.
    """
    try:
        return Override(option, at, parse_value(text))
    except ValueError as error:
        raise UsageError(f"{option}: {error}", "write one YAML value, or several: 1,2") from None


def parse_assignment(text: str) -> Override:
    """Return the override of `--set PATH=VALUE`. Raises UsageError."""
    path, equals, value = text.partition("=")
    at = tuple(path.strip().split("."))
    if not (equals and all(at)):
        raise UsageError(f"--set {text}: not a key and its value", "write it like --set factors.workers=1,2")
    return parse_override(f"--set {text}", at, value)


def apply_overrides(
    data: dict[str, Any], source: Source, overrides: Sequence[Override]
) -> tuple[dict[str, Any], Source]:
    """Return a scenario's data with overrides applied, and its source, which names the options. Raises UsageError.

    Keys that only fitted the old values change with them: docs/scenarios.md.
    """
    new, options = data, dict[FieldPath, str]()
    for each in overrides:
        if each.value is None and _find(new, each.at) is None:
            hint = "remove the option, or correct it"
            raise UsageError(f"{each.option}: {join_field(each.at)} isn't set in {source.name}", hint)
        new = _set(new, each, source.name)
        options[each.at] = each.option
    for each in _list_consequences(new, {each.at: each for each in overrides}):
        new = _set(new, each, source.name)
        options[each.at] = each.option
    changes = tuple(_describe_changes(data, new))
    if not changes:
        return data, source
    text = dump_yaml(new, default_flow_style=None, width=_LINE_CHARACTERS_MAX)
    return new, replace(source, text=text, options=options, overrides=changes)


def _find(data: Any, at: KeyPath) -> Any:  # noqa: ANN401 - any YAML
    """Return what a key is set to; None if it isn't set."""
    for name in at:
        data = data.get(name) if isinstance(data, dict) else None
    return data


def _set(data: Mapping[str, Any], override: Override, name: str, place: int = 0) -> dict[str, Any]:
    """Return data with a key set or removed; sections are copied, as YAML aliases may share them. Raises UsageError."""
    key, *inner = override.at[place:]
    section = data.get(key)
    if not inner:
        new = {**data, key: override.value}
        return {each: value for each, value in new.items() if each != key or value is not None}
    if not isinstance(section, dict | None):
        whole = join_field(override.at[: place + 1])
        hint = f"set all of it: --set '{whole}={{{inner[0]}: …}}'"
        raise UsageError(f"{override.option}: {whole} has no keys in {name}", hint)
    return {**data, key: _set(section or {}, override, name, place + 1)}


def _list_consequences(data: Mapping[str, Any], given: Mapping[KeyPath, Override]) -> Iterator[Override]:
    """Yield what fits the new values no more, except what options set."""

    def is_free(at: KeyPath) -> bool:
        return not any(at == other[: len(at)] or other == at[: len(other)] for other in given)

    is_rated = _RATE in given and _find(data, _MODEL) in (None, "closed")
    if is_rated and is_free(_MODEL):
        yield Override(given[_RATE].option, _MODEL, "open")
    if _CROSS_CHECK[0] in data and given and is_free(_CROSS_CHECK):
        cause = given.get(_DRIVER) or (given[_RATE] if is_rated else None)
        if cause is None and not _checks_any(data):
            cause = next(iter(given.values()))
        if cause:
            yield Override(cause.option, _CROSS_CHECK, None)
    compared = ("factors", str(data.get("compare")))
    if compared in given and is_free(_COMPARE) and len(_list_levels(_find(data, compared))) == 1:
        yield Override(given[compared].option, _COMPARE, None)


def _checks_any(data: Mapping[str, Any]) -> bool:
    """Return whether a cross-check may have cells left: of its transports, operations and concurrencies."""
    transports = _list_levels(_find(data, ("factors", "transport")))
    drivers = _find(data, (*_CROSS_CHECK, "driver"))
    if isinstance(drivers, dict) and not drivers.keys() & set(map(str, transports)):
        return False
    for name in ("operation", "concurrency"):
        measured, checked = _find(data, ("factors", name)), _find(data, (*_CROSS_CHECK, name))
        if measured and checked and not any(level in _list_levels(measured) for level in _list_levels(checked)):
            return False
    return True


def _list_levels(value: Any) -> list[Any]:  # noqa: ANN401 - any YAML
    if isinstance(value, dict):
        return list(itertools.chain.from_iterable(map(_list_levels, value.values())))
    return value if isinstance(value, list) else [value]


def _describe_changes(before: Mapping[str, Any], after: Mapping[str, Any], at: KeyPath = ()) -> Iterator[str]:
    for key in dict.fromkeys((*before, *after)):
        old, new = before.get(key), after.get(key)
        if old is new:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            yield from _describe_changes(old, new, (*at, key))
        elif old != new or type(old) is not type(new):
            yield f"{join_field((*at, key))} {_describe(old)} -> {_describe(new)}"


def _describe(value: Any) -> str:  # noqa: ANN401 - any YAML
    if value is None:
        return "unset"
    if isinstance(value, list):
        return ", ".join(map(_describe, value))
    if isinstance(value, dict):
        return "{" + "; ".join(f"{key}: {_describe(each)}" for key, each in value.items()) + "}"
    return str(value)
