"""Options that change keys of a scenario before it is checked, such as `--concurrency 64` or `--set blocks=3`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from wirebench.errors import UsageError
from wirebench.model.source import FieldPath, Source, dump_yaml, join_field, parse_value

#: Keys, from a section to a key in it.
KeyPath = tuple[str, ...]

_RATE: KeyPath = ("factors", "rate_per_s")
#: Options that change these leave a cross-check without the cells that it was written for.
_CHECKED = (_RATE, *(("factors", name) for name in ("driver", "transport", "operation", "concurrency")))
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
    changing = {each.at: each for each in overrides if _find(data, each.at) != each.value}
    for each in _list_consequences(new, changing, [each.at for each in overrides]):
        new = _set(new, each, source.name)
        options[each.at] = each.option
    if not changing:
        return data, source
    text = dump_yaml(new, default_flow_style=None, width=_LINE_CHARACTERS_MAX)
    return new, replace(source, text=text, options=options, overrides=tuple(each.option for each in changing.values()))


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


def _list_consequences(
    data: Mapping[str, Any], changing: Mapping[KeyPath, Override], given: Sequence[KeyPath]
) -> Iterator[Override]:
    """Yield what fits the new values no more, except what options set."""
    changes: list[tuple[Override | None, KeyPath, str | None]] = [
        (next((changing[at] for at in _CHECKED if at in changing), None), ("cross_check",), None)
    ]
    if _find(data, ("load", "model")) in (None, "closed"):
        changes.append((changing.get(_RATE), ("load", "model"), "open"))
    compared = changing.get(("factors", str(data.get("compare"))))
    if compared and not isinstance(compared.value, list | dict):
        changes.append((compared, ("compare",), None))
    for cause, at, value in changes:
        is_given = any(at == other[: len(at)] or other == at[: len(other)] for other in given)
        if cause and not is_given and (value or at[0] in data):
            yield Override(cause.option, at, value)
