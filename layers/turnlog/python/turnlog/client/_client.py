"""The synchronous surface: it sends, sleeps and hands over; every decision is made elsewhere."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypedDict, TypeVar, Unpack

import httpx

from ..domain.ports import ListOrder, Order
from . import _calls as calls
from ._answers import Answer
from ._calls import Call
from ._http import answer_of, checked_token, checked_url, lost, request_of
from ._models import Page, SessionSummary
from ._pager import Pager
from ._retry import Attempts, Done, Lost, RetryPolicy
from ._session import Session

T = TypeVar("T")
DEFAULT_TIMEOUT: Final = httpx.Timeout(30.0, connect=5.0)
"""Longer than the API takes at most (its gateway gives up after 30 s), so that a slow answer is
not mistaken for a lost one."""


class ClientOptions(TypedDict, total=False):
    """The options that every way to make a client takes; see :class:`Client`."""

    timeout: float | httpx.Timeout
    transport: httpx.BaseTransport | None
    max_attempts: int
    total_timeout: float
    sleep: Callable[[float], None]


class Client:
    """A Turnlog deployment, as one user of one tenant. Safe to share between threads.

    Every call waits until the server has answered: when ``append`` returns, the events are
    stored. Nothing is sent in the background and there is nothing to flush.

    Args:
        url: The base URL, without ``/v1``.
        token: A bearer token, or
        token_provider: what returns one. It is asked before each attempt, so let it cache.
        timeout: Seconds for each step of one attempt (connect, write, read), or an
            ``httpx.Timeout``.
        transport: Another httpx transport, such as ``httpx.MockTransport`` in tests.
        max_attempts: How often a call is sent at most, the first time included.
        total_timeout: Seconds after which no further attempt of a call is started.
        sleep: What waits between attempts.

    Raises:
        ValueError: a URL that is not one or holds credentials, ``token`` besides
            ``token_provider``, a token that no header can hold, ``max_attempts`` below 1.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        token_provider: Callable[[], str] | None = None,
        timeout: float | httpx.Timeout = DEFAULT_TIMEOUT,
        transport: httpx.BaseTransport | None = None,
        max_attempts: int = 5,
        total_timeout: float = 60.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if token is not None and token_provider is not None:
            raise ValueError("give token or token_provider, not both")
        if token is not None:
            checked_token(token)
        if max_attempts < 1:
            raise ValueError(f"max_attempts must be at least 1, not {max_attempts}")
        self._url = checked_url(url)
        self._token: Callable[[], str | None] = token_provider or (lambda: token)
        self._policy = RetryPolicy(max_attempts=max_attempts, total_seconds=total_timeout)
        self._sleep = sleep
        self._http = httpx.Client(timeout=timeout, transport=transport)

    @classmethod
    def from_local(cls, path: str | PathLike[str] | None = None, **options: Unpack[ClientOptions]) -> Client:
        """The deployment on this machine, from the file that ``make run`` writes: ``local.json`` in
        the folder that ``TURNLOG_HOME`` names, else in ``.turnlog``. No proxy of the environment is
        used: the server is on the loopback interface.

        Raises:
            FileNotFoundError: no such file: ``make run`` is not running, or runs elsewhere.
            ValueError: the file does not hold ``url`` and ``token``.
        """
        path = Path(os.environ.get("TURNLOG_HOME") or ".turnlog", "local.json") if path is None else path
        try:
            local = json.loads(Path(path).read_text(encoding="utf-8"))
        except FileNotFoundError as missing:
            missing.add_note("`make run` writes this file and removes it when it ends. Is it running?")
            raise
        except json.JSONDecodeError:
            local = None
        if not isinstance(local, dict) or not all(isinstance(local.get(key), str) for key in ("url", "token")):
            raise ValueError(f"{path} does not hold url and token; start `make run` again")
        if options.get("transport") is None:
            options["transport"] = httpx.HTTPTransport()
        return cls(local["url"], token=local["token"], **options)

    def __repr__(self) -> str:
        return f"Client({self._url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections, those of a given ``transport`` too. The client is of no use
        afterwards."""
        self._http.close()

    def session(self, id: str | None = None) -> Session:
        """A session by its id; without one it gets a new UUID. No request is made: the session
        begins with :meth:`Session.create`, or with an append that has ``create_if_missing``.

        Raises:
            InvalidRequest: not an id that the API takes: ``[A-Za-z0-9._:-]``, 1 to 128 of them.
        """
        return Session(self._run, calls.checked_session_id(calls.new_key() if id is None else id))

    def sessions(
        self, *, order_by: ListOrder = "created", order: Order = "desc", page_size: int | None = None
    ) -> Pager[SessionSummary]:
        """The user's live sessions, newest first; ``page_size`` (1 to 100) is what one request
        brings.

        Raises:
            InvalidRequest, Unauthorized, ClientError: while it is read.
        """

        def page(cursor: str | None) -> Page[SessionSummary]:
            return self._run(calls.list_sessions(order_by=order_by, order=order, page_size=page_size, cursor=cursor))

        return Pager(page)

    def _run(self, call: Call[T]) -> T:
        attempts = Attempts(call, self._policy)
        while True:
            verdict = attempts.judge(self._send(call))
            if isinstance(verdict, Done):
                return verdict.value
            self._sleep(verdict.seconds)

    def _send(self, call: Call[T]) -> Answer | Lost:
        request = request_of(self._url, call, self._token())
        try:
            return answer_of(self._http.request(**request))
        except httpx.RequestError as error:
            return lost(error, self._url)
