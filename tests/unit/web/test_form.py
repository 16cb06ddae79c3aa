"""The forms and addresses of the pages, and what the filters leave to be drawn."""

from __future__ import annotations

import pytest

from wirebench.web.pages.form import make_address, make_moment_fields


@pytest.mark.parametrize(
    ("text", "kind"), [("", "date"), ("2026-11-21", "date"), ("2026-11-21T18:00:00.5+02:00", "text")]
)
def test_a_time_is_asked_for_again(text: str, kind: str) -> None:
    """A field of a date can't hold one."""
    made, _ = make_moment_fields([("since", text)])
    assert (kind, text) == (made.kind, made.value)


def test_an_address_keeps_what_it_does_not_change() -> None:
    """Parameters are escaped, replaced, left out and added."""
    pairs = (("scenario", "a&b"), ("cursor", "old"), ("protocol", "rest"))
    assert "/?scenario=a%26b&protocol=rest" == make_address("/", pairs, "cursor")
    assert "/?scenario=a%26b&protocol=rest&cursor=new" == make_address("/", pairs, cursor="new")
    assert "/" == make_address("/", ())
