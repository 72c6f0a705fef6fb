"""A provider's endpoint on this machine: a real HTTP server that answers what a test gives it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message as Headers
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any, Literal

Pace = Literal["at once", "never", "drop by drop", "half"]
"""``drop by drop``: a byte at a time, each well within a client's patience. ``half``: cut off in the middle."""

DROP_SECONDS = 0.02


@dataclass(frozen=True)
class Asked:
    """A request as it came."""

    path: str
    headers: Headers
    body: dict[str, Any]
    port: int
    """The asker's end of the connection."""


@dataclass
class Endpoint:
    """Answers every request alike, until it is given something else."""

    url: str = ""
    asked: list[Asked] = field(default_factory=list)
    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict)
    pace: Pace = "at once"
    closing: Event = field(default_factory=Event)

    def answers(self, body: object = None, *, status: int = 200, **headers: str) -> None:
        """From now on: JSON, or bytes as they are; ``retry_after="1"`` is the header Retry-After."""
        self.status = status
        self.body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


@contextmanager
def serving() -> Iterator[Endpoint]:
    """An endpoint on a free port; at the end nobody waits for it any more."""
    endpoint = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = self.rfile.read(int(self.headers["content-length"]))
            endpoint.asked.append(Asked(self.path, self.headers, json.loads(asked), self.client_address[1]))
            if endpoint.pace == "never":
                endpoint.closing.wait()
                self.close_connection = True
                return
            try:
                self._answer()
            except ConnectionError:
                self.close_connection = True  # whoever asked has had enough

        def _answer(self) -> None:
            self.send_response(endpoint.status)
            for name, value in {"content-type": "application/json", **endpoint.headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(endpoint.body)))
            self.end_headers()
            if endpoint.pace == "drop by drop":
                for i in range(len(endpoint.body)):
                    self.wfile.write(endpoint.body[i : i + 1])
                    if endpoint.closing.wait(DROP_SECONDS):
                        break
            elif endpoint.pace == "half":
                self.wfile.write(endpoint.body[: len(endpoint.body) // 2])
                self.close_connection = True
            else:
                self.wfile.write(endpoint.body)

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    endpoint.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        endpoint.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()


def unreachable() -> str:
    """The URL of a port where nobody listens."""
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        return f"http://127.0.0.1:{server.server_port}"
