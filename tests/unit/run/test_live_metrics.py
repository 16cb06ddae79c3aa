"""Live metrics: which Prometheus takes them."""

from __future__ import annotations

import re
from http.server import HTTPServer

import pytest

from tests.support.http_servers import QuietHandler, serving
from wirebench.errors import UsageError
from wirebench.run.live_metrics import check_receiver, parse_base_url


def test_a_receiver_that_is_off_is_told_in_its_own_words() -> None:
    """A run is rejected before it starts."""

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            self.answer(404, b"otlp write receiver is off")

    with serving(HTTPServer(("127.0.0.1", 0), Handler)) as address:
        said = f"http://{address}/api/v1/otlp/v1/metrics: 404: otlp write receiver is off"
        with pytest.raises(UsageError, match=re.escape(f"can't push live metrics: {said}")):
            check_receiver(f"http://{address}")


def test_the_url_of_a_prometheus_is_its_base() -> None:
    """A path in front of the API may be part of it; a slash at its end is not."""
    assert "http://127.0.0.1:9090" == parse_base_url("http://127.0.0.1:9090/", "Prometheus")
    assert "https://metrics.example/prometheus" == parse_base_url("https://metrics.example/prometheus", "Prometheus")


@pytest.mark.parametrize(
    "text", ["", "localhost:9090", "127.0.0.1", "ftp://a", "http://", "http://a?b=c", "http://u:p@a", "http://[::1"]
)
def test_what_is_no_url_of_a_prometheus_is_rejected(text: str) -> None:
    """Passwords too: a run's files and messages would repeat them, and so must not the error."""
    with pytest.raises(UsageError) as error:
        parse_base_url(text, "Prometheus")
    assert "u:p" not in error.value.message
