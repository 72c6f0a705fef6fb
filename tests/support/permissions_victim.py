"""A session that everybody tries to get at, and what its owner sees of it."""

from dataclasses import dataclass
from typing import Any

import httpx

from tests.support.auth_tokens import OWNER, TENANT, Tokens, bearer
from tests.support.permissions import ASKED, EVENT, IMAGE, SAID, Answer, Wire

SECRET = "the victim's secret"
OLDER_TURNS = {"strategy": {"type": "turn_window", "max_turns": 2}}


@dataclass(frozen=True)
class Things:
    """What is in a session, by the ids that stand in paths: an event, an upload, a compaction."""

    eid: str = EVENT
    ref: str = ""
    cid: str = ""


@dataclass(frozen=True)
class Owner:
    """Alice of acme, with a good token."""

    wire: Wire
    tokens: Tokens
    user: str = OWNER
    tenant: str = TENANT

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """One request; a header is named with underscores."""
        more = [(name.replace("_", "-"), value) for name, value in headers.items()]
        token = self.tokens.good(user=self.user, tenant=self.tenant)
        return self.wire.send(method, path, [*bearer(token), *more], body)

    def make(self, sid: str) -> Things:
        """A session with an upload and three turns; the oldest, event `e`, has been archived by a compaction."""
        self.expect(201, "POST", "/v1/sessions", {"id": sid, "metadata": {"note": SECRET}})
        said = {"events": [{"id": EVENT, "message": {"role": "user", "content": SECRET}}]}
        self.expect(201, "POST", f"/v1/sessions/{sid}/events", said)
        for _ in range(2):
            self.expect(201, "POST", f"/v1/sessions/{sid}/events", SAID)
        compacted = self.expect(201, "POST", f"/v1/sessions/{sid}/compactions", OLDER_TURNS)
        return Things(ref=self.upload(sid), cid=compacted.json["id"])

    def upload(self, sid: str) -> str:
        """Put the image, and answer its ref."""
        grant = self.expect(201, "POST", f"/v1/sessions/{sid}/uploads", ASKED).json
        with httpx.Client(trust_env=False) as client:
            assert client.put(grant["url"], headers=grant["headers"], content=IMAGE).status_code == 200
        return str(grant["ref"])

    def expect(self, status: int, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """A request that must have this status."""
        answer = self.call(method, path, body, **headers)
        assert status == answer.status, answer.body
        return answer


@dataclass(frozen=True)
class Victim:
    """The session, what is in it, and its owner."""

    owner: Owner
    sid: str
    things: Things

    @classmethod
    def of(cls, owner: Owner, sid: str) -> "Victim":
        """A new one."""
        return cls(owner, sid, owner.make(sid))

    def export(self) -> list[tuple[int, bytes, dict[str, str]]]:
        """All that its owner sees of it, byte for byte."""
        base = f"/v1/sessions/{self.sid}"
        paths = (
            base,
            *(f"{base}/{below}" for below in ("events", "events?order=desc", f"events/{EVENT}", "compactions")),
        )
        return [self.owner.expect(200, "GET", path).comparable for path in paths]

    def listed(self) -> Any:
        """Its row in its owner's list."""
        rows = self.owner.expect(200, "GET", "/v1/sessions?limit=100&order=asc").json["data"]
        (row,) = [row for row in rows if row["id"] == self.sid]
        return row
