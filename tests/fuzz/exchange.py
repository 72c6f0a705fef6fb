"""One request and its answer, as the checks look at them, whoever sent it: schemathesis or a probe of our own."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import unquote, urlsplit

import requests

from tests.support.session_api import DOCUMENT, template_of

Json = Any
_SESSION = re.compile(r"/v1/sessions/([^/?]+)")


@dataclass(frozen=True)
class Exchange:
    """``path`` is percent-encoded and below the base URL; names of headers are in lower case."""

    method: str
    path: str
    query: str
    sent_headers: Mapping[str, str]
    sent: bytes
    status: int
    headers: Mapping[str, Sequence[str]]
    content: bytes

    @cached_property
    def template(self) -> str | None:
        """The documented path; None when no route has method and path."""
        return template_of(self.method, self.path)

    @property
    def operation(self) -> Mapping[str, Any] | None:
        """What the document says about the route."""
        return None if self.template is None else DOCUMENT["paths"][self.template][self.method.lower()]

    @property
    def is_public(self) -> bool:
        """Whether the route is served without a token."""
        return self.operation is not None and not self.operation["security"]

    @property
    def session_id(self) -> str | None:
        """The session that the path names."""
        found = _SESSION.match(self.path)
        return None if found is None else unquote(found[1])

    @cached_property
    def json(self) -> Json:
        """The answer's body; None when there is none."""
        return json.loads(self.content) if self.content else None

    @property
    def content_type(self) -> str | None:
        """As answered."""
        return self.header("content-type")

    def header(self, name: str) -> str | None:
        """A header of the answer that is given once; None without it."""
        values = self.headers.get(name, ())
        assert len(values) < 2, f"{name} is answered {len(values)} times"
        return values[0] if values else None

    @property
    def is_problem(self) -> bool:
        """Whether the function told an error."""
        return self.content_type == "application/problem+json"

    @property
    def is_of_the_gateway(self) -> bool:
        """Whether the gateway answered by itself: the function has not seen the request."""
        return self.content_type == "application/json" and self.status >= 400


def sent_by(request: requests.PreparedRequest) -> bytes:
    """The body that went out."""
    body = request.body or b""
    content = body.encode() if isinstance(body, str) else body
    assert isinstance(content, bytes), "no request of ours is a stream"
    return content


def below(base: str, url: str) -> tuple[str, str]:
    """Path and query of a URL, without the base's own path."""
    parts = urlsplit(url)
    # A client may send the $ of a stage's name escaped.
    path = parts.path.replace("%24default", "$default")
    return path.removeprefix(urlsplit(base).path), parts.query
