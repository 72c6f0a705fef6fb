"""DynamoDB's JSON protocol on botocore's signer and HTTP session: a client for the calls of this store, in Lambda.

A botocore client first reads its service's model, the endpoints of every service, and a hundred plugins. That takes a
fifth of a cold start, and twice the processor's time of each call, and this store needs none of it. What it does need,
signing, TLS, connections and their errors, is botocore's own here, and so is the meaning of an error. Requests and
answers have the shapes of a botocore client's, so the rim calls either.

Everywhere but in Lambda's plain case (``environment_of``) the store makes a botocore client.
"""

from __future__ import annotations

import base64
import json
import random
import re
import socket
import time
import uuid
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.exceptions import ClientError, ConnectionError, HTTPClientError  # noqa: A004  (botocore's word)
from botocore.httpsession import URLLib3Session

from ... import __version__

Json = dict[str, Any]

LONGEST_PAUSE_SECONDS: Final = 20
"""Pauses are those of the SDKs' standard retry mode."""

_NO_DELAY: Final = (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
"""Else a body waits for the acknowledgement of its headers: 40 ms a call (what botocore's endpoints set, too)."""

_RETRIED_STATUSES: Final = frozenset({500, 502, 503, 504})
_RETRIED_CODES: Final = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestTimeout",
        "RequestTimeoutException",
        "ThrottlingException",
        "TransactionInProgressException",
    }
)
_NOT_PLAIN: Final = (
    "AWS_CA_BUNDLE",
    "AWS_PROFILE",
    "AWS_USE_DUALSTACK_ENDPOINT",
    "AWS_USE_FIPS_ENDPOINT",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "http_proxy",
    "https_proxy",
)
_REGION: Final = re.compile(r"(?!\w+-iso)(us|eu|ap|sa|ca|me|af|il|mx|cn)(-gov)?-[a-z]+-\d")


class Credentials(NamedTuple):
    """What the signer reads."""

    access_key: str
    secret_key: str
    token: str | None


@dataclass(frozen=True)
class Environment:
    """Where the table is, and who asks."""

    endpoint_url: str
    region: str
    credentials: Credentials


def environment_of(variables: Mapping[str, str]) -> Environment | None:
    """Lambda's plain case: credentials in the environment, which last as long as it does, and an endpoint that
    follows from the region. None for anything else, such as proxies, FIPS endpoints, profiles or other partitions.
    """
    region = variables.get("AWS_REGION") or variables.get("AWS_DEFAULT_REGION") or ""
    key, secret = variables.get("AWS_ACCESS_KEY_ID"), variables.get("AWS_SECRET_ACCESS_KEY")
    if "AWS_LAMBDA_FUNCTION_NAME" not in variables or not key or not secret or not _REGION.fullmatch(region):
        return None
    if any(variables.get(name) for name in _NOT_PLAIN):
        return None
    suffix = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    endpoint = _configured_endpoint(variables) or f"https://dynamodb.{region}.{suffix}"
    return Environment(
        endpoint.rstrip("/") + "/", region, Credentials(key, secret, variables.get("AWS_SESSION_TOKEN") or None)
    )


def _configured_endpoint(variables: Mapping[str, str]) -> str | None:
    if variables.get("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "").lower() == "true":
        return None
    return variables.get("AWS_ENDPOINT_URL_DYNAMODB") or variables.get("AWS_ENDPOINT_URL")


class Session(Protocol):
    """botocore's HTTP session, as far as it is used here."""

    def send(self, request: Any) -> Any:
        """The response to a prepared request; raises ``HTTPClientError`` or ``ConnectionError``."""
        ...


class DirectClient:
    """The DynamoDB operations that the rim calls. Thread-safe, as the session is.

    Each raises ``ClientError`` for a refused call, and what the session raises when no answer came, after as many
    ``attempts`` as may help.
    """

    def __init__(
        self,
        environment: Environment,
        session: Session,
        *,
        attempts: int,
        sleep: Callable[[float], None] = time.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._url = environment.endpoint_url
        credentials: Any = (
            environment.credentials
        )  # the signer reads three attributes; botocore's class is a large import
        self._signer = SigV4Auth(credentials, "dynamodb", environment.region)
        self._session = session
        self._attempts = attempts
        self._sleep = sleep
        self._chance = chance

    @classmethod
    def connect(
        cls, environment: Environment, *, connect_timeout: float, read_timeout: float, attempts: int
    ) -> DirectClient:
        """Over a session of its own; the times are in seconds."""
        options: Any = {"timeout": (connect_timeout, read_timeout), "socket_options": [_NO_DELAY]}  # wrong in the stubs
        session = URLLib3Session(**options)
        return cls(environment, session, attempts=attempts)

    def query(self, **arguments: Any) -> Json:
        """Query."""
        return self._call("Query", arguments)

    def scan(self, **arguments: Any) -> Json:
        """Scan."""
        return self._call("Scan", arguments)

    def get_item(self, **arguments: Any) -> Json:
        """GetItem."""
        return self._call("GetItem", arguments)

    def batch_get_item(self, **arguments: Any) -> Json:
        """BatchGetItem."""
        return self._call("BatchGetItem", arguments)

    def put_item(self, **arguments: Any) -> Json:
        """PutItem."""
        return self._call("PutItem", arguments)

    def update_item(self, **arguments: Any) -> Json:
        """UpdateItem."""
        return self._call("UpdateItem", arguments)

    def delete_item(self, **arguments: Any) -> Json:
        """DeleteItem."""
        return self._call("DeleteItem", arguments)

    def transact_write_items(self, **arguments: Any) -> Json:
        """TransactWriteItems; the token makes a repetition of a lost answer harmless."""
        return self._call("TransactWriteItems", {"ClientRequestToken": str(uuid.uuid4()), **arguments})

    def _call(self, operation: str, arguments: Json) -> Json:
        body = json.dumps(arguments, default=_to_text, separators=(",", ":"))
        for tried in range(self._attempts - 1):
            try:
                return self._once(operation, body)
            except (ClientError, ConnectionError, HTTPClientError) as error:
                if not _may_pass(error):
                    raise
            self._sleep(self._chance() * min(2**tried, LONGEST_PAUSE_SECONDS))
        return self._once(operation, body)

    def _once(self, operation: str, body: str) -> Json:
        headers = {
            "Content-Type": "application/x-amz-json-1.0",
            "User-Agent": f"turnlog/{__version__}",
            "X-Amz-Target": f"DynamoDB_20120810.{operation}",
        }
        request = AWSRequest(method="POST", url=self._url, headers=headers, data=body.encode("utf-8"))
        self._signer.add_auth(request)
        response = self._session.send(request.prepare())
        content: bytes = response.content
        checksum = response.headers.get("x-amz-crc32")
        if checksum is not None and int(checksum) != zlib.crc32(content):
            raise HTTPClientError(error=f"the answer of {operation} was damaged on its way")
        answer = _parsed(content)
        if response.status_code >= 300:
            raise _refused(operation, response.status_code, answer)
        return answer


def _to_text(value: bytes) -> str:
    """Binary values, which JSON has not: base64 (DynamoDB low-level API)."""
    return base64.b64encode(value).decode("ascii")


def _to_bytes(pairs: Json) -> Json:
    """A binary attribute value with its bytes. An attribute that is called B holds an object, not a string."""
    value = pairs.get("B")
    return {"B": base64.b64decode(value)} if isinstance(value, str) and len(pairs) == 1 else pairs


def _parsed(content: bytes) -> Json:
    """The answer's object; empty when it is none, as when a proxy on the way answers with a page."""
    try:
        answer = json.loads(content, object_hook=_to_bytes)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _refused(operation: str, status: int, answer: Json) -> ClientError:
    code = str(answer.get("__type", "")).rpartition("#")[2] or str(status)
    message = answer.get("message") or answer.get("Message") or ""
    more = {name: answer[name] for name in ("Item", "CancellationReasons") if name in answer}
    response: Any = {
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": status},
        **more,
    }
    return ClientError(response, operation)


def _may_pass(error: ClientError | ConnectionError | HTTPClientError) -> bool:
    """Whether the same call may succeed in a moment: by the SDKs' standard retry mode."""
    if not isinstance(error, ClientError):
        return True
    response: Any = error.response
    status: int = response["ResponseMetadata"]["HTTPStatusCode"]
    return status in _RETRIED_STATUSES or response["Error"]["Code"] in _RETRIED_CODES
