"""The log before and after a request: a refused write changes nothing, an accepted append reads back as it was sent."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from tests.fuzz.exchange import Exchange
from turnlog.domain import exactjson

WRITES = ("POST", "PATCH", "DELETE")


@dataclass(frozen=True)
class Seen:
    """What a GET answered."""

    status: int
    etag: str | None
    content: bytes

    @property
    def json(self) -> Any:
        """The body as exact JSON: numbers that Python would rewrite stay text."""
        return exactjson.loads(self.content)


Read = Callable[[str], Seen]
"""A GET of a path and query below the base URL, with the token."""


def is_plain_id(text: str) -> bool:
    """Whether it may name a session, and needs no escapes in a path."""
    return re.fullmatch(r"[A-Za-z0-9._:-]{1,128}", text) is not None and text not in (".", "..")


def path_of(session_id: str) -> str:
    """The path of a session."""
    return f"/v1/sessions/{quote(session_id, safe='')}"


class Ledger:
    """Sees a session before a write and compares it with what it is afterwards."""

    def __init__(self, read: Read) -> None:
        self._read = read

    def look(self, session_id: str) -> Seen:
        """The session as it is; its ETag covers the log, the metadata and the flags."""
        return self._read(path_of(session_id))

    def wrong_after(self, exchange: Exchange, before: Seen) -> Iterator[str]:
        """What is wrong with the session after a write."""
        session_id = exchange.session_id
        assert session_id is not None
        if exchange.status >= 400:
            after = self.look(session_id)
            if (before.status, _told(before)) != (after.status, _told(after)):
                yield f"a {exchange.status} changed the session: {before.etag} before, {after.etag} after"
        elif exchange.method == "DELETE":
            if (after := self.look(session_id)).status != 404:
                yield f"a deleted session answers {after.status}"
        elif exchange.path.endswith("/events"):
            yield from self._appended(exchange, session_id, before)
        elif exchange.path.endswith("/compactions"):
            yield from self._compacted(exchange, session_id, before)

    def _compacted(self, exchange: Exchange, session_id: str, before: Seen) -> Iterator[str]:
        """201 alone is in the history, once, and no event is lost by it."""
        was, after = before.json, self.look(session_id).json
        made = [record for record in self._passes(session_id) if _is_of_a_request(record, was["generation"])]
        if len(made) != (1 if exchange.status == 201 else 0):
            yield f"a {exchange.status} has made {len(made)} compactions"
        if was["last_seq"] != after["last_seq"]:
            yield f"a compaction moved the end of the log from {was['last_seq']} to {after['last_seq']}"

    def _passes(self, session_id: str) -> list[Any]:
        """The newest compactions of the session."""
        page = self._read(f"{path_of(session_id)}/compactions?limit=100").json
        return list(page["data"])

    def _appended(self, exchange: Exchange, session_id: str, before: Seen) -> Iterator[str]:
        events = exactjson.loads(exchange.sent)["events"]
        answer = exactjson.loads(exchange.content)
        fresh = [row for row in answer["events"] if not row["replayed"]]
        last = before.json["last_seq"] if before.status == 200 else 0
        again = "idempotency-key" in exchange.sent_headers and all(row["seq"] <= last for row in fresh)
        if not again and [row["seq"] for row in fresh] != list(range(last + 1, last + 1 + len(fresh))):
            yield f"after seq {last} came {[row['seq'] for row in fresh]}"
        for sent, row in list(zip(events, answer["events"], strict=True))[:SAMPLE]:
            seen = self._read(f"{path_of(session_id)}/events/{quote(row['id'], safe='~')}")
            if seen.status != 200:
                yield f"event {row['id']} was appended and answers {seen.status}"
                continue
            yield from _differences(sent, seen.json, row)


def _told(seen: Seen) -> str | None:
    """The ETag without the generation: a policy compacts in the background, whatever a request does meanwhile."""
    return None if seen.etag is None else re.sub(r'\.\d+(\.\d+"$)', r".*\1", seen.etag)


def _is_of_a_request(record: Mapping[str, Any], after_generation: int) -> bool:
    """Whether a request has made it, and right then: what a model writes lands later."""
    is_new = record["generation"] > after_generation
    return is_new and record["asked_by"] == "request" and record["model"] is None


SAMPLE = 3
"""How many events of a batch are read back; each is a request more."""


def _differences(sent: Mapping[str, Any], stored: Mapping[str, Any], row: Mapping[str, Any]) -> Iterator[str]:
    if stored["seq"] != row["seq"]:
        yield f"event {row['id']} is at seq {stored['seq']}, not {row['seq']}"
    expected = {"message": sent["message"], "branch": sent.get("branch")}
    if not row["replayed"]:  # a replay is equal, not always spelled alike
        expected["metadata"] = sent.get("metadata", {})
        for name, value in expected.items():
            if exactjson.dumps(value) != exactjson.dumps(stored[name]):
                yield f"{name} of event {row['id']} came back as {stored[name]!r}"


def is_followed(exchange: Exchange) -> bool:
    """Whether the ledger has something to say: a write to one session that the function has seen."""
    return (
        exchange.method in WRITES
        and exchange.session_id is not None
        and exchange.template is not None
        and not exchange.is_of_the_gateway
    )
