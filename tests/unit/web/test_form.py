"""Addresses of the pages."""

from __future__ import annotations

from wirebench.web.pages.form import make_address


def test_an_address_keeps_what_it_does_not_change() -> None:
    """Parameters are escaped, replaced, left out and added."""
    pairs = (("scenario", "a&b"), ("cursor", "old"), ("protocol", "rest"))
    assert "/?scenario=a%26b&protocol=rest" == make_address("/", pairs, "cursor")
    assert "/?scenario=a%26b&protocol=rest&cursor=new" == make_address("/", pairs, cursor="new")
    assert "/" == make_address("/", ())
