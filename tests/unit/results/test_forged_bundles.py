"""Bundles that are damaged, forged or no bundles at all are rejected, whole and with the reason."""

from __future__ import annotations

import base64
import gzip
import json
import struct
import tarfile
import tempfile
import tracemalloc
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.bundles import (
    RUN,
    Part,
    import_bytes,
    packed,
    parts_of,
    with_attachment,
    with_content,
    with_json,
    with_manifest,
)
from tests.support.report_run import GENERATOR_GATE
from wirebench.errors import UsageError
from wirebench.model.record import Latency
from wirebench.results.runs import Run

#: A distribution that no window has.
DESCENDING = dict.fromkeys(Latency.model_fields, 1.0) | {"count": 1, "p99_ms": 0.5}

Forge = Callable[[list[Part]], list[Part]]
#: A place in a bundle, but for its length.
ANYWHERE = st.integers(0, 2**31)


def draw_nothing(_run: Run, path: Path) -> Path:
    """Write no report: drawing takes longer than all the checks."""
    return path


def explain_rejection(bundle: bytes) -> str:
    """Return why a bundle is rejected; see that nothing of it is in the results."""
    with tempfile.TemporaryDirectory() as results:
        with pytest.raises(UsageError) as error:
            import_bytes(bundle, Path(results))
        assert [] == list(Path(results).iterdir())
    assert error.value.hint
    return error.value.message


@settings(deadline=None, max_examples=100)
@given(place=ANYWHERE | st.integers(0, 20), change=st.integers(1, 255))
def test_no_flipped_byte_gets_in(shared: tuple[Run, bytes], place: int, change: int) -> None:
    """Any byte: it is rejected whole, or unpacks to the same: by a field of gzip's header, or a copy of equal bytes."""
    run, bundle = shared
    place %= len(bundle)
    flipped = bytearray(bundle)
    flipped[place] ^= change
    with tempfile.TemporaryDirectory() as name:
        results = Path(name)
        try:
            back = import_bytes(bytes(flipped), results, draw_nothing)
        except UsageError as error:
            assert error.message.startswith("theirs.tar.gz: ")  # noqa: PT017 - either outcome is right
            assert [] == list(results.iterdir())
        else:
            assert gzip.decompress(bundle) == gzip.decompress(bytes(flipped))
            assert run.records == back.records


@settings(deadline=None, max_examples=40)
@given(place=ANYWHERE)
def test_no_part_of_a_bundle_gets_in(shared: tuple[Run, bytes], place: int) -> None:
    """Wherever it is cut off."""
    assert "theirs.tar.gz: it is" in explain_rejection(shared[1][: place % len(shared[1])])


@settings(deadline=None, max_examples=40)
@given(place=ANYWHERE, change=st.integers(1, 255))
def test_no_flipped_byte_of_what_is_packed_gets_in(shared: tuple[Run, bytes], place: int, change: int) -> None:
    """Packed again, so that gzip's checksum is right: what still gets in is the run to the byte, and nothing else."""
    run, bundle = shared
    plain = bytearray(gzip.decompress(bundle))
    plain[place % len(plain)] ^= change
    with tempfile.TemporaryDirectory() as results:
        try:
            back = import_bytes(gzip.compress(bytes(plain), 1), Path(results), draw_nothing)
        except UsageError:
            assert [] == list(Path(results).iterdir())
        else:
            assert (run.info, run.records) == (back.info, back.records)
            assert [back.folder] == list(Path(results).iterdir())


@pytest.mark.parametrize(
    ("bundle", "expected"),
    [
        (b"", "it is truncated"),
        (b"PK\3\4 a zip", "it isn't a gzip file"),
        (gzip.compress(b"no tar" * 200, mtime=0), "a member's header is damaged"),
        (gzip.compress(bytes(10240), mtime=0), "it isn't a wirebench bundle"),
        (packed([Part("a/b.txt", b"x", {})]), "it isn't a wirebench bundle"),
        (packed([Part("a/manifest.json", b"{", {})]), "its manifest isn't JSON"),
        (packed([Part("a/manifest.json", b"[" * 100_000, {})]), "its manifest isn't JSON"),
        (packed([Part("a/manifest.json", b"[]", {})]), "its manifest isn't a mapping"),
        (packed([Part("a/manifest.json", b" " * (17 * 2**20), {})]), "its manifest would be 17,825,792 bytes"),
    ],
)
def test_what_is_no_bundle_is_rejected(bundle: bytes, expected: str) -> None:
    """In words that say what it is."""
    assert f"theirs.tar.gz: {expected}" in explain_rejection(bundle)


def test_a_newer_schema_says_which_version_reads_it(shared: tuple[Run, bytes]) -> None:
    """Of the bundle as of the records in it."""
    parts = parts_of(shared[1])
    newer = with_manifest(
        parts, lambda manifest: manifest.update(schema_version="wirebench.bundle/2", wirebench="9.1.0")
    )
    with tempfile.TemporaryDirectory() as results, pytest.raises(UsageError) as error:
        import_bytes(packed(newer), Path(results))
    assert "its schema is 'wirebench.bundle/2', and this wirebench (" in error.value.message
    assert "use the version that made it, '9.1.0', or a later one" == error.value.hint
    newer = with_manifest(
        with_json(parts, "records/", schema_version="wirebench.record/2"),
        lambda manifest: manifest.update(wirebench="9.1.0"),
    )
    with (
        tempfile.TemporaryDirectory() as results,
        pytest.raises(UsageError, match="schema_version: must be one of") as error,
    ):
        import_bytes(packed(newer), Path(results))
    assert "it was made by wirebench 9.1.0" in error.value.hint


def in_manifest(**changes: object) -> Forge:
    """Change the first member that the manifest has."""
    return lambda parts: with_manifest(parts, lambda manifest: manifest["members"][0].update(changes))


def in_header(**changes: object) -> Forge:
    """Change the header of the archive's second member."""
    return lambda parts: [parts[0], replace(parts[1], header=changes), *parts[2:]]


def listed_again(path: str) -> Forge:
    """List the first member once more, under this path."""
    return lambda parts: with_manifest(
        parts, lambda manifest: manifest["members"].append(manifest["members"][0] | {"path": path})
    )


def many_of(size: int, count: int = 50) -> Forge:
    """List so many histograms of so many bytes."""

    def forge(manifest: dict[str, Any]) -> None:
        first = manifest["members"][0] | {"size": size}
        manifest["members"] += [first | {"path": f"histograms/b001-{number}.json"} for number in range(count)]

    return lambda parts: with_manifest(parts, forge)


def in_run(name: str) -> Forge:
    """Have the manifest name another run."""
    return lambda parts: with_manifest(parts, lambda manifest: manifest.update(run=name))


def in_json(path: str, **changes: object) -> Forge:
    """Change fields of the first JSON file whose path begins so."""
    return lambda parts: with_json(parts, path, **changes)


def series_of(histogram: str) -> list[dict[str, Any]]:
    """Return the series of a histogram file with this one histogram."""
    return [{"operation": "users.get", "code": "ok", "clock": "service", "count": 1, "histogram": histogram}]


FIRST = "histograms/b001-rest-gunicorn-gthread-w1-memory-json-keep-users.get-c16-wireload.json"


FORGERIES: dict[str, tuple[Forge, str]] = {
    "absolute path": (in_manifest(path="/etc/cron.d/x"), "'/etc/cron.d/x' points outside the bundle"),
    "path upwards": (in_manifest(path="../x.json"), "'../x.json' points outside the bundle"),
    "path down and up": (in_manifest(path="records/../../x.json"), "points outside the bundle"),
    "path with backslashes": (in_manifest(path="..\\x.json"), "points outside the bundle"),
    "path of a drive": (in_manifest(path="C:\\x.json"), "points outside the bundle"),
    "accent": (in_manifest(path="records/b001-caf\u00e9.json"), "isn't a file that a bundle can contain"),
    "writing backwards": (in_manifest(path="records/b001-x\u202e.json"), "isn't a file that a bundle can contain"),
    "end of line": (in_manifest(path="records/b001-x.json\n"), "isn't a file that a bundle can contain"),
    "null": (in_manifest(path="records/b001-x\0.json"), "isn't a file that a bundle can contain"),
    "no name": (in_manifest(path="records/.json"), "isn't a file that a bundle can contain"),
    "the index": (in_manifest(path="index.db"), "isn't a file that a bundle can contain"),
    "long name": (in_manifest(path=f"records/b001-{'x' * 250}.json"), "isn't a file that a bundle can contain"),
    "twice": (listed_again(FIRST), "a path appears twice"),
    "twice in other case": (listed_again(FIRST.replace("rest", "REST")), "differ only in upper case"),
    "huge": (in_manifest(size=10**10), "would be 10,000,000,000 bytes"),
    "huge in all": (many_of(64 * 2**20), "all files would be"),
    "many": (many_of(1, 25_001), "members: "),
    "negative size": (in_manifest(size=-1), "members.0.size: must be at least 0"),
    "size as text": (in_manifest(size="12"), "members.0.size: must be a whole number"),
    "wrong hash": (in_manifest(sha256="f" * 64), f"{FIRST} hasn't the SHA-256 of its manifest"),
    "no hash": (in_manifest(sha256="xyz"), "members.0.sha256"),
    "wrong size": (in_manifest(size=1), "bytes, and in its manifest 1"),
    "mode": (in_manifest(mode=0o4755), "members.0.mode: no such key"),
    "wrong digest": (
        lambda parts: [
            replace(parts[0], content=parts[0].content.replace(b'"digest": "', b'"digest": "0', 1)),
            *parts[1:],
        ],
        "its manifest: digest: must match",
    ),
    "soft link": (in_header(type=tarfile.SYMTYPE, linkname="/etc/passwd", size=0), "is a link, and no file"),
    "hard link": (in_header(type=tarfile.LNKTYPE, linkname="../x", size=0), "is a link, and no file"),
    "device": (in_header(type=tarfile.CHRTYPE, size=0), "is a device, and no file"),
    "pipe": (in_header(type=tarfile.FIFOTYPE, size=0), "is a pipe, and no file"),
    "folder": (in_header(type=tarfile.DIRTYPE, size=0), "is a folder, and no file"),
    "sparse": (in_header(type=tarfile.GNUTYPE_SPARSE), "is a sparse file, and no file"),
    "extended header": (in_header(type=tarfile.XHDTYPE), "is something, and no file"),
    "header's absolute path": (in_header(name="/etc/cron.d/x"), "'/etc/cron.d/x' is where its manifest has"),
    "header's path upwards": (in_header(name=f"{RUN}/../../x"), "x' is where its manifest has"),
    "header's long name": (in_header(name=f"{RUN}/{'a/' * 600}x"), "a member's name has 1,"),
    "first is missing": (lambda parts: [parts[0], *parts[2:]], f"is where its manifest has {FIRST}"),
    "last is missing": (lambda parts: parts[:-1], "scenario.yaml is in its manifest and missing"),
    "one more": (lambda parts: [*parts, Part(f"{RUN}/more.json", b"", {})], "more.json' isn't in its manifest"),
    "archived twice": (lambda parts: [parts[0], parts[1], *parts[1:]], "is where its manifest has"),
    "another folder": (
        lambda parts: [replace(each, path=f"other/{Path(each.path).name}") for each in parts],
        "its folder is 'other'",
    ),
    "run upwards": (in_run("../../up"), "'../../up' isn't a run name"),
    "run's two names": (in_run("20261121T101500Z-a,b"), "isn't a run name"),
    "run's name of two words": (in_run("20261121T101500Z-my run"), "isn't a run name"),
    "run's special name": (in_run("last"), "'last' isn't a run name"),
    "run's hidden end": (in_run("20261121T101500Z-\u202equick"), "isn't a run name"),
    "nothing": (lambda parts: with_manifest(parts, lambda found: found.update(members=[])), "run.json is missing"),
    "no list": (
        lambda parts: with_manifest(parts, lambda found: found.update(members=None)),
        "members: must be a list",
    ),
    "empty run": (lambda parts: with_content(parts, "run.json", lambda _: b"{}"), "run.json: id: is missing"),
    "run of no scenario": (in_json("run.json", id="20261121T101500Z-slow"), "isn't of the scenario"),
    "another run": (in_json("run.json", id="20261122T101500Z-quick"), "run isn't that of run.json"),
    "running run": (in_json("run.json", status="running", pid=1), "its run is still running"),
    "no moment": (in_json("run.json", started_at="yesterday"), "'yesterday' isn't a time"),
    "no time zone": (in_json("run.json", started_at="2026-11-21T10:15:00"), "has no time zone"),
    "resumed too early": (in_json("run.json", resumed_at=["2026-11-21T10:14:00Z"]), "resumed before it was begun"),
    "another machine": (in_json("run.json", machine={"cpu": "a faster one"}), "machine isn't that of run.json"),
    "fewer blocks": (in_json("run.json", blocks=1), "its block and order aren't those of the run's plan"),
    "no gates": (in_json("records/", gates=[]), "no gate was checked"),
    "a window that ends before it begins": (
        in_json("records/", window_end_unix_ns=1),
        "its window ends earlier than it says",
    ),
    "record of another": (in_json("records/", run="another"), "run isn't that of run.json"),
    "histogram elsewhere": (in_json("records/", histogram_file="../../../etc/shadow"), "histogram_file isn't that"),
    "another id": (in_json("records/", id="b001-x"), "id isn't that of run.json and of its block and cell"),
    "large number": (in_json("records/", requests=10**30), "isn't a valid number"),
    "not a number": (in_json("records/", window_s=float("nan")), "window_s: nan isn't a valid number"),
    "infinity": (in_json("records/", window_s=float("inf")), "window_s: inf isn't a valid number"),
    "beyond": (
        lambda parts: with_content(parts, "histograms/", lambda _: b'{"schema": 1e999}'),
        "schema: inf isn't a valid number",
    ),
    "beyond all measure": (in_json("records/", rate_achieved_per_s=1e300), "1e+300 isn't a valid number"),
    "below all measure": (in_json("records/", rate_achieved_per_s=1e-300), "1e-300 isn't a valid number"),
    "negative requests": (in_json("records/", requests=-10), "requests: -10 is negative"),
    "negative rate": (in_json("records/", rate_achieved_per_s=-0.5), "rate_achieved_per_s: -0.5 is negative"),
    "negative gate": (
        in_json("records/", gates=[GENERATOR_GATE.model_dump() | {"value": -2}]),
        "gates.value: -2 is negative",
    ),
    "descending percentiles": (in_json("records/", service=DESCENDING), "service: its percentiles"),
    "many blocks": (in_json("run.json", blocks=2**62), "a run has from 1 to 1,000 blocks"),
    "many cells": (in_json("run.json", cells=2**31), "a run has from 1 to 1,000 blocks, and a cell"),
    "no margin": (in_json("run.json", equivalence_margin=0), "equivalence_margin: 0.0 isn't between 0 and 1"),
    "all margin": (in_json("run.json", equivalence_margin=1e14), "isn't between 0 and 1"),
    "long ago": (in_json("run.json", started_at="0001-01-01T00:00:00+14:00"), "nothing was measured before 1970"),
    "six years off": (in_json("run.json", started_at="2020-11-21T10:15:00Z"), "isn't when the run began by its name"),
    "negative duration": (in_json("run.json", duration_s=-1), "run.json: duration_s: -1 is negative"),
    "long question": (in_json("run.json", question="x" * 501), "question: it has more than 500 characters"),
    "no histograms": (lambda parts: with_content(parts, "histograms/", lambda _: b"{}"), "driver"),
    "no histogram": (in_json("histograms/", series=series_of("AAAA")), "histogram 1: not an HdrHistogram"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_bundle_is_rejected(shared: tuple[Run, bytes], name: str) -> None:
    """Whole, and with the reason; its own manifest agreeing with it doesn't help."""
    forge, expected = FORGERIES[name]
    assert expected in explain_rejection(packed(forge(parts_of(shared[1]))))


@pytest.mark.parametrize(
    ("factors", "expected"),
    [
        ({"concurrency": "many"}, "factors: concurrency: must be a whole number"),
        ({"transport": "pigeon"}, "factors: no transport 'pigeon'"),
        ({"color": "red"}, "factors: 'color' is not known here"),
        ({"payload": 1.5}, "factors: payload"),
    ],
)
def test_factors_that_no_cell_has_are_rejected(
    shared: tuple[Run, bytes], factors: dict[str, object], expected: str
) -> None:
    """What reads runs counts on their kinds."""
    parts = parts_of(shared[1])
    record = next(json.loads(each.content) for each in parts if "/records/" in each.path)
    assert expected in explain_rejection(packed(with_json(parts, "records/", factors=record["factors"] | factors)))


def test_a_bomb_is_rejected_by_what_it_unpacks_to(shared: tuple[Run, bytes]) -> None:
    """Not by what its headers claim: zeros that gzip packs a thousandfold."""
    logs = parts_of(shared[1])
    for number in range(2):
        logs = with_attachment(logs, f"logs/{number}.log", bytes(40 * 2**20))
    assert "it unpacks to over 100 times its size" in explain_rejection(packed(logs))


def test_a_bomb_within_a_histogram_is_rejected(shared: tuple[Run, bytes]) -> None:
    """The histogram's own compression is limited, too."""
    bomb = zlib.compress(bytes(50 * 2**20))
    text = base64.b64encode(struct.pack(">II", 0x1C849314, len(bomb)) + bomb).decode()
    forged = with_json(parts_of(shared[1]), "histograms/", series=series_of(text))
    tracemalloc.start()
    try:
        assert "histogram 1: not an HdrHistogram: unpacks to over" in explain_rejection(packed(forged))
        assert tracemalloc.get_traced_memory()[1] < 20 * 2**20
    finally:
        tracemalloc.stop()
