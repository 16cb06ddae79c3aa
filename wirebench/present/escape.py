"""Texts that others have stored, written so that they steer neither a terminal nor what shows Markdown."""

from __future__ import annotations

import re

#: What Markdown, GitHub or GitLab would act on. A colon or a dot matters in what becomes a link by itself.
_MARKDOWN = re.compile(r"[\\`*_\[\]<>&|~#@$]|:(?=//)|(?<=www)\.", re.IGNORECASE)
#: Names of people and numbers of issues become links after all else: a space of no width keeps them from it.
_REFERENCES = "@#"


def escape_controls(text: str) -> str:
    """Return the text with control characters escaped: what others have stored must not steer our terminal."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode("ascii") for each in text)


def escape_markdown(text: str) -> str:
    """Return one line of Markdown that shows the text as it is.

    An entity is text and never markup, also in a table: https://spec.commonmark.org/0.31.2/#entity-references.
    """
    return _MARKDOWN.sub(_make_entity, escape_controls(text))


def _make_entity(found: re.Match[str]) -> str:
    return f"&#{ord(found[0])};{'&#8203;' if found[0] in _REFERENCES else ''}"
