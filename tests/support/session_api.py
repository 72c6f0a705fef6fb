"""The session API in process: HTTP API events in, answers out, every answer held against OpenAPI."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote, urlencode

from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from session_api.dependencies import Dependencies
from session_api.resolver import Resolver
from session_api.settings import Principals, Settings
from turnlog.compactor import SummaryJob
from turnlog.domain import exactjson
from turnlog.domain.errors import StoreUnavailable
from turnlog.domain.exactjson import JsonObject
from turnlog.domain.ports import SessionRepository, UploadStore
from turnlog.stores.memory import InMemorySessionRepository, MemoryDatabase
from turnlog.stores.memory_uploads import InMemoryUploadStore, MemoryBucket
from turnlog.testing.clock import ManualClock

REPOSITORY = Path(__file__).parents[2]
DOCUMENT: dict[str, Any] = json.loads((REPOSITORY / "docs" / "openapi.json").read_text(encoding="utf-8"))
CONTEXT = SimpleNamespace(
    function_name="session_api",
    memory_limit_in_mb="512",
    invoked_function_arn="arn:aws:lambda:eu-central-1:123456789012:function:session_api",
    aws_request_id="00000000-0000-4000-8000-000000000000",
)
_REGISTRY: Registry[Any] = Registry().with_resource(
    "urn:openapi", Resource.from_contents(DOCUMENT, default_specification=DRAFT202012)
)


@dataclass(frozen=True)
class Reply:
    """What the function gave back, as a caller sees it."""

    status: int
    headers: Mapping[str, str]
    content: bytes
    proxy: Mapping[str, Any] = field(repr=False)

    @property
    def text(self) -> str:
        """The body as text."""
        return self.content.decode("utf-8")

    @property
    def json(self) -> Any:
        """The body as exact JSON (numbers that Python would rewrite stay text)."""
        return exactjson.loads(self.content)

    @property
    def pointers(self) -> list[str]:
        """The fields that a problem points at."""
        return [error["pointer"] for error in self.json["errors"]]


def template_of(method: str, path: str) -> str | None:
    """The documented path template that a path belongs to."""
    for template, operations in DOCUMENT["paths"].items():
        pattern = "[^/]+".join(re.escape(part) for part in re.split(r"\{\w+\}", template))
        if re.fullmatch(pattern, path) and method.lower() in operations:
            return str(template)
    return None


def check_against_document(method: str, path: str, reply: Reply) -> None:
    """Fail unless status, headers and body are what the OpenAPI document says, also under /iam."""
    twin = path.startswith("/iam/")
    path = path.removeprefix("/iam")
    template = template_of(method, path)
    if template is None or (twin and b'"code":"route-not-found"' in reply.content):
        assert reply.status in (404, 405), f"{method} {path} is not documented and gave {reply.status}"
        return
    responses = DOCUMENT["paths"][template][method.lower()]["responses"]
    assert str(reply.status) in responses, f"{method} {template} gave {reply.status}, which is not documented"
    documented = responses[str(reply.status)]
    lowered = {name.lower() for name in documented.get("headers", ())} | {"content-type"}
    assert {name.lower() for name in reply.headers} <= lowered, f"{set(reply.headers)} against {lowered}"
    content = documented.get("content")
    if content is None:
        assert reply.content == b""
        return
    media_type = {name.lower(): value for name, value in reply.headers.items()}["content-type"]
    schema = {"$ref": f"urn:openapi#{_pointer_to(content[media_type]['schema'])}"}
    if "$ref" in content[media_type]["schema"]:
        Draft202012Validator(schema, registry=_REGISTRY).validate(json.loads(reply.content))


def _pointer_to(schema: Mapping[str, Any]) -> str:
    return str(schema.get("$ref", "#")).removeprefix("#")


def route_key(method: str, path: str) -> str:
    """The route that the gateway picks: it has one for each method, ``ANY`` for the other methods
    of a path, and ``$default`` for other paths."""
    for template in DOCUMENT["paths"]:
        for known in (method, *(m.upper() for m in DOCUMENT["paths"][template])):
            if template_of(known, path) == template:
                return f"{method if template_of(method, path) else 'ANY'} {template}"
    return "$default"


def http_event(
    method: str,
    path: str,
    *,
    query: str = "",
    body: str | None = None,
    headers: Mapping[str, str] | None = None,
    claims: Mapping[str, Any] | None = None,
    is_base64: bool = False,
) -> dict[str, Any]:
    """An HTTP API event (payload format 2.0) as the gateway makes it."""
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": route_key(method, path),
        "rawPath": path,
        "rawQueryString": query,
        "headers": {"host": "api.example.com", **(headers or {})},
        "requestContext": {
            "accountId": "123456789012",
            "apiId": "a1b2c3d4e5",
            "http": {
                "method": method,
                "path": path,
                "protocol": "HTTP/1.1",
                "sourceIp": "192.0.2.1",
                "userAgent": "tests",
            },
            "requestId": "JKJaXmPLvHcESHA=",
            "stage": "$default",
            "time": "31/Jan/2026:12:00:00 +0000",
            "timeEpoch": 1769860800000,
        },
        "isBase64Encoded": is_base64,
    }
    if body is not None:
        event["body"] = body
    if claims is not None:
        event["requestContext"]["authorizer"] = {"jwt": {"claims": dict(claims), "scopes": None}}
    return event


def iam_caller(arn: str) -> dict[str, Any]:
    """What the gateway says of whoever signed a request."""
    return {
        "accessKey": "ASIAIOSFODNN7EXAMPLE",
        "accountId": arn.split(":")[4],
        "callerId": f"AROACKCEVSQ6C2EXAMPLE:{arn.rpartition('/')[2]}",
        "cognitoIdentity": None,
        "principalOrgId": "o-a1b2c3d4e5",
        "userArn": arn,
        "userId": f"AROACKCEVSQ6C2EXAMPLE:{arn.rpartition('/')[2]}",
    }


def _in_memory() -> Callable[[str], SessionRepository]:
    database = MemoryDatabase()
    return lambda tenant: InMemorySessionRepository(tenant, database=database)


Pages = list[list[Any]]
"""The data of page after page."""


class FakeStarter:
    """Remembers the jobs that were started, one tenant's like another's; ``is_down`` refuses them."""

    def __init__(self) -> None:
        self.jobs: list[SummaryJob] = []
        self.is_down = False

    def start(self, job: SummaryJob) -> None:
        """Start it, once."""
        if self.is_down:
            raise StoreUnavailable("The state machine did not take it.", retry_after=2)
        if job not in self.jobs:
            self.jobs.append(job)


class Api:
    """The function, called as one user of one tenant; over a fresh memory store unless told otherwise."""

    def __init__(
        self,
        *,
        user: str = "alice",
        tenant: str = "acme",
        repository_for: Callable[[str], SessionRepository] | None = None,
        clock: ManualClock | None = None,
        uploads_for: Callable[[str], UploadStore] | None = None,
        bucket: MemoryBucket | None = None,
        allow_system_messages: bool = False,
        principals: Principals | None = None,
        compaction: Mapping[str, Any] | None = None,
        models: tuple[str, ...] = ("scripted",),
        starter: FakeStarter | None = None,
    ) -> None:
        self.user, self.tenant = user, tenant
        self.repository_for = repository_for or _in_memory()
        self.clock = clock or ManualClock()
        self.compaction, self.models, self.starter = compaction, models, starter or FakeStarter()
        settings = Settings(
            table="t",
            bucket="b",
            stage="test",
            allow_system_messages=allow_system_messages,
            principals=principals or {},
            compaction=None if compaction is None else JsonObject.of(compaction),
            models=models,
        )
        self.bucket = bucket or MemoryBucket(self.clock.now)
        self.uploads_for = uploads_for or (lambda tenant: InMemoryUploadStore(tenant, bucket=self.bucket))
        made = Dependencies(settings, self.repository_for, self.clock, self.uploads_for, lambda _: self.starter)
        self.handler = Resolver(lambda: made)

    def as_user(self, user: str, tenant: str | None = None) -> Api:
        """The same store, another caller."""
        return Api(
            user=user,
            tenant=tenant or self.tenant,
            repository_for=self.repository_for,
            clock=self.clock,
            uploads_for=self.uploads_for,
            bucket=self.bucket,
            compaction=self.compaction,
            models=self.models,
            starter=self.starter,
        )

    def invoke(self, event: dict[str, Any]) -> Reply:
        """Send an event as it is; the answer must be as documented."""
        proxy = self.handler(event, CONTEXT)  # type: ignore[arg-type]  # a stand-in for Lambda's context
        body = proxy["body"] or ""
        content = base64.b64decode(body) if proxy["isBase64Encoded"] else body.encode("utf-8")
        reply = Reply(proxy["statusCode"], proxy["headers"], content, proxy)
        check_against_document(event["requestContext"]["http"]["method"], event["rawPath"], reply)
        return reply

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        raw: str | None = None,
        query: Mapping[str, Any] | str = "",
        **headers: str,
    ) -> Reply:
        """One request. ``body`` is written as exact JSON, ``raw`` is sent as it is; a header is
        named with underscores."""
        text = raw if raw is not None else None if body is None else exactjson.dumps(body)
        sent = {name.replace("_", "-").lower(): value for name, value in headers.items()}
        if text is not None:
            sent.setdefault("content-type", "application/json")
        return self.invoke(
            http_event(
                method,
                path,
                query=query if isinstance(query, str) else urlencode(query),
                body=text,
                headers=sent,
                claims={"custom:tenant": self.tenant, "sub": self.user},
            )
        )

    def signed(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        arn: str = "arn:aws:sts::123456789012:assumed-role/Agents/worker-7",
        caller: Mapping[str, Any] | None = None,
        query: str = "",
        **headers: str,
    ) -> Reply:
        """One request through the IAM routes; ``caller`` changes what the gateway verified."""
        text = None if body is None else exactjson.dumps(body)
        sent = {"x-turnlog-tenant": self.tenant, "x-turnlog-user": self.user}
        sent |= {name.replace("_", "-").lower(): value for name, value in headers.items()}
        if text is not None:
            sent.setdefault("content-type", "application/json")
        event = http_event(method, path, query=query, body=text, headers=sent)
        key = event["routeKey"]
        event["rawPath"] = event["requestContext"]["http"]["path"] = f"/iam{path}"
        event["routeKey"] = key if key == "$default" else key.replace(" /v1", " /iam/v1")
        event["requestContext"]["authorizer"] = {"iam": iam_caller(arn) | dict(caller or {})}
        return self.invoke(event)

    # ------------------------------------------------------------------ the routes

    def create(self, id: str | None = "s", **body: Any) -> Reply:
        """Create a session."""
        return self.call("POST", "/v1/sessions", body if id is None else {"id": id, **body})

    def append(self, *events: Any, sid: str = "s", **headers: str) -> Reply:
        """Append events; a text stands for a user message."""
        return self.call("POST", f"/v1/sessions/{sid}/events", {"events": [event_of(e) for e in events]}, **headers)

    def upload(self, content: bytes, media_type: str = "image/png", sid: str = "s") -> str:
        """Ask for leave, put the content, and answer its ref."""
        asked = {"media_type": media_type, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        grant = self.call("POST", f"/v1/sessions/{sid}/uploads", asked)
        assert grant.status == 201, grant.text
        assert self.bucket.serve("PUT", grant.json["url"], grant.json["headers"], content).status == 200
        return str(grant.json["ref"])

    def compact(self, sid: str = "s", body: Any = None, **headers: str) -> Reply:
        """Compact; without a body all but the newest turn leaves the window."""
        asked = {"strategy": {"type": "turn_window", "max_turns": 1}} if body is None else body
        return self.call("POST", f"/v1/sessions/{sid}/compactions", asked, **headers)

    def list(self, sid: str = "s", query: Mapping[str, Any] | str = "") -> Reply:
        """List events."""
        return self.call("GET", f"/v1/sessions/{sid}/events", query=query)

    def pages(self, sid: str = "s", **query: Any) -> Pages:
        """Every page of a listing."""
        pages = []
        while True:
            reply = self.list(sid, query)
            assert reply.status == 200, reply.text
            pages.append(reply.json["data"])
            if not reply.json["has_more"]:
                assert reply.json["next_cursor"] is None
                return pages
            query["cursor"] = reply.json["next_cursor"]


def event_of(event: Any) -> Any:
    """A text as a user message; anything else as it is."""
    return {"message": {"role": "user", "content": event}} if isinstance(event, str) else event


def path_of(template: str, **values: str) -> str:
    """A path template filled in, percent-encoded."""
    return re.sub(r"\{(\w+)\}", lambda found: quote(values[found[1]], safe=""), template)
