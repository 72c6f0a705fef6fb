"""What the runner does when things are not as they should be; that they work is for tests/e2e to show."""

import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import cast

import pytest

from infra.local import environments, runner
from infra.local.assembly import SynthesisError
from infra.local.deployment import DeploymentError
from infra.local.engine import Engine, free_port
from infra.local.home import VARIABLE, Home
from infra.local.issuer import Issuer
from infra.local.ports import PortError
from infra.local.progress import Progress

ENGINE = cast("Engine", SimpleNamespace(tail=lambda: "Unable to import module"))


class TestOrder:
    @pytest.fixture(autouse=True)
    def _clean(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        for name in ("PORT", "FRESH"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv(VARIABLE, str(tmp_path))

    def test_the_defaults(self, tmp_path: Path) -> None:
        assert runner.Order.read() == runner.Order(Home(tmp_path), 8787, fresh=False)

    @pytest.mark.parametrize(("text", "fresh"), [("1", True), ("yes", True), ("", False), ("0", False), ("no", False)])
    def test_fresh_is_what_people_write(self, monkeypatch: pytest.MonkeyPatch, text: str, fresh: bool) -> None:
        monkeypatch.setenv("FRESH", text)
        assert runner.Order.read().fresh is fresh

    def test_a_port_that_is_none_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PORT", "http")
        with pytest.raises(PortError):
            runner.Order.read()


class TestIssuer:
    def test_it_stays_where_it_was(self, tmp_path: Path) -> None:
        home = Home(tmp_path)
        issuer = Issuer.create(home, free_port())
        with runner._serving_issuer(home, Progress()) as served:
            assert served.url == issuer.url

    def test_it_moves_when_its_port_is_taken_and_says_so(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        home = Home(tmp_path)
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            old = Issuer.create(home, other.getsockname()[1])
            with runner._serving_issuer(home, Progress()) as served:
                assert served.url != old.url
                assert served.documents()["/.well-known/jwks.json"] == old.documents()["/.well-known/jwks.json"]
        assert Issuer.load(home).url == served.url
        assert "void" in capsys.readouterr().err

    def test_a_damaged_one_is_replaced(self, tmp_path: Path) -> None:
        home = Home(tmp_path)
        Issuer.create(home, free_port())
        (home.issuer / "key.pem").write_text("half a key")
        with runner._serving_issuer(home, Progress()):
            pass
        Issuer.load(home)


class TestFirstAnswer:
    @pytest.fixture
    def statuses(self) -> list[int]:
        """What the API answers, one after the other; the last one for ever."""
        return [200]

    @pytest.fixture
    def url(self, statuses: list[int], monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
        class Api(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(statuses[0] if len(statuses) == 1 else statuses.pop(0))
                self.end_headers()
                self.wfile.write(b"its body")

            def log_message(self, format: str, *args: object) -> None:
                pass

        monkeypatch.setattr("time.sleep", lambda seconds: None)
        with HTTPServer(("127.0.0.1", 0), Api) as server:
            thread = Thread(target=server.serve_forever, args=(0.01,))
            thread.start()
            yield f"http://127.0.0.1:{server.server_port}/v1/health"
            server.shutdown()
            thread.join()

    def test_an_api_that_works_is_taken_at_its_word(self, url: str) -> None:
        runner._expect_answer(url, ENGINE)

    def test_a_slow_first_start_is_forgiven(self, url: str, statuses: list[int]) -> None:
        statuses[:] = [502, 502, 200]
        runner._expect_answer(url, ENGINE)

    def test_a_function_that_cannot_start_is_shown_with_its_log(self, url: str, statuses: list[int]) -> None:
        statuses[:] = [502]
        with pytest.raises(DeploymentError, match=r"(?s)502 its body.*Unable to import module"):
            runner._expect_answer(url, ENGINE)


class TestContext:
    @pytest.fixture
    def issuer(self, tmp_path: Path) -> Issuer:
        return Issuer.create(Home(tmp_path), free_port())

    def test_the_scripted_model_is_always_there(self, issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(environments, "version_of", lambda _: "3.11")
        found = runner._context(issuer, {})
        assert (list(found["models"]), "compaction" in found) == (["scripted"], False)
        more = runner._context(issuer, {"MODELS": '{"mine": {}}', "COMPACTION": "{}"})
        assert (list(more["models"]), more["compaction"]) == (["scripted", "mine"], "{}")

    @pytest.mark.parametrize("models", ["{", "7", "null", "[1]"])
    def test_models_that_are_none_are_refused(
        self, issuer: Issuer, monkeypatch: pytest.MonkeyPatch, models: str
    ) -> None:
        monkeypatch.setattr(environments, "version_of", lambda _: "3.11")
        with pytest.raises(SynthesisError, match="MODELS"):
            runner._context(issuer, {"MODELS": models})
