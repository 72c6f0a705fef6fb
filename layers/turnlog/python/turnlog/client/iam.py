"""Signing for the IAM routes (AWS Signature Version 4). The only part of the client that needs botocore."""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Final
from urllib.parse import quote

import botocore.session
import httpx
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest

TENANT_HEADER: Final = "x-turnlog-tenant"
USER_HEADER: Final = "x-turnlog-user"
_SERVICE: Final = "execute-api"
_HOST: Final = re.compile(r"\.execute-api\.([a-z0-9-]+)\.amazonaws\.com", re.ASCII)
_UNSAFE_TO_SIGN: Final = frozenset({"connection", "user-agent", "accept-encoding", "transfer-encoding"})
"""Headers that something on the way may change."""


class IamAuth(httpx.Auth):
    """Signs each request with the credentials of the AWS configuration (environment, profile, role),
    fetched anew when they end.

    Args:
        tenant: The tenant to act for.
        user: The user to act for.
        region: Of the API; None takes that of the AWS configuration.
        session: A botocore session with other credentials.

    Raises:
        ValueError: there are no credentials, or no region.
    """

    requires_request_body = True

    def __init__(
        self, tenant: str, user: str, *, region: str | None = None, session: botocore.session.Session | None = None
    ) -> None:
        session = session or botocore.session.get_session()
        credentials = session.get_credentials()
        self._region = region or session.get_config_variable("region")
        if credentials is None:
            raise ValueError("there are no AWS credentials to sign with")
        self._credentials = credentials
        if not self._region:
            raise ValueError("there is no AWS region: give region")
        # Header values are ASCII; the function decodes them.
        self._identity = {TENANT_HEADER: quote(tenant, safe=""), USER_HEADER: quote(user, safe="")}

    @staticmethod
    def region_of(url: str) -> str | None:
        """The region in the address that API Gateway gives an API; None for another one."""
        found = _HOST.search(httpx.URL(url).host)
        return found[1] if found else None

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Add who is meant, and the signature."""
        request.headers.update(self._identity)
        signed = {name: value for name, value in request.headers.items() if name not in _UNSAFE_TO_SIGN}
        copy = AWSRequest(method=request.method, url=str(request.url), data=request.content, headers=signed)
        SigV4Auth(self._credentials.get_frozen_credentials(), _SERVICE, self._region).add_auth(copy)
        for name in ("Authorization", "X-Amz-Date", "X-Amz-Security-Token"):
            if name in copy.headers:
                request.headers[name] = copy.headers[name]
        yield request
