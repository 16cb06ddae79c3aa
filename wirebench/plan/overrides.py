"""Options that change keys of a scenario before it is checked, such as `--concurrency 64` or `--set blocks=3`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import yaml

from wirebench.errors import UsageError
from wirebench.model.contract import OPEN_LOAD_DRIVERS, TRANSPORTS
from wirebench.model.scenario import locate_factor
from wirebench.model.source import FieldPath, Source, join_field, parse_value

#: Keys, from a section to a key in it.
KeyPath = tuple[str, ...]

_TRANSPORT: KeyPath = ("factors", "transport")
_RATE: KeyPath = ("factors", "rate_per_s")
_DRIVER: KeyPath = ("factors", "driver")
_OPERATION: KeyPath = ("factors", "operation")
_MODEL: KeyPath = ("load", "model")
_WORKLOADS: KeyPath = ("load", "workloads")
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
    editor = _Editor(source.name, data, frozenset(each.at for each in overrides))
    for each in overrides:
        editor.set(each.option, each.at, each.value)
    editor.adapt()
    changes = tuple(_describe_changes(data, editor.data))
    if not changes:
        return data, source
    text = yaml.safe_dump(
        editor.data, sort_keys=False, default_flow_style=None, allow_unicode=True, width=_LINE_CHARACTERS_MAX
    )
    return editor.data, replace(source, text=text, options=editor.options, overrides=changes)


@dataclass(slots=True)
class _Editor:
    """A scenario's data while it is changed. Sections are copied before: YAML aliases may share them."""

    name: str
    data: dict[str, Any]
    #: The fields that options name.
    given: frozenset[KeyPath]
    #: The option that has set a field, or has caused its change.
    options: dict[FieldPath, str] = field(default_factory=dict)

    def set(self, option: str, at: KeyPath, value: Any) -> None:  # noqa: ANN401 - any YAML
        """Set a key, or remove it. Raises UsageError if that can't be done."""
        *sections, key = at
        if value is None and self.find(at) is None:
            raise UsageError(f"{option}: {join_field(at)} isn't set in {self.name}", "remove the option, or correct it")
        self.data = section = dict(self.data)
        for place, name in enumerate(sections, start=1):
            inner = section.get(name, {})
            if not isinstance(inner, dict | None):
                whole = join_field(at[:place])
                hint = f"set all of it: --set '{whole}={{{at[place]}: …}}'"
                raise UsageError(f"{option}: {whole} has no keys in {self.name}", hint)
            section[name] = section = dict(inner or {})
        if value is None:
            del section[key]
        else:
            section[key] = value
        self.options[at] = option

    def find(self, at: KeyPath) -> Any:  # noqa: ANN401 - any YAML
        """Return what a key is set to; None if it isn't set."""
        found: Any = self.data
        for name in at:
            found = found.get(name) if isinstance(found, dict) else None
        return found

    def adapt(self) -> None:
        """Change the keys that fit the new values no more, except those that options set."""
        if self._is_changed(_RATE) and self.find(_MODEL) in (None, "closed"):
            self._set_for(_RATE, _MODEL, "open")
            self._adapt_cross_check(_RATE, "driver", OPEN_LOAD_DRIVERS.__contains__)
        if self._is_changed(_DRIVER):
            self._remove_for(_DRIVER, _CROSS_CHECK)
        if self._is_changed(_TRANSPORT):
            self._remove_other_transports()
        if self._is_changed(_OPERATION):
            self._remove_unused_workloads()
        for name in ("operation", "concurrency"):
            factor = ("factors", name)
            if self._is_changed(factor):
                self._adapt_cross_check(factor, name, _list_levels(self.find(factor)).__contains__)
        compared = tuple(map(str, locate_factor(str(self.find(_COMPARE)))))
        if self._is_changed(compared) and len(_list_levels(self.find(compared))) == 1:
            self._remove_for(compared, _COMPARE)

    def _is_changed(self, at: KeyPath) -> bool:
        return at in self.options and self.find(at) is not None

    def _set_for(self, cause: KeyPath, at: KeyPath, value: Any) -> None:  # noqa: ANN401 - any YAML
        """Set a key on behalf of the option that set another one, unless an option sets it."""
        if not any(at == given[: len(at)] or given == at[: len(given)] for given in self.given):
            self.set(self.options[cause], at, value)

    def _remove_for(self, cause: KeyPath, at: KeyPath) -> None:
        if self.find(at) is not None:
            self._set_for(cause, at, None)

    def _list_keys(self, at: KeyPath) -> list[str]:
        found = self.find(at)
        return list(found) if isinstance(found, dict) else []

    def _remove_other_transports(self) -> None:
        measured = _list_levels(self.find(_TRANSPORT))
        for section in (("factors",), ("factors", "network"), _CROSS_CHECK):
            for name in self._list_keys(section):
                factor = (*section, name)
                transports = self._list_keys(factor)
                if not transports or not set(transports) <= TRANSPORTS.keys():
                    continue
                for transport in transports:
                    if transport not in measured:
                        self._remove_for(_TRANSPORT, (*factor, transport))
                if not self._list_keys(factor):
                    self._remove_for(_TRANSPORT, _CROSS_CHECK if section == _CROSS_CHECK else factor)

    def _remove_unused_workloads(self) -> None:
        asked = _list_levels(self.find(_OPERATION))
        for name in self._list_keys(_WORKLOADS):
            if name not in asked:
                self._remove_for(_OPERATION, (*_WORKLOADS, name))

    def _adapt_cross_check(self, cause: KeyPath, name: str, keep: Callable[[Any], bool]) -> None:
        """Keep some levels of a key of the cross-check; without any of them, remove the cross-check."""
        at = (*_CROSS_CHECK, name)
        if self.find(at) is not None:
            self._keep_levels(cause, at, keep)
            if self.find(at) is None:
                self._remove_for(cause, _CROSS_CHECK)

    def _keep_levels(self, cause: KeyPath, at: KeyPath, keep: Callable[[Any], bool]) -> None:
        if transports := self._list_keys(at):
            for transport in transports:
                self._keep_levels(cause, (*at, transport), keep)
            if not self._list_keys(at):
                self._remove_for(cause, at)
            return
        levels = _list_levels(self.find(at))
        kept = [level for level in levels if keep(level)]
        if not kept:
            self._remove_for(cause, at)
        elif kept != levels:
            self._set_for(cause, at, kept)


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
