"""The client itself: how it is made, what it shows, how it ends; partly over a real socket."""

from __future__ import annotations

import json
import logging
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

import turnlog.client
from tests.support.fake_api import TOKEN, URL, FakeApi
from turnlog.client import Client, ConnectionFailed, InvalidRequest, SessionNotFound, TimedOut, user


class Handler(BaseHTTPRequestHandler):
    """Answers 404 problems, or nothing at all for the session ``slow``."""

    def do_GET(self) -> None:
        """Answer, or wait until the server is closed."""
        if self.path.endswith("/slow"):
            self.server.stop.wait(10)  # type: ignore[attr-defined]
            return
        body = b'{"code":"session-not-found","detail":"No."}'
        self.send_response(404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def served() -> Iterator[str]:
    """The URL of a real HTTP server."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.stop = threading.Event()  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.stop.set()  # type: ignore[attr-defined]
        server.shutdown()
        thread.join()


def mock(api: FakeApi) -> httpx.MockTransport:
    """The fake API as a transport."""
    return httpx.MockTransport(api)


# --------------------------------------------------------------------------- making one


@pytest.mark.parametrize(
    "url",
    [
        "",
        "api.example.test",
        "/v1",
        "ftp://x",
        "https://",
        "https://x?a=b",
        "https://x#f",
        "https://x:port",
        "https://u:p@x",
    ],
)
def test_a_url_that_cannot_be_a_base_is_refused(url: str) -> None:
    """At once, and without repeating credentials."""
    with pytest.raises(ValueError, match=r"^url ") as caught:
        Client(url, token="t")
    assert "u:p" not in str(caught.value)


@pytest.mark.parametrize("url", [URL, URL + "/", URL + "//"])
def test_the_prefix_of_the_base_url_is_kept(api: FakeApi, url: str) -> None:
    """With or without a slash at its end."""
    with Client(url, token=TOKEN, transport=mock(api)) as client:
        client.session("s1").create()

    assert f"{URL}/v1/sessions" == str(api.requests[0].url)


def test_requests_say_what_they_are(client: Client, api: FakeApi) -> None:
    """Token, media types and the version of the client."""
    session = client.session("s1")
    session.create()
    session.get()

    create, get = api.requests
    assert f"Bearer {TOKEN}" == create.headers["authorization"]
    assert "application/json" == create.headers["content-type"]
    assert "application/problem+json" in create.headers["accept"]
    assert f"turnlog-python/{turnlog.__version__}" == create.headers["user-agent"]
    assert "content-type" not in get.headers


def test_without_a_token_none_is_sent(api: FakeApi) -> None:
    """A transport may sign the requests itself."""
    with Client(URL, transport=mock(api)) as client, pytest.raises(turnlog.client.Unauthorized):
        client.session("s1").get()

    assert "authorization" not in api.requests[0].headers


def test_token_and_provider_exclude_each_other() -> None:
    """Which one would count?"""
    with pytest.raises(ValueError, match="give one of"):
        Client(URL, token="t", token_provider=lambda: "t")


@pytest.mark.parametrize("token", ["", "secret\n", " secret", "secret\x00", "sécret"])
def test_a_token_that_no_header_can_hold_is_refused_without_repeating_it(api: FakeApi, token: str) -> None:
    """Given at once or by a provider; a token read from a file often has a line end."""
    with pytest.raises(ValueError, match=r"^the token ") as given:
        Client(URL, token=token)
    with (
        Client(URL, token_provider=lambda: token, transport=mock(api)) as client,
        pytest.raises(ValueError, match=r"^the token ") as provided,
    ):
        client.session("s1").get()

    assert all("secret" not in str(e.value) and "sécret" not in str(e.value) for e in (given, provided))


def test_at_least_one_attempt_is_made() -> None:
    """Zero attempts answer nothing."""
    with pytest.raises(ValueError, match="max_attempts"):
        Client(URL, max_attempts=0)


# --------------------------------------------------------------------------- from_local


@pytest.fixture
def local(tmp_path: Path) -> Path:
    """Where `make run` would write."""
    return tmp_path / "local.json"


def test_the_laptop_is_found_by_its_file(local: Path, api: FakeApi) -> None:
    """`make run` writes more than the client needs."""
    local.write_text(json.dumps({"url": URL, "token": TOKEN, "tenant": "acme", "pid": 1}))

    with Client.from_local(local, transport=mock(api), max_attempts=2) as client:
        assert "s1" == client.session("s1").create().id
        assert f"Client({URL!r})" == repr(client)


def test_without_the_file_the_error_says_what_to_do(local: Path) -> None:
    """Most likely nothing is running."""
    with pytest.raises(FileNotFoundError) as caught:
        Client.from_local(local)

    assert "make run" in caught.value.__notes__[0]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"url":"http://x"}', '{"url":"http://x","token":null}'])
def test_a_file_of_another_shape_is_refused(local: Path, text: str) -> None:
    """Half-written, or somebody else's."""
    local.write_text(text)

    with pytest.raises(ValueError, match=r"local\.json does not hold url and token"):
        Client.from_local(local)


def test_no_proxy_stands_between_the_laptop_and_itself(
    local: Path, served: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy of the environment could not reach this machine's loopback interface."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    local.write_text(json.dumps({"url": served, "token": TOKEN}))

    with Client.from_local(local, max_attempts=1) as client, pytest.raises(SessionNotFound):
        client.session("s1").get()


# --------------------------------------------------------------------------- secrets


def test_nothing_shows_the_token(client: Client) -> None:
    """Whatever ends up in a log or a traceback's variables."""
    session = client.session("s1")

    assert TOKEN not in repr(client) + repr(session) + repr(client.sessions()) + repr(vars(client))


def test_no_log_shows_the_token_or_the_words(served: str, caplog: pytest.LogCaptureFixture) -> None:
    """Not even httpx and httpcore at their most talkative, over a real connection."""
    caplog.set_level(logging.DEBUG)
    transport = httpx.HTTPTransport()
    with Client(served, token=TOKEN, transport=transport) as client, pytest.raises(SessionNotFound):
        client.session("s1").get()

    assert "httpcore" in {record.name.split(".")[0] for record in caplog.records}
    assert TOKEN not in caplog.text


def test_no_error_shows_the_token() -> None:
    """Nor what it was caused by."""
    with Client("http://127.0.0.1:9", token=TOKEN, max_attempts=1) as client, pytest.raises(ConnectionFailed) as caught:
        client.session("s1").get()

    cause = caught.value.__cause__
    assert isinstance(cause, httpx.ConnectError)
    assert TOKEN not in repr(caught.value) + str(caught.value) + repr(cause) + repr(cause.request.headers)
    assert "http://127.0.0.1:9" in str(caught.value)


# --------------------------------------------------------------------------- connections


def test_a_slow_server_times_out(served: str) -> None:
    """After the time that was asked for."""
    transport = httpx.HTTPTransport()
    with (
        Client(served, token=TOKEN, transport=transport, timeout=0.05, max_attempts=1) as client,
        pytest.raises(TimedOut, match="in time"),
    ):
        client.session("slow").get()


def test_a_closed_port_is_a_failed_connection() -> None:
    """The retries are over when the total time is."""
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        pauses: list[float] = []
        client = Client(url, token=TOKEN, transport=httpx.HTTPTransport(), max_attempts=3, sleep=pauses.append)
        with client, pytest.raises(ConnectionFailed):
            client.session("s1").get()

    assert 2 == len(pauses)


def test_leaving_the_block_closes_the_transport(api: FakeApi) -> None:
    """Also when it is left by an error; a closed client is of no use."""

    class Transport(httpx.MockTransport):
        closed = False

        def close(self) -> None:
            self.closed = True

    transport = Transport(api)
    with pytest.raises(InvalidRequest), Client(URL, token=TOKEN, transport=transport) as client:
        client.session("not/an/id")

    assert transport.closed
    with pytest.raises(RuntimeError, match="closed"):
        client.session("s1").get()


def test_a_client_is_shared_by_threads(client: Client, api: FakeApi) -> None:
    """Twenty writers, twenty events."""
    client.session("s1").create()
    threads = [threading.Thread(target=lambda: client.session("s1").append(user("x"))) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert list(range(1, 21)) == [event.seq for event in api.log("s1")]


# --------------------------------------------------------------------------- the package


def test_all_is_exactly_what_there_is() -> None:
    """No public name is missing from ``__all__``, and the private modules are not in it."""
    public = {name for name in vars(turnlog.client) if not name.startswith("_")} - {"errors", "iam"}

    assert public == set(turnlog.client.__all__)
    assert set(turnlog.client.errors.__all__) <= public


def test_importing_the_client_brings_httpx_and_nothing_of_the_server() -> None:
    """No AWS, no pydantic, no store, no service: httpx and the standard library."""
    code = """
import sys, turnlog.client
server = {"boto3", "botocore", "pydantic", "aws_lambda_powertools", "turnlog.stores", "turnlog.service"}
print(sorted(server & set(sys.modules)), "httpx" in sys.modules)
"""
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert ("[] True\n", "") == (answer.stdout, answer.stderr)


@pytest.mark.parametrize("url", ["https://api.example.test/v1", "https://api.example.test/v1/", "http://h:99999"])
def test_a_url_that_cannot_be_right_is_told_at_once(url: str) -> None:
    """Not by a 404 that says nothing."""
    with pytest.raises(ValueError, match="url"):
        Client(url)


def test_a_token_with_the_word_bearer_is_told_at_once() -> None:
    with pytest.raises(ValueError, match="Bearer"):
        Client(URL, token="Bearer abc")
