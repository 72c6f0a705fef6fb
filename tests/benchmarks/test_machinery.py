"""The benchmark's machinery, without running it: the meter's own check, the verdicts, the list that may only shrink."""

import json
import subprocess
import sys
import urllib.request
from base64 import b64encode
from pathlib import Path

import pytest

from tests.benchmarks import conversations, meter, workload
from tests.benchmarks.rows import NOT_YET, Report, Row, at_most

WAITING = {
    ("conversations a/b/c with recall: write units", 6),
    ("conversations a/b/c with recall: $ per million turns", 6),
    ("conversations a/b/c: search", 6),
}


def test_the_meter_passes_its_own_check(capsys: pytest.CaptureFixture[str]) -> None:
    meter._selftest()
    assert capsys.readouterr().out == "meter self-test ok (offline)\n"


def test_the_list_of_what_is_not_built_yet_only_shrinks() -> None:
    listed = [(one.name, one.issue) for one in NOT_YET]
    assert len(listed) == len(set(listed))
    assert set(listed) <= WAITING


def test_the_workload_is_the_standard_one() -> None:
    assert {name: workload.payload_bytes(name) for name in workload.SPECS} == {"a": 20_000, "b": 139_900, "c": 409_600}
    assert [conversations.mean_window(spec) for spec in workload.SPECS.values()] == [14.5, 14.5, 18.5]


def test_every_event_of_the_workload_becomes_a_draft_with_its_text() -> None:
    for spec in workload.SPECS.values():
        for event in workload.turn_events(spec, 7):
            message = conversations.draft(event, client_id=True).message
            assert message.role == event["role"]
            assert json.dumps(event["text"], ensure_ascii=False) in message.raw
    assert conversations.draft(workload.turn_events(workload.SPECS["a"], 1)[0]).id is None


def test_the_summary_counts_what_is_met_and_what_is_missed(capsys: pytest.CaptureFixture[str]) -> None:
    report = Report()
    report.group("some")
    report.add(at_most("a", 1.0, 1.0), at_most("b", 1.01, 1.0), Row("c", "shown"))
    report.not_yet(NOT_YET)
    assert [row.name for row in report.missed] == ["b"]
    assert report.summary(NOT_YET) == f"bench: 1 targets met, 1 missed, {len(NOT_YET)} not yet"
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert [line[-1] for line in lines[:3]] == ["met", "MISSED", "shown"]
    assert len(lines) == 3 + len(NOT_YET)


def test_the_canned_server_gives_its_answers_round_and_round() -> None:
    answers = [f"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{text}".encode() for text in "ab"]
    server = Path(__file__).with_name("canned.py")
    with subprocess.Popen([sys.executable, str(server)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps([b64encode(answer).decode() for answer in answers]).encode() + b"\n")
        process.stdin.flush()
        url = f"http://127.0.0.1:{int(process.stdout.readline())}"
        got = []
        for _ in range(3):
            with urllib.request.urlopen(url, data=b"x" * 100_000, timeout=10) as answer:
                got.append(answer.read())
        process.stdin.close()
        assert process.wait(10) == 0
    assert got == [b"a", b"b", b"a"]
