"""HTTP as bytes: what no client library would send has to be answered all the same."""

from __future__ import annotations

import http.client
import socket
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from tests.fuzz.exchange import Exchange

Header = tuple[str, str]
TIMEOUT = 60


@dataclass
class Request:
    """``target`` is path and query below the base URL, as they go over the wire."""

    method: str
    target: str
    headers: list[Header] = field(default_factory=list)
    body: bytes = b""

    def head(self, base: str) -> bytes:
        """Request line and headers."""
        parts = urlsplit(base)
        headers = [("Host", parts.netloc), ("Connection", "close"), *self.headers]
        if self.body:
            headers.append(("Content-Length", str(len(self.body))))
        lines = [f"{self.method} {parts.path}{self.target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

    def as_curl(self, base: str) -> str:
        """The line for bash that sends it again, the token left out."""
        headers = [f"-H {_quoted(f'{name}: {_masked(name, value)}'.encode('latin-1'))}" for name, value in self.headers]
        body = [f"--data-binary {_quoted(self.body)}"] if self.body else []
        url = _quoted((base + self.target).encode("latin-1"))
        return " ".join(["curl -i --path-as-is --globoff -X", self.method, *headers, *body, url])


def _masked(name: str, value: str) -> str:
    return "Bearer TOKEN" if name.lower() == "authorization" else value


def _quoted(text: bytes) -> str:
    shown = "".join(chr(c) if 32 <= c < 127 and c not in b"'\\" else f"\\x{c:02x}" for c in text[:LONGEST])
    return f"$'{shown}'" + (f"  # and {len(text) - LONGEST} bytes more" if len(text) > LONGEST else "")


LONGEST = 4000
"""Bytes of a body that a message shows."""


def send(base: str, request: Request) -> Exchange:
    """Send it over a connection of its own."""
    parts = urlsplit(base)
    with socket.create_connection((parts.hostname or "", parts.port or 80), timeout=TIMEOUT) as connection:
        connection.sendall(request.head(base) + request.body)
        response = http.client.HTTPResponse(connection, method=request.method)
        response.begin()
        content = response.read()
    headers: dict[str, list[str]] = {}
    for name, value in response.getheaders():
        headers.setdefault(name.lower(), []).append(value)
    path, _, query = request.target.partition("?")
    sent_headers = {name.lower(): value for name, value in request.headers}
    return Exchange(request.method, path, query, sent_headers, request.body, response.status, headers, content)
