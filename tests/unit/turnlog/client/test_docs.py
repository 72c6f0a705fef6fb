"""The guide can't lie: its snippets run, one after the other, against a server that stores."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from tests.support.fake_api import TOKEN, URL, FakeApi
from turnlog import client as package
from turnlog.client import Client, TurnlogError

GUIDE = Path(__file__).parents[4] / "docs" / "client.md"
SNIPPETS = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_the_snippets_of_the_guide_run(
    api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a folder where `make run` has left its file."""
    (tmp_path / ".turnlog").mkdir()
    (tmp_path / ".turnlog" / "local.json").write_text(json.dumps({"url": URL, "token": TOKEN}))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TURNLOG_HOME", raising=False)
    server = httpx.MockTransport(api)
    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", lambda _, request: server.handle_request(request))
    monkeypatch.setattr(
        httpx.AsyncHTTPTransport, "handle_async_request", lambda _, request: server.handle_async_request(request)
    )
    names: dict[str, object] = {"my_tokens": SimpleNamespace(current=lambda: TOKEN)}

    for snippet in SNIPPETS:
        exec(compile(snippet, str(GUIDE), "exec"), names)

    printed = capsys.readouterr().out
    assert "1 user What is a turn?\n2 assistant A question and its answer.\n" in printed
    assert "0 None Refund\n" in printed
    assert "/events/0/message/role must be one of" in printed
    assert re.search(r"^compacted \(\(1, \d+\),\) \d+\n\S+Z compacted \(\(1, \d+\),\) request$", printed, re.MULTILINE)
    assert 257 == len(api.log("support-42"))
    client = names["client"]
    assert isinstance(client, Client)
    client.close()


def test_the_guide_has_snippets() -> None:
    """So that the test above tests something."""
    assert len(SNIPPETS) >= 8


def test_the_table_of_errors_names_each_of_them_below_its_base() -> None:
    """Every public exception has its line, and an indented one is caught by the line that it stands under."""
    rows = re.findall(r"^\| ((?:&emsp;)*)`(\w+)` \|", GUIDE.read_text(encoding="utf-8"), re.MULTILINE)
    public = {name: kind for name in package.__all__ if isinstance(kind := getattr(package, name), type)}
    errors = {name: kind for name, kind in public.items() if issubclass(kind, TurnlogError)}
    assert sorted(errors.keys() - {"TurnlogError"}) == sorted(name for _, name in rows)

    above: list[type[TurnlogError]] = [TurnlogError]
    for indent, name in rows:
        depth = indent.count("&emsp;") + 1
        del above[depth:]
        assert depth == len(above), name
        assert issubclass(errors[name], above[-1]), name
        above.append(errors[name])
