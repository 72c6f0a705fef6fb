"""Whoever has a role's credentials: the function in process, the deployed function, and a note of what was denied."""

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode

import httpx

from infra.local.engine import ACCOUNT, REGION
from tests.support.auth import Credentials, EnforcedStack
from tests.support.grants import Role
from tests.support.session_api import Api, Reply
from turnlog.domain import exactjson
from turnlog.stores.dynamodb import Connection, connect, now
from turnlog.testing.clock import ManualClock

DENIED = re.compile(r"is not authorized to perform: (\w+:\w+)")


@dataclass
class Denials:
    """The IAM actions that were denied so far, in order."""

    actions: list[str] = field(default_factory=list)

    def watch(self, client: Any) -> None:
        """Note every denial that this client meets."""
        client.meta.events.register("after-call", self._note)

    def note(self, text: str) -> None:
        """Note what an answer in XML or JSON says."""
        self.actions += DENIED.findall(text)

    def _note(self, http_response: Any, parsed: Mapping[str, Any], model: Any, **_: Any) -> None:
        if model.name == "HeadObject" and http_response.status_code == 403:
            self.actions.append("s3:GetObject")  # the answer to a HEAD has no body to say so
        self.note(str(parsed.get("Error", {}).get("Message", "")))


class DeployedApi(Api):
    """The same calls, through the gateway to the deployed function."""

    def __init__(self, stack: EnforcedStack, http: httpx.Client, *, user: str = "alice", tenant: str = "acme") -> None:
        super().__init__(user=user, tenant=tenant)
        self._stack, self._http = stack, http

    def as_user(self, user: str, tenant: str | None = None) -> "DeployedApi":
        """Another caller."""
        return DeployedApi(self._stack, self._http, user=user, tenant=tenant or self.tenant)

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
        """One request over HTTP."""
        text = raw if raw is not None else None if body is None else exactjson.dumps(body)
        sent = {name.replace("_", "-").lower(): value for name, value in headers.items()}
        sent["authorization"] = f"Bearer {self._stack.issuer.token(self.tenant, self.user)}"
        if text is not None:
            sent.setdefault("content-type", "application/json")
        asked = query if isinstance(query, str) else urlencode(query)
        url = self._stack.url + path + (f"?{asked}" if asked else "")
        answer = self._http.request(method, url, headers=sent, content=text)
        return Reply(answer.status_code, dict(answer.headers), answer.content, {})


@dataclass(frozen=True)
class Actor:
    """A function at work with the credentials of its role, and somebody who holds its URLs.

    ``api`` is session_api; ``stores`` what it stands on, with the role's credentials. ``owner`` is session_api with its
    own role, for other functions' sessions to come from. ``client`` makes more clients with the role's credentials.
    """

    api: Api
    dynamodb: Any
    stores: Connection
    logs: Any
    log_group: str
    clock: ManualClock
    http: httpx.Client
    denials: Denials
    tenant: str
    client: Callable[[str], Any]
    stack: EnforcedStack
    owner: "Actor | None" = None

    @classmethod
    def in_process(
        cls, stack: EnforcedStack, role: Role, tenant: str, http: httpx.Client, owner: "Actor | None" = None
    ) -> "Actor":
        """The function in this process, on clients with the role's credentials, as one user of ``tenant``. Its clock
        starts at the real time: the engine removes what has expired by its own."""
        credentials, denials, clock = stack.assume(role.name), Denials(), ManualClock(now())
        dynamodb, s3, logs = (_watched(stack, credentials, denials, name) for name in ("dynamodb", "s3", "logs"))
        stores = connect(stack.table, stack.bucket, client=dynamodb, make_s3=lambda: s3, clock=clock.now)
        api = Api(tenant=tenant, repository_for=stores, uploads_for=stores.uploads, clock=clock)
        return cls(
            api=api,
            dynamodb=dynamodb,
            stores=stores,
            logs=logs,
            log_group=log_group_of(role),
            clock=clock,
            http=http,
            denials=denials,
            tenant=tenant,
            client=lambda service: _watched(stack, credentials, denials, service),
            stack=stack,
            owner=owner,
        )

    def deployed(self, stack: EnforcedStack) -> "Actor":
        """The same, but the function is the deployed one, which has its credentials from Lambda."""
        api = DeployedApi(stack, self.http, tenant=self.tenant)
        return replace(self, api=api)

    def fetch(self, url: str) -> bytes:
        """What a presigned URL leads to."""
        answer = self.http.get(url)
        self.denials.note(answer.text if answer.status_code == 403 else "")
        assert answer.status_code == 200, answer.text
        return answer.content

    def put(self, grant: Mapping[str, Any], content: bytes) -> None:
        """Upload to a presigned URL."""
        answer = self.http.put(grant["url"], headers=grant["headers"], content=content)
        self.denials.note(answer.text if answer.status_code == 403 else "")
        assert answer.status_code == 200, answer.text


def noise(size: int) -> str:
    """Text that deflate cannot make much smaller."""
    return "".join(hashlib.sha256(str(i).encode()).hexdigest() for i in range(size // 64 + 1))[:size]


def behind_tls(request: Any, **_: Any) -> None:
    """As if a proxy that speaks TLS had let the request through."""
    request.headers["x-forwarded-proto"] = "https"


def log_group_of(role: Role) -> str:
    """The name of the log group that the role may write to."""
    (arn,) = {arn for grant, arn in role.grants.items() if grant.action.startswith("logs:")}
    return arn.removeprefix(f"arn:aws:logs:{REGION}:{ACCOUNT}:log-group:").removesuffix(":*")


def _watched(stack: EnforcedStack, credentials: Credentials, denials: Denials, service: str) -> Any:
    client = credentials.client(service, stack.engine_url)
    denials.watch(client)
    return client
