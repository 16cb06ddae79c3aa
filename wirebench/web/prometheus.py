"""Asks a Prometheus, which may be absent, slow, or anything else that answers there."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode

import orjson

from wirebench.errors import WirebenchError
from wirebench.system.http import build_direct_opener

#: For all questions of one page together; pages wait for longer than twice that.
DEADLINE_S = 5.0
#: An answer of all that a page shows has some 100 KB.
ANSWER_BYTES_MAX = 4_000_000
SERIES_MAX = 100
_CHUNK_BYTES = 65_536
_SAID_CHARACTERS_MAX = 300


class PrometheusError(WirebenchError):
    """A Prometheus gave no answer that can be used."""


_OPENER = build_direct_opener()


@dataclass(frozen=True, slots=True)
class TimeSeries:
    """Labels, and (Unix time in seconds, value); an instant has one."""

    labels: Mapping[str, str]
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Prometheus:
    """Where it is, and by when (on the monotonic clock) it has to have answered."""

    url: str
    deadline_s: float

    @classmethod
    def ask(cls, url: str) -> Prometheus:
        """Begin to ask: all answers have to be there in time."""
        return cls(url, time.monotonic() + DEADLINE_S)

    def list_values(self, label: str, selector: str, start_s: float, end_s: float) -> list[str]:
        """Return the values of a label among series. Raises PrometheusError."""
        data = self._get(f"label/{label}/values", {"match[]": selector, "start": start_s, "end": end_s})
        if not isinstance(data, list) or not all(isinstance(value, str) for value in data):
            raise self._make_invalid_answer()
        return data[:SERIES_MAX]

    def query(self, expr: str, at_s: float) -> list[TimeSeries]:
        """Return what PromQL gives at a time. Raises PrometheusError."""
        return self._read_series(self._get("query", {"query": expr, "time": at_s}), "vector")

    def query_range(self, expr: str, start_s: float, end_s: float, step_s: float) -> list[TimeSeries]:
        """Return what PromQL gives over a time range. Raises PrometheusError."""
        parameters = {"query": expr, "start": start_s, "end": end_s, "step": step_s}
        return self._read_series(self._get("query_range", parameters), "matrix")

    def _read_series(self, data: Any, kind: str) -> list[TimeSeries]:  # noqa: ANN401 - any JSON
        try:
            if data["resultType"] != kind:
                raise self._make_invalid_answer()
            return [
                TimeSeries(
                    {str(name): str(value) for name, value in each["metric"].items()},
                    tuple((float(at_s), float(value)) for at_s, value in each.get("values") or [each["value"]]),
                )
                for each in data["result"][:SERIES_MAX]
            ]
        except (KeyError, TypeError, ValueError, AttributeError):
            raise self._make_invalid_answer() from None

    def _get(self, path: str, parameters: Mapping[str, object]) -> Any:  # noqa: ANN401 - any JSON
        address = f"{self.url}/api/v1/{path}?{urlencode(parameters)}"
        try:
            with _OPENER.open(address, timeout=self._compute_left_s()) as response:
                answer = orjson.loads(self._read(response))
        except HTTPError as error:
            raise self._describe_status(error) from None
        except orjson.JSONDecodeError:
            raise self._make_invalid_answer() from None
        except (OSError, HTTPException, ValueError) as error:
            reason = getattr(error, "reason", "") or error
            raise self._fail("timed out" if isinstance(reason, TimeoutError) else str(reason)) from None
        if not isinstance(answer, dict) or answer.get("status") != "success":
            raise self._make_invalid_answer()
        return answer.get("data")

    def _read(self, response: HTTPResponse) -> bytes:
        """Read an answer however slowly its bytes come, within twice the deadline, unless it is too long."""
        parts: list[bytes] = []
        size = 0
        while part := response.read1(_CHUNK_BYTES):
            size += len(part)
            if size > ANSWER_BYTES_MAX:
                raise self._fail(f"an answer has more than {ANSWER_BYTES_MAX:,} bytes")
            self._compute_left_s()
            parts.append(part)
        return b"".join(parts)

    def _compute_left_s(self) -> float:
        left_s = self.deadline_s - time.monotonic()
        if left_s <= 0:
            raise self._fail(f"no answer within {DEADLINE_S:g} s")
        return left_s

    def _describe_status(self, error: HTTPError) -> PrometheusError:
        """Say what Prometheus says of a question that it rejects, in a JSON of its own."""
        said = ""
        with contextlib.suppress(OSError, HTTPException, ValueError, AttributeError):
            said = str(orjson.loads(error.read(_CHUNK_BYTES)).get("error", ""))[:_SAID_CHARACTERS_MAX]
        return self._fail(f"{error.code} {error.reason}{said and f': {said}'}")

    def _make_invalid_answer(self) -> PrometheusError:
        return self._fail("its answer is not that of a Prometheus")

    def _fail(self, reason: str) -> PrometheusError:
        return PrometheusError(f"{self.url}: {reason}", "start Prometheus there, or name another by --prometheus URL")
