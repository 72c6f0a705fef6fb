"""A client: it sends, waits and hands over; every decision is made elsewhere."""

from __future__ import annotations

from os import PathLike
from types import TracebackType
from typing import Self, TypedDict, TypeVar, Unpack

import httpx

from ...domain.ports import ListOrder, Order
from .. import _calls as calls
from .. import _parts as parts
from .._answers import Answer
from .._calls import Call
from .._http import DEFAULT_TIMEOUT, LIMITS, answer_of, checked_token, checked_url, iam_of, local_of, lost, request_of
from .._models import Page, SessionSummary
from .._retry import Attempts, Done, Lost, RetryBudget, RetryPolicy
from .io import AsyncToken, Sleep, sleep, token_from
from .pager import AsyncPager
from .session import AsyncSession
from .transfer import Transfers

T = TypeVar("T")


class AsyncClientOptions(TypedDict, total=False):
    """The options that every way to make a client takes; see :class:`AsyncClient`."""

    timeout: float | httpx.Timeout
    transport: httpx.AsyncBaseTransport | None
    max_attempts: int
    total_timeout: float
    sleep: Sleep


class AsyncClient:
    """A Turnlog deployment, as one user of one tenant. Safe to share between tasks.

    Every call waits until the server has answered: when ``append`` returns, the events are
    stored. Nothing is sent in the background and there is nothing to flush. Connections are kept
    and used again, at most 100 at a time; make one client and share it, and make it after a fork.

    Args:
        url: The base URL, without ``/v1``.
        token: A bearer token, or
        token_provider: what returns one. It is asked before each attempt, so let it cache.
        auth: An ``httpx.Auth`` that signs requests instead; see :meth:`iam`.
        timeout: Seconds for each step of one attempt (connect, write, read), or an
            ``httpx.Timeout``.
        transport: Another httpx transport, such as ``httpx.MockTransport`` in tests.
        max_attempts: How often a call is sent at most, the first time included.
        total_timeout: Seconds after which no further attempt of a call is started.
        sleep: What waits between attempts.

    Raises:
        ValueError: a URL that is not one or holds credentials, more than one of ``token``,
            ``token_provider`` and ``auth``, a token that no header can hold, ``max_attempts`` below 1.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        token_provider: AsyncToken | None = None,
        auth: httpx.Auth | None = None,
        timeout: float | httpx.Timeout = DEFAULT_TIMEOUT,
        transport: httpx.AsyncBaseTransport | None = None,
        max_attempts: int = 5,
        total_timeout: float = 60.0,
        sleep: Sleep = sleep,
    ) -> None:
        if sum(given is not None for given in (token, token_provider, auth)) > 1:
            raise ValueError("give one of token, token_provider and auth")
        if token is not None:
            checked_token(token)
        self._url = checked_url(url)
        self._token: AsyncToken = token_provider or (lambda: token)
        self._auth = auth
        self._policy = RetryPolicy(max_attempts=max_attempts, total_seconds=total_timeout)
        self._budget = RetryBudget()
        self._sleep = sleep
        self._http = httpx.AsyncClient(timeout=timeout, transport=transport, limits=LIMITS)

    @classmethod
    def from_local(cls, path: str | PathLike[str] | None = None, **options: Unpack[AsyncClientOptions]) -> AsyncClient:
        """The deployment on this machine, from the file that ``make run`` writes: ``local.json`` in
        the folder that ``TURNLOG_HOME`` names, else in ``.turnlog``. No proxy of the environment is
        used: the server is on the loopback interface.

        Raises:
            FileNotFoundError: no such file: ``make run`` is not running, or runs elsewhere.
            ValueError: the file does not hold ``url`` and ``token``.
        """
        local = local_of(path)
        if options.get("transport") is None:
            options["transport"] = httpx.AsyncHTTPTransport(limits=LIMITS)
        return cls(local.url, token=local.token, **options)

    @classmethod
    def iam(
        cls, url: str, *, tenant: str, user: str, region: str | None = None, **options: Unpack[AsyncClientOptions]
    ) -> AsyncClient:
        """For AWS workloads: requests are signed with the IAM role that this process has, and go to
        the routes under ``/iam``. Needs ``pip install "turnlog[client,aws]"``.

        Args:
            url: The base URL, without ``/iam/v1``.
            tenant: The tenant to act for; the deployment says which ones the role may.
            user: The user to act for.
            region: Of the API; None takes it from the URL, or from the AWS configuration.
            options: See :class:`AsyncClient`.

        Raises:
            ImportError: botocore is not installed.
            ValueError: there are no credentials, or no region.
        """
        return cls(checked_url(url) + "/iam", auth=iam_of(url, tenant, user, region), **options)

    def __repr__(self) -> str:
        return f"AsyncClient({self._url!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections, those of a given ``transport`` too. The client is of no use
        afterwards."""
        await self._http.aclose()

    def session(self, id: str | None = None, *, max_attempts: int | None = None) -> AsyncSession:
        """A session by its id; without one it gets a new UUID. No request is made: the session
        begins with :meth:`AsyncSession.create`, or with an append that has ``create_if_missing``.

        Args:
            id: The session's id.
            max_attempts: For the calls of this object, in place of the client's.

        Raises:
            InvalidRequest: not an id that the API takes: ``[A-Za-z0-9._:-]``, 1 to 128 of them.
        """
        policy = self._policy.with_attempts(max_attempts)

        async def run(call: Call[T]) -> T:
            return await self._run(call, policy)

        transfers = Transfers(run, self._http, self._url, policy, self._budget, self._sleep)
        return AsyncSession(run, transfers, parts.checked_session_id(parts.new_key() if id is None else id))

    def sessions(
        self, *, order_by: ListOrder = "created", order: Order = "desc", page_size: int | None = None
    ) -> AsyncPager[SessionSummary]:
        """The user's live sessions, newest first; ``page_size`` (1 to 100) is what one request
        brings.

        Raises:
            InvalidRequest, Unauthorized, ClientError: while it is read.
        """

        async def page(cursor: str | None) -> Page[SessionSummary]:
            call = calls.list_sessions(order_by=order_by, order=order, page_size=page_size, cursor=cursor)
            return await self._run(call, self._policy)

        return AsyncPager(page)

    async def _run(self, call: Call[T], policy: RetryPolicy) -> T:
        attempts = Attempts(call, policy, self._budget)
        try:
            while True:
                verdict = attempts.judge(await self._send(call))
                if isinstance(verdict, Done):
                    return verdict.value
                await self._sleep(verdict.seconds)
        except BaseException as error:
            attempts.left(error)
            raise

    async def _send(self, call: Call[T]) -> Answer | Lost:
        request = request_of(self._url, call, await token_from(self._token))
        try:
            return answer_of(await self._http.request(**request, auth=self._auth))
        except httpx.RequestError as error:
            return lost(error, self._url)
