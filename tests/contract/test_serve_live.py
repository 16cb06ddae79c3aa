"""`wirebench serve --live`: what the page says of a Prometheus that is absent, slow or anything else."""

from __future__ import annotations

import json
import re
import threading
import time
from http import HTTPStatus
from pathlib import Path

import pytest

from tests.support.fake_prometheus import Reply, answering, show_a_load, succeed
from tests.support.http_servers import QuietHandler
from tests.support.prometheus import started_prometheus
from tests.support.report_run import RunBuilder, cell
from tests.support.waiting import TIMEOUT_S
from tests.support.web import served, serving
from wirebench.present.live_queries import FIGURES, LATENCIES
from wirebench.targets.kubernetes.namespace import name_namespace
from wirebench.web import prometheus as asked
from wirebench.web.pages import live

RUN = "20260101T000000Z-quick"
HOSTILE = '<img src=x onerror="alert(1)">'


def redirect(handler: QuietHandler, path: str, _: dict[str, str]) -> None:
    """Lead somewhere else."""
    handler.answer(302, headers={"Location": f"http://{handler.headers['host']}/elsewhere{path}"})


def flood(handler: QuietHandler, *_: object) -> None:
    """Never end."""
    handler.send_response(200)
    handler.end_headers()
    while True:
        handler.wfile.write(b" " * 65_536)


def drip(handler: QuietHandler, *_: object) -> None:
    """Send a byte now and then, so that no single wait is long."""
    handler.send_response(200)
    handler.end_headers()
    while True:
        handler.wfile.write(b" ")
        time.sleep(0.1)


def hang(*_: object) -> None:
    """Say nothing for longer than the page has time."""
    time.sleep(5)


def reject(handler: QuietHandler, *_: object) -> None:
    """Reject the question, in words of HTML."""
    handler.answer(422, json.dumps({"status": "error", "error": HOSTILE}).encode())


def misunderstand(handler: QuietHandler, *_: object) -> None:
    """Be something else."""
    handler.answer(200, b"<html>welcome</html>")


def give_other_shapes(handler: QuietHandler, path: str, _: dict[str, str]) -> None:
    """Be JSON that has values where there should be series."""
    series = {"resultType": "vector", "result": [{"metric": 3}]}
    handler.answer(200, succeed(["ns"] if path.endswith("/values") else series))


def inject(handler: QuietHandler, path: str, asked_for: dict[str, str]) -> None:
    """Have hostile labels, and values that are no numbers."""
    if path.endswith("/values"):
        handler.answer(200, succeed([HOSTILE]))
        return
    assert 'namespace="<img src=x onerror=\\"alert(1)\\">"' in asked_for["query"]
    series = {"metric": {"transport": HOSTILE, "driver": HOSTILE}}
    if path.endswith("/query"):
        handler.answer(200, succeed({"resultType": "vector", "result": [{**series, "value": [1, "NaN"]}]}))
        return
    points = [[float(asked_for["start"]), "+Inf"], [float(asked_for["end"]), "0.5"]]
    handler.answer(200, succeed({"resultType": "matrix", "result": [{**series, "values": points}]}))


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (redirect, "302 Found"),
        (flood, "an answer has more than 4,000,000 bytes"),
        (drip, "no answer within 2 s"),
        (hang, "timed out"),
        (reject, "422 Unprocessable Entity: &lt;img src=x onerror=&#34;alert(1)&#34;&gt;"),
        (misunderstand, "its answer is not that of a Prometheus"),
        (give_other_shapes, "its answer is not that of a Prometheus"),
        (lambda handler, *_: handler.connection.close(), "127.0.0.1:"),
    ],
)
def test_a_prometheus_that_does_not_answer_as_one_is_a_problem_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reply: Reply, said: str
) -> None:
    """Within the time that a page has, with what to do, whatever is at that address."""
    monkeypatch.setattr(asked, "DEADLINE_S", 2.0 if reply in (drip, hang) else TIMEOUT_S)
    with answering(reply) as url, served(tmp_path, prometheus=url) as site:
        page = site.ask("/live")
        assert HTTPStatus.OK == page.status
        assert said in page.text
        assert "Next: start Prometheus there, or name another by --prometheus URL." in page.text
        assert "<img" not in page.text


def test_labels_of_others_stay_text(tmp_path: Path) -> None:
    """In the page and in PromQL; what is no number is a dash."""
    with answering(inject) as url, served(tmp_path, prometheus=url) as site:
        page = site.ask("/live").text
    assert "<img" not in page
    assert f'<th scope="row">&lt;img src=x onerror=&#34;alert(1)&#34;&gt;</th>{"<td>–</td>" * len(FIGURES)}' in page


def test_what_begins_at_the_same_time_is_all_written(tmp_path: Path) -> None:
    """Two services that are scaled by one command."""

    def scale_both(handler: QuietHandler, path: str, asked_for: dict[str, str]) -> None:
        if "wirebench_scale:info" not in asked_for.get("query", ""):
            show_a_load(handler, path, asked_for)
            return
        points = [[(float(asked_for["start"]) + float(asked_for["end"])) / 2, "1"]]
        names = [{"transport": name, "replicas": "2", "workers": "1"} for name in ("rest", "grpc")]
        result = [{"metric": metric, "values": points} for metric in names]
        handler.answer(200, succeed({"resultType": "matrix", "result": result}))

    with answering(scale_both) as url, served(tmp_path, prometheus=url) as site:
        page = site.ask("/live").text
    assert len(LATENCIES) == page.count("REST 2 × 1; gRPC 2 × 1")


def test_prometheus_is_asked_once_for_all_who_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many look at once, and however often their pages look again."""
    monkeypatch.setattr(live, "_KEPT_S", TIMEOUT_S)
    questions: list[str] = []

    def count(handler: QuietHandler, path: str, asked_for: dict[str, str]) -> None:
        questions.append(path)
        give_nothing(handler, path, asked_for)

    with answering(count) as url, served(tmp_path, prometheus=url) as site:
        threads = [threading.Thread(target=site.ask, args=("/live",)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert 1 == sum(path.endswith("/values") for path in questions)


def give_nothing(handler: QuietHandler, path: str, _: dict[str, str]) -> None:
    """Have a namespace, and nothing recorded of it."""
    kind = "vector" if path.endswith("/query") else "matrix"
    handler.answer(200, succeed(["ns"] if path.endswith("/values") else {"resultType": kind, "result": []}))


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ((), "load the recording rules grafana/rules/wirebench.yaml into Prometheus"),
        ((("namespace", "other"),), "Prometheus has nothing of the namespace other in this time"),
    ],
)
def test_what_is_missing_is_named(tmp_path: Path, query: tuple[tuple[str, str], ...], said: str) -> None:
    """Rules that aren't loaded, or a namespace that isn't there."""
    with answering(give_nothing) as url, served(tmp_path, prometheus=url) as site:
        assert said in site.ask("/live", query).text
        assert HTTPStatus.BAD_REQUEST == site.ask("/live", (("range", "1y"),)).status


def test_a_prometheus_without_load_says_how_to_send_one(tmp_path: Path) -> None:
    """One that is real, and has just been started."""
    with started_prometheus([], tmp_path) as url, served(tmp_path, prometheus=url) as site:
        page = site.ask("/live").text
    assert "Prometheus has seen neither services nor load in this time. Next: send a load" in page


def test_the_command_shows_live_metrics_where_it_is_asked_to(tmp_path: Path) -> None:
    """Without --live the page says how; an address that is invalid, or that nothing asks, is rejected at the start."""
    with serving(tmp_path) as (_, site):
        assert "Next: start it with --live: wirebench serve --live --prometheus URL." in site.ask("/live").text
    with serving(tmp_path, "--live", "--prometheus", "http://127.0.0.1:1") as (process, site):
        assert process.stdout is not None
        assert f"live metrics of http://127.0.0.1:1 at {site.url}live\n" == process.stdout.readline()
        assert "http://127.0.0.1:1: [Errno 111] Connection refused" in site.ask("/live").text
    for options in (["--live", "--prometheus", "file:///etc/passwd"], ["--prometheus", "http://127.0.0.1:1"]):
        with pytest.raises(AssertionError), serving(tmp_path, *options):
            pass


def test_a_run_and_its_dashboards_lead_to_each_other(tmp_path: Path) -> None:
    """From Grafana by the run's namespace, to Grafana by its namespace and its time."""
    RunBuilder(cells=[cell("rest")], blocks=1, samples=20, info={"id": RUN}).write(tmp_path)
    namespace = name_namespace(RUN)
    with served(tmp_path, grafana="http://127.0.0.1:3000") as site:
        answer = site.ask(f"/runs/{namespace}")
        assert (HTTPStatus.SEE_OTHER, f"/runs/{RUN}") == (answer.status, answer.headers["location"])
        assert HTTPStatus.NOT_FOUND == site.ask("/runs/wirebench-other").status
        page = site.ask(f"/runs/{RUN}").text
    link = rf'href="http://127.0.0.1:3000/d/wirebench-transports\?var-namespace={namespace}&amp;from=\d{{13}}&amp;to=\d{{13}}"'
    assert re.search(link, page)
    with served(tmp_path) as site:
        assert "wirebench-transports" not in site.ask(f"/runs/{RUN}").text


@pytest.mark.parametrize(("shown", "began_s_ago", "listed"), [("6h", 1000, 1), ("15m", 893, 1), ("15m", 905, 0)])
def test_an_event_is_listed_once_if_it_began_in_the_range(
    shown: str, began_s_ago: int, listed: int, tmp_path: Path
) -> None:
    """A change of scale has a value for ten seconds, and an alert for as long as it fires."""

    def reply(handler: QuietHandler, path: str, given: dict[str, str]) -> None:
        labels = {"transport": "rest", "alertname": "Slow", "replicas": "2", "workers": "1"}
        if path.endswith("/values"):
            handler.answer(200, succeed(["wirebench"]))
            return
        if path.endswith("/query"):
            found = {"resultType": "vector", "result": [{"metric": labels, "value": [1, "0.002"]}]}
            handler.answer(200, succeed(found))
            return
        start_s, end_s, step_s = (float(given[name]) for name in ("start", "end", "step"))
        since_s, asked_for = end_s - began_s_ago, given["query"]
        length_s = 1000 if "ALERTS" in asked_for else 10 if "wirebench_scale:info" in asked_for else 0
        times_s = [start_s + number * step_s for number in range(int((end_s - start_s) // step_s) + 1)]
        values = [[at_s, "1"] for at_s in times_s if since_s <= at_s < since_s + length_s]
        series = [{"metric": labels, "values": values}] if values else []
        handler.answer(200, succeed({"resultType": "matrix", "result": series}))

    with answering(reply) as url, served(tmp_path, prometheus=url) as site:
        page = site.ask("/live", (("range", shown),)).text
    assert (listed, listed) == (page.count("UTC Slow REST"), page.count("UTC REST 2 × 1"))
