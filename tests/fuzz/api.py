"""A plain client of the API under test, for seeds and for looking at what a fuzzed request did."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import requests

from tests.fuzz.ledger import Seen, path_of

TIMEOUT = 60
"""Seconds; a function's first start on a busy machine takes some of them."""


@dataclass
class Target:
    """Where the API is and with which token; ``token`` None calls it without one."""

    url: str
    token: str
    session: requests.Session = field(default_factory=requests.Session)

    def __post_init__(self) -> None:
        self.session.trust_env = False

    def send(self, method: str, path: str, body: Any = None) -> requests.Response:
        """One request with the token."""
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        return self.session.request(method, self.url + path, headers=headers, data=data, timeout=TIMEOUT)

    def put(self, url: str, headers: Mapping[str, str], content: bytes) -> int:
        """Upload to a presigned URL; the status."""
        return self.session.put(url, data=content, headers=dict(headers), timeout=TIMEOUT).status_code

    def get(self, url: str) -> requests.Response:
        """Read at a presigned URL."""
        return self.session.get(url, timeout=TIMEOUT)

    def read(self, path: str) -> Seen:
        """A GET, for the ledger."""
        answer = self.send("GET", path)
        return Seen(answer.status_code, answer.headers.get("etag"), answer.content)


SEEDS_VARIABLE: Final = "TURNLOG_FUZZ_SEEDS"
"""Names the file in which the runner leaves what the hooks have to know."""


def _made(answer: requests.Response) -> Any:
    assert answer.ok, f"{answer.request.method} {answer.url} answered {answer.status_code}: {answer.text}"
    return answer.json() if answer.content else None


@dataclass(frozen=True)
class Seed:
    """A session that exists, with events and uploads that exist; ``passes`` are ids of compactions."""

    session: str
    events: tuple[str, ...]
    refs: tuple[str, ...]
    passes: tuple[str, ...] = ()
    is_slow: bool = False
    """Whether its log takes so long to read that few requests should meet it."""


@dataclass(frozen=True)
class Told:
    """What the runner tells the hooks, which live in another process."""

    url: str
    token: str
    has_token: bool
    seeds: tuple[Seed, ...]

    def write(self, path: Path) -> None:
        """As JSON, for the owner only: the token is in it."""
        path.touch(mode=0o600)
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Told:
        """The inverse."""
        told = json.loads(path.read_text(encoding="utf-8"))
        seeds = tuple(
            Seed(s["session"], tuple(s["events"]), tuple(s["refs"]), tuple(s["passes"]), s["is_slow"])
            for s in told["seeds"]
        )
        return cls(told["url"], told["token"], told["has_token"], seeds)


def sow(target: Target) -> tuple[Seed, ...]:
    """Sessions to find: one empty, one small with an upload, one of several pages that has been compacted three times
    and has a policy, one with a linked message."""
    _made(target.send("POST", "/v1/sessions", {"id": "empty"}))
    small = {"id": "small", "allow_system_messages": True, "metadata": {"channel": "chat", "n": 1.5}}
    _made(target.send("POST", "/v1/sessions", small))
    ref = _upload(target, "small", b"\x89PNG of the fuzzer")
    events = _append(target, "small", [{"id": f"msg-{i}", **event} for i, event in enumerate(_events(ref))])
    _made(target.send("POST", "/v1/sessions", {"id": "long", "compaction": POLICY}))
    pages: list[str] = []
    for batch in range(2):
        lines = [{"message": {"role": "user", "content": f"line {batch}.{i}"}} for i in range(60)]
        pages += _append(target, "long", lines)
    passes = [_compact(target, "long", turns) for turns in (100, 80, 60)]
    _made(target.send("POST", "/v1/sessions", {"id": "large"}))
    large = _append(target, "large", [{"message": {"role": "user", "content": "large " * LARGE}}])
    return (
        Seed("empty", ("none",), (ref,)),
        Seed("small", tuple(events), (ref,)),
        Seed("long", tuple(pages[:: len(pages) // 5]), (ref,), tuple(passes)),
        Seed("large", tuple(large), (ref,), is_slow=True),
    )


POLICY: Final = {
    "trigger": {"type": "turn_count", "max_turns": 200},
    "strategy": {"type": "turn_window", "max_turns": 50},
}
MODEL: Final = "scripted"
"""The one that every local stage has."""

LARGE: Final = 680_000
"""Words of 6 bytes that fit into a body, and make an event that fits into no answer."""


def _events(ref: str) -> list[Mapping[str, Any]]:
    """One of each kind of message and block."""
    call = {"type": "tool_call", "id": "call-1", "name": "weather", "arguments": '{"city": "Bonn"}'}
    thinking = {"type": "thinking", "text": "hm", "signature": "c2ln", "provider": "anthropic"}
    result = {"type": "tool_result", "call_id": "call-1", "content": [{"type": "text", "text": "12 degrees"}]}
    media = {"type": "media", "media_type": "image/png", "ref": ref}
    return [
        {"message": {"role": "system", "content": "Be brief."}},
        {"message": {"role": "user", "content": [{"type": "text", "text": "Weather?"}, media]}, "branch": "a.b"},
        {"message": {"role": "assistant", "content": [thinking, call]}, "metadata": {"cost": 0.25}},
        {"message": {"role": "tool", "content": [result]}, "timestamp": "2026-01-31T12:00:00.000Z"},
        {"message": {"role": "assistant", "content": "Rain."}},
    ]


def _append(target: Target, session: str, events: list[dict[str, Any]]) -> list[str]:
    return [row["id"] for row in _made(target.send("POST", f"{path_of(session)}/events", {"events": events}))["events"]]


def _compact(target: Target, session: str, turns: int) -> str:
    asked = {"strategy": {"type": "turn_window", "max_turns": turns}}
    return str(_made(target.send("POST", f"{path_of(session)}/compactions", asked))["id"])


def _upload(target: Target, session: str, content: bytes) -> str:
    asked = {"media_type": "image/png", "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    grant = _made(target.send("POST", f"{path_of(session)}/uploads", asked))
    assert target.put(grant["url"], grant["headers"], content) == 200, "the upload was refused"
    return str(grant["ref"])
